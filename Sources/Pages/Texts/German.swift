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
            sign_in.away: Zurzeit nicht verfügbar
            sign_in.other: oder mit einem anderen Konto anmelden
            notice.refused: Benutzername oder Passwort ist falsch. Bitte versuchen Sie es noch einmal.
            notice.incomplete: Bitte geben Sie Ihren Benutzernamen und Ihr Passwort ein.
            notice.no_identifier: Bitte geben Sie Ihre E-Mail-Adresse oder Ihren Benutzernamen ein.
            notice.throttled: Zu viele Versuche. Bitte warten Sie, bevor Sie es noch einmal versuchen.
            notice.unavailable: Die Anmeldung ist zurzeit nicht möglich. Bitte versuchen Sie es in Kürze noch einmal.
            notice.cross_site: Diese Anmeldung wurde nicht von dieser Seite gesendet. Bitte geben Sie Ihr Passwort noch einmal ein.
            notice.again: Für die Seite, die Sie öffnen möchten, müssen Sie sich erneut anmelden.
            notice.handoff: Sie konnten nicht automatisch angemeldet werden. Bitte melden Sie sich hier an.
            notice.ended: Ihre Sitzung ist beendet. Melden Sie sich an, um zur gewünschten Seite zurückzukehren.
            notice.idle: Sie wurden abgemeldet, weil Sie diese Website eine Weile nicht genutzt haben. Melden Sie sich an, um zur gewünschten Seite zurückzukehren.
            notice.idle_for: Sie wurden abgemeldet, weil Sie diese Website {time} lang nicht genutzt haben. Melden Sie sich an, um zur gewünschten Seite zurückzukehren.
            notice.expired: Sie wurden abgemeldet, weil Ihre letzte Anmeldung zu lange zurückliegt. Melden Sie sich an, um zur gewünschten Seite zurückzukehren.
            notice.expired_after: Sie wurden abgemeldet, weil eine Anmeldung höchstens {time} lang gilt. Melden Sie sich an, um zur gewünschten Seite zurückzukehren.
            notice.sign_out_uncertain: Die Abmeldung ist zurzeit nicht möglich. Möglicherweise sind Sie noch angemeldet. Bitte versuchen Sie es in Kürze noch einmal.
            wait.seconds: Sie können es in {count} Sekunden noch einmal versuchen.
            wait.minutes: Sie können es in {count} Minuten noch einmal versuchen.
            time.minutes: {count} Minuten
            time.hours: {count} Stunden
            time.days: {count} Tage
            signed_out.title: Abgemeldet
            signed_out.text: Sie sind auf allen Seiten dieser Website abgemeldet.
            signed_out.sign_in: Erneut anmelden
            sign_out.title: Abmelden
            sign_out.question: Möchten Sie sich von {host} abmelden?
            sign_out.submit: Abmelden
            sign_out.stay: Angemeldet bleiben
            confirm.title: Mit diesem Konto anmelden?
            confirm.account: Sie werden auf {host} als {account} angemeldet.
            confirm.own: Fahren Sie nur fort, wenn dies Ihr eigenes Konto ist und Sie diese Seite gerade selbst aus Ihrer App oder über einen Link geöffnet haben, den Sie angefordert haben.
            confirm.actor: Fahren Sie nur fort, wenn Sie {actor} sind und im Namen dieses Kontos handeln.
            confirm.submit: Anmelden
            confirm.elsewhere: Ohne dieses Konto weiter
            sessions.title: Wo Sie angemeldet sind
            sessions.advice: Wenn Sie eine dieser Sitzungen nicht erkennen, melden Sie sie ab und ändern Sie Ihr Passwort.
            sessions.advice_provider: Wenn Sie eine dieser Sitzungen nicht erkennen, melden Sie sie ab und ändern Sie das Passwort des Kontos, mit dem Sie sich anmelden.
            sessions.change_password: Passwort ändern
            sessions.sign_out_here: Hier abmelden
            sessions.current: Diese Sitzung
            sessions.sign_out: Abmelden
            sessions.sign_out_named: {device} abmelden
            sessions.others: Überall sonst abmelden
            sessions.browser: Browser
            sessions.app: App
            sessions.transfer: Browser, von einer App geöffnet
            sessions.actor: in Ihrem Namen genutzt von {actor}
            sessions.address: von {address}
            sessions.seen: zuletzt aktiv: {time}
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
            refusal.asks_app: Die App, die diese Seite anzeigt, meldet Sie wieder an. Falls nicht, öffnen Sie die Seite noch einmal aus der App oder melden Sie sich hier an.
            form.uncertain: Es ist nicht bekannt, ob Ihre Eingaben angekommen sind.
            form.check_first: Prüfen Sie, ob der Vorgang schon ausgeführt wurde, bevor Sie Ihre Eingaben noch einmal senden.
            form.not_sent: Ihre Eingaben wurden nicht weitergeleitet und nicht gespeichert.
            form.send_again: Gehen Sie mit der Zurück-Schaltfläche Ihres Browsers zurück und senden Sie das Formular gleich noch einmal.
            form.sign_in: Melden Sie sich an und senden Sie das Formular dann noch einmal. Mit der Zurück-Schaltfläche Ihres Browsers sehen Sie Ihre Eingaben vielleicht wieder.
            refusal.cross_site.title: Diese Anfrage kam von einer anderen Website
            refusal.cross_site.event: Zu Ihrer Sicherheit können Links und Formulare anderer Websites hier nicht in Ihrem Namen handeln.
            refusal.cross_site.advice: Öffnen Sie diese Website selbst und versuchen Sie es von dort noch einmal.
            refusal.ambiguous_address.title: Ungültige Adresse
            refusal.ambiguous_address.event: Die Adresse könnte mehr als eine Seite bezeichnen.
            refusal.ambiguous_address.advice: Prüfen Sie die Adresse auf Fehler oder gehen Sie zur Startseite.
            refusal.session_ended.title: Bitte melden Sie sich erneut an
            refusal.session_ended.event: Ihre Sitzung ist beendet.
            refusal.session_ended.advice: Melden Sie sich erneut an, um fortzufahren.
            refusal.network_changed.title: Bitte melden Sie sich erneut an
            refusal.network_changed.event: Ihr Gerät hat seit der Anmeldung das Netzwerk gewechselt.
            refusal.network_changed.advice: Melden Sie sich erneut an, um fortzufahren.
            refusal.sign_in_cancelled.title: Die Anmeldung wurde abgebrochen
            refusal.sign_in_cancelled.event: Die Anmeldung wurde von Ihnen oder vom Anmeldedienst abgebrochen.
            refusal.sign_in_cancelled.advice: Versuchen Sie es noch einmal, oder schließen Sie diese Seite, wenn Sie es sich anders überlegt haben.
            refusal.interaction_required.title: Bitte melden Sie sich an
            refusal.interaction_required.event: Der Anmeldedienst benötigt zuerst eine Antwort von Ihnen.
            refusal.interaction_required.advice: Melden Sie sich an, um fortzufahren.
            refusal.provider_error.title: Die Anmeldung ist fehlgeschlagen
            refusal.provider_error.event: Der Anmeldedienst hat einen Fehler gemeldet.
            refusal.provider_error.advice: Versuchen Sie es noch einmal. Wenn der Fehler wieder auftritt, wenden Sie sich an die Administratoren dieser Website und nennen Sie den unten stehenden Grund.
            refusal.invalid_token.title: Die Anmeldung ist fehlgeschlagen
            refusal.invalid_token.event: Die Antwort des Anmeldedienstes konnte nicht überprüft werden.
            refusal.invalid_token.advice: Versuchen Sie es noch einmal. Wenn der Fehler wieder auftritt, wenden Sie sich an die Administratoren dieser Website und nennen Sie den unten stehenden Grund.
            refusal.state_mismatch.title: Diese Anmeldung konnte nicht abgeschlossen werden
            refusal.state_mismatch.event: Sie hat zu lange gedauert, wurde in einem anderen Browser oder gleichzeitig mit zu vielen anderen begonnen, oder Ihr Browser blockiert die Cookies dieser Website.
            refusal.state_mismatch.advice: Erlauben Sie dieser Website Cookies und versuchen Sie es noch einmal.
            refusal.not_allowed.title: Ihr Konto hat keinen Zugriff auf diese Website
            refusal.not_allowed.event: Sie haben sich mit einem Konto angemeldet, das diese Website nicht nutzen darf.
            refusal.not_allowed.advice: Bitten Sie die Administratoren dieser Website um Zugriff oder melden Sie sich mit einem anderen Konto an.
            refusal.insufficient.title: Eine sicherere Anmeldung ist erforderlich
            refusal.insufficient.event: Sie haben sich angemeldet, aber die gewünschte Seite erfordert eine sicherere oder neuere Anmeldung.
            refusal.insufficient.advice: Versuchen Sie es noch einmal und bestätigen Sie die Anmeldung mit einem zweiten Faktor oder Ihrem Passwort, wenn Sie dazu aufgefordert werden.
            refusal.repeated.title: Sie bleiben nicht angemeldet
            refusal.repeated.event: Sie haben sich innerhalb einer Minute mehrmals angemeldet, aber Ihr Browser hat die Anmeldung nicht behalten.
            refusal.repeated.advice: Erlauben Sie dieser Website Cookies und versuchen Sie es noch einmal. Wenn der Fehler wieder auftritt, wenden Sie sich an die Administratoren dieser Website.
            refusal.bad_link.title: Dieser Link funktioniert nicht
            refusal.bad_link.event: Die App, die Sie hierher geschickt hat, ist nicht mit dieser Adresse registriert.
            refusal.bad_link.advice: Gehen Sie zurück zur App. Wenn der Fehler wieder auftritt, wenden Sie sich an die Hersteller der App.
            refusal.request_used.title: Diese Anmeldung ist nicht mehr gültig
            refusal.request_used.event: Sie wurde bereits verwendet oder hat zu lange gedauert.
            refusal.request_used.advice: Gehen Sie zurück zur App und melden Sie sich dort erneut an.
            refusal.flow_ended.title: Diese Anmeldung ist nicht mehr gültig
            refusal.flow_ended.event: Sie hat zu lange gedauert oder ihre Adresse ist unvollständig.
            refusal.flow_ended.advice: Gehen Sie zurück zur App und melden Sie sich dort erneut an.
            refusal.prefetched_sign_in.title: Öffnen Sie diese Seite noch einmal
            refusal.prefetched_sign_in.event: Ihr Browser hat die Anmeldung im Voraus geladen, bevor Sie sie geöffnet haben.
            refusal.prefetched_sign_in.advice: Öffnen Sie die Seite jetzt.
            refusal.too_old.title: Bitte melden Sie sich erneut an
            refusal.too_old.event: Diese Seite erfordert eine neuere Anmeldung als Ihre.
            refusal.too_old.advice: Melden Sie sich erneut an, um fortzufahren.
            refusal.second_factor.title: Ein zweiter Faktor ist erforderlich
            refusal.second_factor.event: Diese Seite erfordert eine sicherere Anmeldung als Ihre.
            refusal.second_factor.advice: Melden Sie sich mit einem Konto an, das einen zweiten Faktor hat, oder wenden Sie sich an die Administratoren dieser Website.
            refusal.only_user.title: Nur der Benutzer selbst kann diese Seite öffnen
            refusal.only_user.event: Sie handeln im Namen des Benutzers dieses Kontos, und diese Seite kann nur der Benutzer selbst öffnen.
            refusal.only_user.advice: Fahren Sie mit einer anderen Seite fort, oder überlassen Sie es dem Benutzer.
            refusal.no_access.title: Sie haben keinen Zugriff auf diese Seite
            refusal.no_access.event: Sie sind angemeldet, aber Ihr Konto darf diese Seite nicht öffnen.
            refusal.no_access.advice: Bitten Sie die Administratoren dieser Website um Zugriff oder melden Sie sich mit einem anderen Konto an.
            refusal.apps_only.title: Diese Seite ist nur in der App verfügbar
            refusal.apps_only.event: Sie sind angemeldet, aber diese Seite kann nicht in einem Browser geöffnet werden.
            refusal.apps_only.advice: Benutzen Sie die App oder gehen Sie zur Startseite.
            refusal.unusable_account.title: Ihr Konto kann hier nicht verwendet werden
            refusal.unusable_account.event: Ihr Konto enthält Angaben, die die App nicht annehmen kann.
            refusal.unusable_account.advice: Wenden Sie sich an die Administratoren dieser Website und nennen Sie den unten stehenden Grund.
            refusal.prefetched_link.title: Öffnen Sie diesen Link noch einmal
            refusal.prefetched_link.event: Ihr Browser hat diese Seite im Voraus geladen, bevor Sie sie geöffnet haben.
            refusal.prefetched_link.advice: Öffnen Sie ihn jetzt.
            refusal.unconfirmed.title: Diese Anmeldung ist nicht mehr gültig
            refusal.unconfirmed.event: Sie wurde nicht innerhalb einer Minute bestätigt, oder Ihr Browser blockiert die Cookies dieser Website.
            refusal.unconfirmed.advice: Öffnen Sie die Seite noch einmal von dort, woher Sie gekommen sind, oder melden Sie sich an.
            refusal.already_signed_in.title: Sie sind bereits angemeldet
            refusal.already_signed_in.event: Der Link ist für ein anderes Konto und funktioniert nur, wenn hier niemand angemeldet ist.
            refusal.already_signed_in.advice: Melden Sie sich hier ab und fordern Sie dann dort, woher Sie diesen Link haben, einen neuen an.
            refusal.rule_denied.title: Das ist nicht erlaubt
            refusal.rule_denied.event: Die Regeln dieser Website erlauben diese Anmeldung nicht.
            refusal.rule_denied.advice: Wenn Sie das für einen Fehler halten, wenden Sie sich an die Administratoren dieser Website.
            refusal.too_many_sessions.title: Sie sind auf zu vielen Geräten angemeldet
            refusal.too_many_sessions.event: Sie können nur auf einer begrenzten Zahl von Geräten gleichzeitig angemeldet sein.
            refusal.too_many_sessions.advice: Öffnen Sie auf einem Gerät, auf dem Sie angemeldet sind, die Liste Ihrer Sitzungen und melden Sie eine davon ab. Melden Sie sich dann hier wieder an.
            refusal.ticket_used.title: Diese Anmeldung konnte nicht abgeschlossen werden
            refusal.ticket_used.event: Sie hat zu lange gedauert oder ihre Adresse wurde bereits verwendet.
            refusal.ticket_used.advice: Versuchen Sie es noch einmal. Wenn Sie sich bereits angemeldet haben, werden Sie nicht noch einmal gefragt.
            refusal.other_browser.title: Diese Anmeldung konnte nicht abgeschlossen werden
            refusal.other_browser.event: Sie wurde in einem anderen Browser begonnen, ist bereits abgeschlossen, oder Ihr Browser blockiert die Cookies dieser Website.
            refusal.other_browser.advice: Erlauben Sie dieser Website Cookies und versuchen Sie es noch einmal.
            refusal.no_cookie.title: Sie bleiben nicht angemeldet
            refusal.no_cookie.event: Sie haben sich angemeldet, aber Ihr Browser hat die Anmeldung nicht behalten.
            refusal.no_cookie.advice: Erlauben Sie dieser Website Cookies und öffnen Sie dann die gewünschte Seite noch einmal.
            refusal.ticket_malformed.title: Ungültige Adresse
            refusal.ticket_malformed.event: Die Adresse gehört zu einer Anmeldung, die bereits beendet ist.
            refusal.ticket_malformed.advice: Öffnen Sie die gewünschte Seite noch einmal.
            refusal.unchecked.title: Bitte versuchen Sie es gleich noch einmal
            refusal.unchecked.event: Ihre Anmeldung kann zurzeit nicht geprüft werden, aber Sie wurden nicht abgemeldet.
            refusal.unchecked.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal.
            refusal.overloaded.title: Bitte versuchen Sie es gleich noch einmal
            refusal.overloaded.event: Diese Website ist zurzeit überlastet.
            refusal.overloaded.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal.
            refusal.app_unreachable.title: Die App ist nicht erreichbar
            refusal.app_unreachable.event: Die App antwortet zurzeit nicht.
            refusal.app_unreachable.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal. Wenn das Problem bestehen bleibt, wenden Sie sich an die Administratoren dieser Website.
            refusal.app_slow.title: Die App braucht zu lange
            refusal.app_slow.event: Die App hat nicht rechtzeitig geantwortet.
            refusal.app_slow.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal. Wenn das Problem bestehen bleibt, wenden Sie sich an die Administratoren dieser Website.
            refusal.app_broken.title: Die App hat nicht richtig geantwortet
            refusal.app_broken.event: Die App hat keine Antwort gegeben, die angezeigt werden kann.
            refusal.app_broken.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal. Wenn das Problem bestehen bleibt, wenden Sie sich an die Administratoren dieser Website.
            refusal.unauthenticated.title: Bitte melden Sie sich an
            refusal.unauthenticated.event: Sie sind nicht angemeldet, oder Ihre Sitzung ist beendet.
            refusal.unauthenticated.advice: Melden Sie sich an, um fortzufahren.
            refusal.forbidden.title: Das ist nicht erlaubt
            refusal.forbidden.event: Sie dürfen das hier nicht tun.
            refusal.forbidden.advice: Wenn Sie das für einen Fehler halten, wenden Sie sich an die Administratoren dieser Website.
            refusal.not_found.title: Seite nicht gefunden
            refusal.not_found.event: Unter dieser Adresse gibt es nichts.
            refusal.not_found.advice: Prüfen Sie die Adresse auf Fehler oder gehen Sie zur Startseite.
            refusal.unknown_host.title: Seite nicht gefunden
            refusal.unknown_host.event: Eine Website mit diesem Namen gibt es hier nicht.
            refusal.unknown_host.advice: Prüfen Sie die Adresse auf Fehler.
            refusal.wrong_method.title: Das geht hier nicht
            refusal.wrong_method.event: Diese Adresse gibt es, aber sie kann so nicht verwendet werden.
            refusal.wrong_method.advice: Gehen Sie zurück oder gehen Sie zur Startseite.
            refusal.slow_request.title: Das hat zu lange gedauert
            refusal.slow_request.event: Ihre Anfrage kam nicht rechtzeitig an.
            refusal.slow_request.advice: Prüfen Sie Ihre Verbindung und versuchen Sie es dann noch einmal.
            refusal.too_large.title: Das ist zu groß
            refusal.too_large.event: Sie haben mehr gesendet, als diese Seite annimmt.
            refusal.too_large.advice: Gehen Sie zurück und senden Sie eine kleinere Datei oder weniger Text.
            refusal.long_address.title: Diese Adresse ist zu lang
            refusal.long_address.event: Die Adresse ist länger, als diese Website annimmt.
            refusal.long_address.advice: Gehen Sie zurück und geben Sie weniger ein, oder gehen Sie zur Startseite.
            refusal.too_many.title: Bitte warten Sie einen Moment
            refusal.too_many.event: Über Ihre Verbindung kamen in kurzer Zeit zu viele Anfragen.
            refusal.too_many.advice: Warten Sie eine Minute und versuchen Sie es dann noch einmal.
            refusal.large_fields.title: Ihr Browser hat zu viel gesendet
            refusal.large_fields.event: Ihr Browser hat mehr Cookies oder andere Daten gesendet, als diese Website annimmt.
            refusal.large_fields.advice: Löschen Sie die Cookies dieser Website in den Einstellungen Ihres Browsers und versuchen Sie es dann noch einmal.
            refusal.failed.title: Bitte versuchen Sie es gleich noch einmal
            refusal.failed.event: Diese Seite kann zurzeit nicht angezeigt werden.
            refusal.failed.advice: Warten Sie einige Sekunden und versuchen Sie es dann noch einmal.
            refusal.not_understood.title: Diese Anfrage wurde nicht verstanden
            refusal.not_understood.event: Ihr Browser oder etwas zwischen ihm und dieser Website hat eine ungültige Anfrage gesendet.
            refusal.not_understood.advice: Versuchen Sie es noch einmal. Wenn der Fehler wieder auftritt, verwenden Sie einen anderen Browser oder ein anderes Netzwerk.
            """
    )
}
