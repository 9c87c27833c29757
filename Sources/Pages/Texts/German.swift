extension PageLanguage {
    static let german = PageLanguage(
        tag: "de",
        table: """
            sign_in.title: Anmelden
            sign_in.host: um zu {host} zu gelangen
            sign_in.identifier: E-Mail-Adresse oder Benutzername
            sign_in.password: Passwort
            sign_in.show_password: Passwort anzeigen
            sign_in.caps_lock: Die Feststelltaste ist aktiv.
            sign_in.stay: Auf diesem Gerät angemeldet bleiben
            sign_in.submit: Anmelden
            sign_in.continue: Weiter
            sign_in.provider: Weiter mit {provider}
            sign_in.last_used: Auf diesem Gerät zuletzt benutzt
            sign_in.or: oder
            sign_in.away: Zurzeit nicht erreichbar
            sign_in.other: oder mit einem anderen Konto anmelden
            notice.refused: Der Name oder das Passwort stimmt nicht. Bitte versuchen Sie es noch einmal.
            notice.incomplete: Bitte geben Sie Ihren Namen und Ihr Passwort ein.
            notice.no_identifier: Bitte geben Sie Ihre E-Mail-Adresse oder Ihren Benutzernamen ein.
            notice.throttled: Zu viele Versuche. Bitte warten Sie und versuchen Sie es dann noch einmal.
            notice.unavailable: Die Anmeldung ist zurzeit nicht möglich. Bitte versuchen Sie es in Kürze noch einmal.
            notice.cross_site: Diese Anmeldung kam nicht von dieser Seite. Bitte geben Sie Ihr Passwort noch einmal ein.
            notice.again: Die Seite, die Sie öffnen möchten, verlangt eine neue Anmeldung.
            notice.handoff: Sie konnten nicht automatisch angemeldet werden. Bitte melden Sie sich hier an.
            notice.ended: Ihre Sitzung ist beendet. Melden Sie sich an, dann kommen Sie zu der Seite zurück, die Sie öffnen wollten.
            notice.idle: Sie wurden abgemeldet, weil Sie diese Website eine Weile nicht benutzt haben. Melden Sie sich an, dann kommen Sie zu der Seite zurück, die Sie öffnen wollten.
            notice.idle_for: Sie wurden abgemeldet, weil Sie diese Website {time} lang nicht benutzt haben. Melden Sie sich an, dann kommen Sie zu der Seite zurück, die Sie öffnen wollten.
            notice.expired: Sie wurden abgemeldet, weil Ihre letzte Anmeldung zu lange her ist. Melden Sie sich an, dann kommen Sie zu der Seite zurück, die Sie öffnen wollten.
            notice.expired_after: Sie wurden abgemeldet, weil eine Anmeldung höchstens {time} lang gilt. Melden Sie sich an, dann kommen Sie zu der Seite zurück, die Sie öffnen wollten.
            notice.sign_out_uncertain: Die Abmeldung ist zurzeit nicht möglich: Vielleicht sind Sie noch angemeldet. Bitte versuchen Sie es in Kürze noch einmal.
            wait.seconds: Sie können es in {count} Sekunden noch einmal versuchen.
            wait.minutes: Sie können es in {count} Minuten noch einmal versuchen.
            time.minutes: {count} Minuten
            time.hours: {count} Stunden
            time.days: {count} Tage
            signed_out.title: Abgemeldet
            signed_out.text: Sie sind auf allen Seiten dieser Website abgemeldet.
            signed_out.sign_in: Wieder anmelden
            sign_out.title: Abmelden
            sign_out.question: Möchten Sie sich von {host} abmelden?
            sign_out.submit: Abmelden
            sign_out.stay: Angemeldet bleiben
            confirm.title: Mit diesem Konto anmelden?
            confirm.account: Sie werden auf {host} als {account} angemeldet.
            confirm.own: Fahren Sie nur fort, wenn das Ihr eigenes Konto ist und Sie diese Seite gerade selbst aus Ihrer App oder über einen angeforderten Link geöffnet haben.
            confirm.actor: Fahren Sie nur fort, wenn Sie {actor} sind und für dieses Konto handeln.
            confirm.submit: Anmelden
            confirm.elsewhere: Ohne dieses Konto weiter
            sessions.title: Wo Sie angemeldet sind
            sessions.advice: Wenn Sie einen Eintrag nicht kennen, melden Sie ihn ab und ändern Sie Ihr Passwort.
            sessions.advice_provider: Wenn Sie einen Eintrag nicht kennen, melden Sie ihn ab und ändern Sie das Passwort des Kontos, mit dem Sie sich anmelden.
            sessions.change_password: Passwort ändern
            sessions.sign_out_here: Hier abmelden
            sessions.current: Diese Sitzung
            sessions.sign_out: Abmelden
            sessions.sign_out_named: {device} abmelden
            sessions.others: Überall sonst abmelden
            sessions.browser: Browser
            sessions.app: App
            sessions.transfer: Browser, von einer App geöffnet
            sessions.actor: genutzt von {actor}, in Ihrem Namen
            sessions.address: von {address}
            sessions.seen: zuletzt gesehen {time}
            sessions.host: auf {host}
            sessions.device: {program} unter {system}
            sessions.unknown_device: Unbekanntes Gerät
            page.support: Hilfe
            page.reason: Grund
            page.request: Anfrage
            page.account: Sie sind als {account} angemeldet.
            form_post.title: Einen Moment
            form_post.submit: Weiter
            link.again: Noch einmal versuchen
            link.start: Zur Startseite
            link.client: Zurück zur App
            link.sign_in: Anmelden
            link.other_account: Mit einem anderen Konto anmelden
            refusal.asks_app: Die App, die diese Seite zeigt, meldet Sie wieder an. Tut sie es nicht, öffnen Sie die Seite noch einmal aus der App oder melden Sie sich hier an.
            form.uncertain: Es ist nicht bekannt, ob Ihre Eingaben angekommen sind.
            form.check_first: Sehen Sie nach, ob sie ausgeführt wurden, bevor Sie sie noch einmal senden.
            form.not_sent: Ihre Eingaben wurden nicht weitergeleitet und nicht gespeichert.
            form.send_again: Gehen Sie mit der Zurück-Taste Ihres Browsers zurück und senden Sie das Formular gleich noch einmal.
            form.sign_in: Melden Sie sich an und senden Sie das Formular dann noch einmal. Mit der Zurück-Taste Ihres Browsers sehen Sie Ihre Eingaben vielleicht wieder.
            refusal.cross_site.title: Das kam von einer anderen Website
            refusal.cross_site.event: Zu Ihrer Sicherheit kann ein Link oder Formular einer anderen Website hier nicht in Ihrem Namen handeln.
            refusal.cross_site.advice: Öffnen Sie diese Website selbst und tun Sie dort, was Sie tun wollten.
            refusal.ambiguous_address.title: Diese Adresse kann nicht geöffnet werden
            refusal.ambiguous_address.event: Die Adresse ist so geschrieben, dass sie mehr als eine Seite meinen könnte.
            refusal.ambiguous_address.advice: Prüfen Sie die Schreibweise oder beginnen Sie auf der Startseite.
            refusal.session_ended.title: Bitte melden Sie sich wieder an
            refusal.session_ended.event: Ihre Sitzung ist beendet.
            refusal.session_ended.advice: Melden Sie sich wieder an, um fortzufahren.
            refusal.network_changed.title: Bitte melden Sie sich wieder an
            refusal.network_changed.event: Ihr Gerät hat seit der Anmeldung das Netz gewechselt.
            refusal.network_changed.advice: Melden Sie sich wieder an, um fortzufahren.
            refusal.sign_in_cancelled.title: Die Anmeldung wurde abgebrochen
            refusal.sign_in_cancelled.event: Sie oder der Anmeldedienst haben die Anmeldung abgebrochen.
            refusal.sign_in_cancelled.advice: Versuchen Sie es noch einmal, oder schließen Sie diese Seite, wenn Sie es sich anders überlegt haben.
            refusal.interaction_required.title: Bitte melden Sie sich an
            refusal.interaction_required.event: Der Anmeldedienst muss Sie zuerst etwas fragen.
            refusal.interaction_required.advice: Melden Sie sich an, um fortzufahren.
            refusal.provider_error.title: Die Anmeldung ist fehlgeschlagen
            refusal.provider_error.event: Der Anmeldedienst hat einen Fehler gemeldet.
            refusal.provider_error.advice: Versuchen Sie es noch einmal. Geschieht es wieder, nennen Sie den Betreibern dieser Website den Grund, der unten steht.
            refusal.invalid_token.title: Die Anmeldung ist fehlgeschlagen
            refusal.invalid_token.event: Was der Anmeldedienst über Sie sagt, konnte nicht bestätigt werden.
            refusal.invalid_token.advice: Versuchen Sie es noch einmal. Geschieht es wieder, nennen Sie den Betreibern dieser Website den Grund, der unten steht.
            refusal.state_mismatch.title: Diese Anmeldung kann nicht abgeschlossen werden
            refusal.state_mismatch.event: Sie hat zu lange gedauert, wurde in einem anderen Browser oder neben zu vielen anderen begonnen, oder Ihr Browser behält die Cookies dieser Website nicht.
            refusal.state_mismatch.advice: Erlauben Sie dieser Website Cookies und versuchen Sie es noch einmal.
            refusal.not_allowed.title: Ihr Konto hat hier keinen Zugang
            refusal.not_allowed.event: Sie haben sich mit einem Konto angemeldet, das diese Website nicht nutzen darf.
            refusal.not_allowed.advice: Bitten Sie die Betreiber dieser Website um Zugang, oder melden Sie sich mit einem anderen Konto an.
            refusal.insufficient.title: Eine stärkere Anmeldung ist nötig
            refusal.insufficient.event: Sie sind angemeldet, aber die gewünschte Seite verlangt eine stärkere oder neuere Anmeldung.
            refusal.insufficient.advice: Versuchen Sie es noch einmal und bestätigen Sie mit einem zweiten Faktor oder Ihrem Passwort, wenn Sie gefragt werden.
            refusal.repeated.title: Die Anmeldung bleibt nicht bestehen
            refusal.repeated.event: Sie haben sich innerhalb einer Minute mehrmals angemeldet, aber Ihr Browser kam ohne Anmeldung zurück.
            refusal.repeated.advice: Erlauben Sie dieser Website Cookies und versuchen Sie es noch einmal. Geschieht es wieder, sagen Sie es den Betreibern dieser Website.
            refusal.bad_link.title: Dieser Link funktioniert nicht
            refusal.bad_link.event: Die App, die Sie hierher geschickt hat, ist mit dieser Adresse nicht registriert.
            refusal.bad_link.advice: Gehen Sie zurück zur App. Geschieht es wieder, sagen Sie es ihren Herstellern.
            refusal.request_used.title: Diese Anmeldung ist beendet
            refusal.request_used.event: Sie wurde schon benutzt oder hat zu lange gedauert.
            refusal.request_used.advice: Gehen Sie zurück zur App und melden Sie sich dort wieder an.
            refusal.flow_ended.title: Diese Anmeldung ist beendet
            refusal.flow_ended.event: Sie hat zu lange gedauert, oder ihre Adresse ist nicht vollständig.
            refusal.flow_ended.advice: Gehen Sie zurück zur App und melden Sie sich dort wieder an.
            refusal.prefetched_sign_in.title: Öffnen Sie diese Seite noch einmal
            refusal.prefetched_sign_in.event: Ihr Browser hat die Anmeldung geladen, bevor Sie sie geöffnet haben.
            refusal.prefetched_sign_in.advice: Öffnen Sie sie jetzt.
            refusal.too_old.title: Bitte melden Sie sich wieder an
            refusal.too_old.event: Diese Seite verlangt eine neuere Anmeldung als Ihre.
            refusal.too_old.advice: Melden Sie sich wieder an, um fortzufahren.
            refusal.second_factor.title: Ein zweiter Faktor ist nötig
            refusal.second_factor.event: Diese Seite verlangt eine stärkere Anmeldung als Ihre.
            refusal.second_factor.advice: Melden Sie sich mit einem Konto an, das einen zweiten Faktor hat, oder fragen Sie die Betreiber dieser Website.
            refusal.only_user.title: Nur der Benutzer selbst darf diese Seite öffnen
            refusal.only_user.event: Sie handeln für den Benutzer dieses Kontos, und diese Seite ist für alle anderen geschlossen.
            refusal.only_user.advice: Fahren Sie mit einer anderen Seite fort, oder überlassen Sie es dem Benutzer.
            refusal.no_access.title: Sie haben keinen Zugang zu dieser Seite
            refusal.no_access.event: Sie sind angemeldet, aber diese Seite ist für Ihr Konto nicht offen.
            refusal.no_access.advice: Bitten Sie die Betreiber dieser Website um Zugang, oder melden Sie sich mit einem anderen Konto an.
            refusal.apps_only.title: Diese Seite ist für Apps
            refusal.apps_only.event: Sie sind angemeldet, aber diese Seite ist nur für Apps offen, nicht für Browser.
            refusal.apps_only.advice: Benutzen Sie die App oder beginnen Sie auf der Startseite.
            refusal.unusable_account.title: Ihr Konto kann hier nicht benutzt werden
            refusal.unusable_account.event: Ihr Konto enthält etwas, das die App hinter dieser Seite nicht annehmen kann.
            refusal.unusable_account.advice: Nennen Sie den Betreibern dieser Website den Grund, der unten steht.
            refusal.prefetched_link.title: Öffnen Sie diesen Link noch einmal
            refusal.prefetched_link.event: Ihr Browser hat diese Seite geladen, bevor Sie sie geöffnet haben.
            refusal.prefetched_link.advice: Öffnen Sie ihn jetzt.
            refusal.unconfirmed.title: Von hier aus können Sie nicht mehr angemeldet werden
            refusal.unconfirmed.event: Die Frage war länger als eine Minute offen, oder Ihr Browser hat ihr Cookie nicht behalten.
            refusal.unconfirmed.advice: Öffnen Sie die Seite noch einmal von dort, woher Sie kamen, oder melden Sie sich an.
            refusal.already_signed_in.title: Sie sind schon angemeldet
            refusal.already_signed_in.event: Der Link meldet Sie für eine andere Person an. Das geht nur, wo niemand angemeldet ist.
            refusal.already_signed_in.advice: Melden Sie sich hier ab und öffnen Sie dann einen neuen Link von dort, woher Sie diesen haben.
            refusal.rule_denied.title: Das ist nicht erlaubt
            refusal.rule_denied.event: Die Regeln dieser Website erlauben diese Anmeldung nicht.
            refusal.rule_denied.advice: Wenn das ein Irrtum ist, fragen Sie die Betreiber dieser Website.
            refusal.ticket_used.title: Diese Anmeldung kann nicht abgeschlossen werden
            refusal.ticket_used.event: Sie hat zu lange gedauert, oder ihre Adresse wurde schon benutzt.
            refusal.ticket_used.advice: Versuchen Sie es noch einmal. Wenn Sie schon angemeldet sind, werden Sie nicht noch einmal gefragt.
            refusal.other_browser.title: Diese Anmeldung kann nicht abgeschlossen werden
            refusal.other_browser.event: Sie wurde in einem anderen Browser begonnen, ist schon abgeschlossen, oder Ihr Browser behält die Cookies dieser Website nicht.
            refusal.other_browser.advice: Erlauben Sie dieser Website Cookies und versuchen Sie es noch einmal.
            refusal.no_cookie.title: Die Anmeldung bleibt nicht bestehen
            refusal.no_cookie.event: Sie haben sich angemeldet, aber Ihr Browser kam ohne Anmeldung zurück.
            refusal.no_cookie.advice: Erlauben Sie dieser Website Cookies und öffnen Sie dann die gewünschte Seite noch einmal.
            refusal.ticket_malformed.title: Diese Adresse kann nicht geöffnet werden
            refusal.ticket_malformed.event: Sie gehört zu einer Anmeldung, die vorbei ist.
            refusal.ticket_malformed.advice: Öffnen Sie die gewünschte Seite noch einmal.
            refusal.unchecked.title: Bitte versuchen Sie es gleich noch einmal
            refusal.unchecked.event: Ihre Anmeldung kann zurzeit nicht geprüft werden; Sie wurden nicht abgemeldet.
            refusal.unchecked.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal.
            refusal.overloaded.title: Bitte versuchen Sie es gleich noch einmal
            refusal.overloaded.event: Diese Website hat zurzeit zu viel zu tun.
            refusal.overloaded.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal.
            refusal.app_unreachable.title: Die App ist nicht erreichbar
            refusal.app_unreachable.event: Die App hinter dieser Seite nimmt zurzeit keine Verbindungen an.
            refusal.app_unreachable.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal. Bleibt es so, sagen Sie es den Betreibern dieser Website.
            refusal.app_slow.title: Die App braucht zu lange
            refusal.app_slow.event: Die App hinter dieser Seite hat nicht rechtzeitig geantwortet.
            refusal.app_slow.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal. Bleibt es so, sagen Sie es den Betreibern dieser Website.
            refusal.app_broken.title: Die App hat nicht geantwortet
            refusal.app_broken.event: Die App hinter dieser Seite gab keine Antwort, die gezeigt werden kann.
            refusal.app_broken.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal. Bleibt es so, sagen Sie es den Betreibern dieser Website.
            refusal.unauthenticated.title: Bitte melden Sie sich an
            refusal.unauthenticated.event: Sie sind nicht angemeldet, oder Ihre Sitzung ist beendet.
            refusal.unauthenticated.advice: Melden Sie sich an, um fortzufahren.
            refusal.forbidden.title: Das ist nicht erlaubt
            refusal.forbidden.event: Sie dürfen das hier nicht tun.
            refusal.forbidden.advice: Wenn Sie es dürfen sollten, fragen Sie die Betreiber dieser Website.
            refusal.not_found.title: Seite nicht gefunden
            refusal.not_found.event: Unter dieser Adresse gibt es nichts.
            refusal.not_found.advice: Prüfen Sie die Schreibweise oder beginnen Sie auf der Startseite.
            refusal.unknown_host.title: Seite nicht gefunden
            refusal.unknown_host.event: Unter dem Namen in der Adresse ist diese Website hier nicht bekannt.
            refusal.unknown_host.advice: Prüfen Sie, wie die Adresse geschrieben ist.
            refusal.wrong_method.title: Das geht hier nicht
            refusal.wrong_method.event: Unter dieser Adresse gibt es etwas, aber es kann so nicht benutzt werden.
            refusal.wrong_method.advice: Gehen Sie zurück oder beginnen Sie auf der Startseite.
            refusal.slow_request.title: Das hat zu lange gedauert
            refusal.slow_request.event: Ihre Anfrage kam nicht rechtzeitig an.
            refusal.slow_request.advice: Prüfen Sie Ihre Verbindung und versuchen Sie es dann noch einmal.
            refusal.too_large.title: Das ist zu groß
            refusal.too_large.event: Sie haben mehr gesendet, als diese Seite annimmt.
            refusal.too_large.advice: Gehen Sie zurück und senden Sie eine kleinere Datei oder weniger Text.
            refusal.long_address.title: Diese Adresse ist zu lang
            refusal.long_address.event: Die Adresse ist länger, als diese Website annimmt.
            refusal.long_address.advice: Gehen Sie zurück und geben Sie weniger ein, oder beginnen Sie auf der Startseite.
            refusal.too_many.title: Bitte warten Sie einen Moment
            refusal.too_many.event: Von hier kamen in kurzer Zeit zu viele Anfragen.
            refusal.too_many.advice: Warten Sie eine Minute und versuchen Sie es dann noch einmal.
            refusal.large_fields.title: Ihr Browser hat zu viel gesendet
            refusal.large_fields.event: Ihr Browser hat mehr Cookies oder andere Angaben gesendet, als diese Website annimmt.
            refusal.large_fields.advice: Löschen Sie die Cookies dieser Website in den Einstellungen Ihres Browsers und versuchen Sie es dann noch einmal.
            refusal.failed.title: Bitte versuchen Sie es gleich noch einmal
            refusal.failed.event: Diese Seite kann zurzeit nicht gezeigt werden.
            refusal.failed.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal.
            refusal.not_understood.title: Diese Anfrage wurde nicht verstanden
            refusal.not_understood.event: Ihr Browser oder etwas zwischen ihm und dieser Website hat gesendet, was nicht sicher gelesen werden kann.
            refusal.not_understood.advice: Versuchen Sie es noch einmal. Geschieht es wieder, nehmen Sie einen anderen Browser oder ein anderes Netz.
            """
    )
}
