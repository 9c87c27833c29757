extension PageLanguage {
    static let french = PageLanguage(
        tag: "fr",
        table: """
            sign_in.title: Connexion
            sign_in.host: pour continuer vers {host}
            sign_in.identifier: Adresse e-mail ou nom d’utilisateur
            sign_in.password: Mot de passe
            sign_in.show_password: Afficher le mot de passe
            sign_in.caps_lock: La touche Verr. Maj. est activée.
            sign_in.stay: Rester connecté sur cet appareil
            sign_in.submit: Se connecter
            sign_in.continue: Continuer
            sign_in.provider: Continuer avec {provider}
            sign_in.last_used: Dernier utilisé sur cet appareil
            sign_in.or: ou
            sign_in.away: Indisponible pour le moment
            sign_in.other: ou se connecter avec un autre compte
            notice.refused: Nom d’utilisateur ou mot de passe incorrect. Veuillez réessayer.
            notice.incomplete: Veuillez saisir votre nom d’utilisateur et votre mot de passe.
            notice.no_identifier: Veuillez saisir votre adresse e-mail ou votre nom d’utilisateur.
            notice.throttled: Trop de tentatives. Veuillez patienter avant de réessayer.
            notice.unavailable: La connexion est impossible pour le moment. Veuillez réessayer dans un instant.
            notice.cross_site: Cette connexion n’a pas été envoyée depuis cette page. Veuillez saisir de nouveau votre mot de passe.
            notice.again: La page que vous voulez ouvrir exige que vous vous connectiez de nouveau.
            notice.handoff: Vous n’avez pas pu être connecté automatiquement. Veuillez vous connecter ici.
            notice.ended: Votre session est terminée. Connectez-vous pour revenir à la page souhaitée.
            notice.idle: Vous avez été déconnecté parce que vous n’avez pas utilisé ce site depuis un moment. Connectez-vous pour revenir à la page souhaitée.
            notice.idle_for: Vous avez été déconnecté parce que vous n’avez pas utilisé ce site depuis {time}. Connectez-vous pour revenir à la page souhaitée.
            notice.expired: Vous avez été déconnecté parce que votre dernière connexion est trop ancienne. Connectez-vous pour revenir à la page souhaitée.
            notice.expired_after: Vous avez été déconnecté parce qu’une connexion dure au plus {time}. Connectez-vous pour revenir à la page souhaitée.
            notice.sign_out_uncertain: La déconnexion est impossible pour le moment, vous êtes donc peut-être encore connecté. Veuillez réessayer dans un instant.
            wait.seconds: Vous pourrez réessayer dans {count} secondes.
            wait.minutes: Vous pourrez réessayer dans {count} minutes.
            time.minutes: {count} minutes
            time.hours: {count} heures
            time.days: {count} jours
            signed_out.title: Vous êtes déconnecté
            signed_out.text: Vous êtes déconnecté de toutes les pages de ce site.
            signed_out.sign_in: Se reconnecter
            sign_out.title: Déconnexion
            sign_out.question: Voulez-vous vous déconnecter de {host} ?
            sign_out.submit: Se déconnecter
            sign_out.stay: Rester connecté
            confirm.title: Se connecter avec ce compte ?
            confirm.account: Vous allez être connecté à {host} en tant que {account}.
            confirm.own: Continuez seulement si ce compte est le vôtre et si vous venez d’ouvrir cette page depuis votre application ou depuis un lien que vous avez demandé.
            confirm.actor: Continuez seulement si vous êtes {actor} et agissez au nom de ce compte.
            confirm.submit: Se connecter
            confirm.elsewhere: Continuer sans ce compte
            sessions.title: Où vous êtes connecté
            sessions.advice: Si vous ne reconnaissez pas l’une de ces sessions, déconnectez-la et changez votre mot de passe.
            sessions.advice_provider: Si vous ne reconnaissez pas l’une de ces sessions, déconnectez-la et changez le mot de passe du compte avec lequel vous vous connectez.
            sessions.change_password: Changer votre mot de passe
            sessions.sign_out_here: Se déconnecter ici
            sessions.current: Cette session
            sessions.sign_out: Déconnecter
            sessions.sign_out_named: Déconnecter {device}
            sessions.others: Se déconnecter partout ailleurs
            sessions.browser: Navigateur
            sessions.app: Application
            sessions.transfer: Navigateur ouvert par une application
            sessions.actor: utilisée par {actor} en votre nom
            sessions.address: depuis {address}
            sessions.seen: dernière activité : {time}
            sessions.host: sur {host}
            sessions.device: {program} sous {system}
            sessions.unknown_device: Appareil inconnu
            page.support: Aide
            page.reason: Motif
            page.request: Requête
            page.account: Vous êtes connecté en tant que {account}.
            form_post.title: Un instant
            form_post.submit: Continuer
            link.again: Réessayer
            link.start: Aller à la page d’accueil
            link.client: Revenir à l’application
            link.sign_in: Se connecter
            link.other_account: Se connecter avec un autre compte
            refusal.asks_app: L’application qui affiche cette page va vous reconnecter. Si elle ne le fait pas, ouvrez de nouveau la page depuis l’application ou connectez-vous ici.
            form.uncertain: Nous ne savons pas si ce que vous avez saisi est arrivé.
            form.check_first: Avant de l’envoyer de nouveau, vérifiez si l’opération a déjà été effectuée.
            form.not_sent: Ce que vous avez saisi n’a pas été transmis et n’est pas conservé.
            form.send_again: Utilisez le bouton Retour de votre navigateur, puis renvoyez le formulaire dans un instant.
            form.sign_in: Connectez-vous, puis renvoyez le formulaire. Le bouton Retour de votre navigateur affiche peut-être encore ce que vous avez saisi.
            refusal.cross_site.title: Cette demande vient d’un autre site
            refusal.cross_site.event: Pour votre sécurité, les liens et les formulaires d’autres sites ne peuvent pas agir ici en votre nom.
            refusal.cross_site.advice: Ouvrez vous-même ce site et réessayez à partir de là.
            refusal.ambiguous_address.title: Adresse non valide
            refusal.ambiguous_address.event: L’adresse pourrait désigner plusieurs pages.
            refusal.ambiguous_address.advice: Vérifiez que l’adresse ne contient pas d’erreur ou allez à la page d’accueil.
            refusal.session_ended.title: Veuillez vous reconnecter
            refusal.session_ended.event: Votre session est terminée.
            refusal.session_ended.advice: Reconnectez-vous pour continuer.
            refusal.network_changed.title: Veuillez vous reconnecter
            refusal.network_changed.event: Votre appareil a changé de réseau depuis votre connexion.
            refusal.network_changed.advice: Reconnectez-vous pour continuer.
            refusal.sign_in_cancelled.title: Connexion annulée
            refusal.sign_in_cancelled.event: La connexion a été annulée par vous ou par le service de connexion.
            refusal.sign_in_cancelled.advice: Réessayez, ou fermez cette page si vous avez changé d’avis.
            refusal.interaction_required.title: Veuillez vous connecter
            refusal.interaction_required.event: Le service de connexion a d’abord besoin d’une réponse de votre part.
            refusal.interaction_required.advice: Connectez-vous pour continuer.
            refusal.provider_error.title: La connexion a échoué
            refusal.provider_error.event: Le service de connexion a signalé une erreur.
            refusal.provider_error.advice: Réessayez. Si cela se reproduit, contactez les administrateurs de ce site et indiquez-leur le motif ci-dessous.
            refusal.invalid_token.title: La connexion a échoué
            refusal.invalid_token.event: La réponse du service de connexion n’a pas pu être vérifiée.
            refusal.invalid_token.advice: Réessayez. Si cela se reproduit, contactez les administrateurs de ce site et indiquez-leur le motif ci-dessous.
            refusal.state_mismatch.title: Cette connexion n’a pas pu aboutir
            refusal.state_mismatch.event: Elle a pris trop de temps, a été commencée dans un autre navigateur ou en même temps que trop d’autres, ou votre navigateur bloque les cookies de ce site.
            refusal.state_mismatch.advice: Autorisez les cookies pour ce site, puis réessayez.
            refusal.not_allowed.title: Votre compte n’a pas accès à ce site
            refusal.not_allowed.event: Vous vous êtes connecté avec un compte qui n’est pas autorisé à utiliser ce site.
            refusal.not_allowed.advice: Demandez l’accès aux administrateurs de ce site ou connectez-vous avec un autre compte.
            refusal.insufficient.title: Une connexion plus sûre est nécessaire
            refusal.insufficient.event: Vous vous êtes connecté, mais la page souhaitée exige une connexion plus sûre ou plus récente.
            refusal.insufficient.advice: Réessayez et confirmez par un second facteur ou par votre mot de passe si on vous le demande.
            refusal.repeated.title: Vous ne restez pas connecté
            refusal.repeated.event: Vous vous êtes connecté plusieurs fois en une minute, mais votre navigateur n’a pas conservé la connexion.
            refusal.repeated.advice: Autorisez les cookies pour ce site, puis réessayez. Si cela se reproduit, contactez les administrateurs de ce site.
            refusal.bad_link.title: Ce lien ne fonctionne pas
            refusal.bad_link.event: L’application qui vous a envoyé ici n’est pas enregistrée avec cette adresse.
            refusal.bad_link.advice: Revenez à l’application. Si cela se reproduit, contactez les éditeurs de l’application.
            refusal.request_used.title: Cette connexion n’est plus valable
            refusal.request_used.event: Elle a déjà été utilisée ou a pris trop de temps.
            refusal.request_used.advice: Revenez à l’application et connectez-vous-y de nouveau.
            refusal.flow_ended.title: Cette connexion n’est plus valable
            refusal.flow_ended.event: Elle a pris trop de temps, ou son adresse est incomplète.
            refusal.flow_ended.advice: Revenez à l’application et connectez-vous-y de nouveau.
            refusal.prefetched_sign_in.title: Ouvrez de nouveau cette page
            refusal.prefetched_sign_in.event: Votre navigateur a chargé la page de connexion à l’avance, avant que vous ne l’ouvriez.
            refusal.prefetched_sign_in.advice: Ouvrez-la maintenant.
            refusal.too_old.title: Veuillez vous reconnecter
            refusal.too_old.event: Cette page exige une connexion plus récente que la vôtre.
            refusal.too_old.advice: Reconnectez-vous pour continuer.
            refusal.second_factor.title: Un second facteur est nécessaire
            refusal.second_factor.event: Cette page exige une connexion plus sûre que la vôtre.
            refusal.second_factor.advice: Connectez-vous avec un compte qui a un second facteur ou contactez les administrateurs de ce site.
            refusal.only_user.title: Seul l’utilisateur peut ouvrir cette page
            refusal.only_user.event: Vous agissez au nom de l’utilisateur de ce compte, et lui seul peut ouvrir cette page.
            refusal.only_user.advice: Continuez avec une autre page ou laissez l’utilisateur le faire.
            refusal.no_access.title: Vous n’avez pas accès à cette page
            refusal.no_access.event: Vous êtes connecté, mais votre compte n’est pas autorisé à ouvrir cette page.
            refusal.no_access.advice: Demandez l’accès aux administrateurs de ce site ou connectez-vous avec un autre compte.
            refusal.apps_only.title: Cette page n’est disponible que dans l’application
            refusal.apps_only.event: Vous êtes connecté, mais cette page ne peut pas être ouverte dans un navigateur.
            refusal.apps_only.advice: Utilisez l’application ou allez à la page d’accueil.
            refusal.unusable_account.title: Votre compte ne peut pas être utilisé ici
            refusal.unusable_account.event: Votre compte contient des informations que l’application ne peut pas accepter.
            refusal.unusable_account.advice: Contactez les administrateurs de ce site et indiquez-leur le motif ci-dessous.
            refusal.prefetched_link.title: Ouvrez de nouveau ce lien
            refusal.prefetched_link.event: Votre navigateur a chargé cette page à l’avance, avant que vous ne l’ouvriez.
            refusal.prefetched_link.advice: Ouvrez-le maintenant.
            refusal.unconfirmed.title: Cette connexion n’est plus valable
            refusal.unconfirmed.event: Elle n’a pas été confirmée en moins d’une minute, ou votre navigateur bloque les cookies de ce site.
            refusal.unconfirmed.advice: Ouvrez de nouveau la page depuis l’endroit d’où vous veniez, ou connectez-vous.
            refusal.already_signed_in.title: Vous êtes déjà connecté
            refusal.already_signed_in.event: Le lien est destiné à un autre compte et ne fonctionne que si personne n’est connecté ici.
            refusal.already_signed_in.advice: Déconnectez-vous ici, puis demandez un nouveau lien là où vous avez obtenu celui-ci.
            refusal.rule_denied.title: Cette action n’est pas autorisée
            refusal.rule_denied.event: Les règles de ce site n’autorisent pas cette connexion.
            refusal.rule_denied.advice: Si vous pensez qu’il s’agit d’une erreur, contactez les administrateurs de ce site.
            refusal.too_many_sessions.title: Vous êtes connecté sur trop d’appareils
            refusal.too_many_sessions.event: Le nombre d’appareils sur lesquels vous pouvez être connecté en même temps est limité.
            refusal.too_many_sessions.advice: Sur un appareil où vous êtes connecté, ouvrez la liste de vos sessions et fermez-en une. Connectez-vous ensuite de nouveau ici.
            refusal.ticket_used.title: Cette connexion n’a pas pu aboutir
            refusal.ticket_used.event: Elle a pris trop de temps, ou son adresse a déjà été utilisée.
            refusal.ticket_used.advice: Réessayez. Si vous vous êtes déjà connecté, on ne vous le demandera pas de nouveau.
            refusal.other_browser.title: Cette connexion n’a pas pu aboutir
            refusal.other_browser.event: Elle a été commencée dans un autre navigateur, est déjà terminée, ou votre navigateur bloque les cookies de ce site.
            refusal.other_browser.advice: Autorisez les cookies pour ce site, puis réessayez.
            refusal.no_cookie.title: Vous ne restez pas connecté
            refusal.no_cookie.event: Vous vous êtes connecté, mais votre navigateur n’a pas conservé la connexion.
            refusal.no_cookie.advice: Autorisez les cookies pour ce site, puis ouvrez de nouveau la page souhaitée.
            refusal.ticket_malformed.title: Adresse non valide
            refusal.ticket_malformed.event: L’adresse fait partie d’une connexion qui est terminée.
            refusal.ticket_malformed.advice: Ouvrez de nouveau la page souhaitée.
            refusal.unchecked.title: Veuillez réessayer dans un instant
            refusal.unchecked.event: Votre connexion ne peut pas être vérifiée pour le moment, mais vous n’avez pas été déconnecté.
            refusal.unchecked.advice: Attendez quelques secondes, puis réessayez.
            refusal.overloaded.title: Veuillez réessayer dans un instant
            refusal.overloaded.event: Ce site est surchargé pour le moment.
            refusal.overloaded.advice: Attendez quelques secondes, puis réessayez.
            refusal.app_unreachable.title: L’application est indisponible
            refusal.app_unreachable.event: L’application ne répond pas pour le moment.
            refusal.app_unreachable.advice: Attendez quelques secondes, puis réessayez. Si cela persiste, contactez les administrateurs de ce site.
            refusal.app_slow.title: L’application met trop de temps à répondre
            refusal.app_slow.event: L’application n’a pas répondu à temps.
            refusal.app_slow.advice: Attendez quelques secondes, puis réessayez. Si cela persiste, contactez les administrateurs de ce site.
            refusal.app_broken.title: L’application n’a pas répondu correctement
            refusal.app_broken.event: L’application n’a donné aucune réponse qui puisse être affichée.
            refusal.app_broken.advice: Attendez quelques secondes, puis réessayez. Si cela persiste, contactez les administrateurs de ce site.
            refusal.unauthenticated.title: Veuillez vous connecter
            refusal.unauthenticated.event: Vous n’êtes pas connecté, ou votre session est terminée.
            refusal.unauthenticated.advice: Connectez-vous pour continuer.
            refusal.forbidden.title: Cette action n’est pas autorisée
            refusal.forbidden.event: Vous n’êtes pas autorisé à faire cela ici.
            refusal.forbidden.advice: Si vous pensez qu’il s’agit d’une erreur, contactez les administrateurs de ce site.
            refusal.not_found.title: Page introuvable
            refusal.not_found.event: Il n’y a rien à cette adresse.
            refusal.not_found.advice: Vérifiez que l’adresse ne contient pas d’erreur ou allez à la page d’accueil.
            refusal.unknown_host.title: Page introuvable
            refusal.unknown_host.event: Il n’y a pas de site de ce nom ici.
            refusal.unknown_host.advice: Vérifiez que l’adresse ne contient pas d’erreur.
            refusal.wrong_method.title: Cela ne fonctionne pas ici
            refusal.wrong_method.event: Cette adresse existe, mais elle ne peut pas être utilisée de cette façon.
            refusal.wrong_method.advice: Revenez en arrière ou allez à la page d’accueil.
            refusal.slow_request.title: Cela a pris trop de temps
            refusal.slow_request.event: Votre requête n’est pas arrivée à temps.
            refusal.slow_request.advice: Vérifiez votre connexion au réseau, puis réessayez.
            refusal.too_large.title: C’est trop volumineux
            refusal.too_large.event: Vous avez envoyé plus que ce que cette page accepte.
            refusal.too_large.advice: Revenez en arrière et envoyez un fichier plus petit ou moins de texte.
            refusal.long_address.title: Cette adresse est trop longue
            refusal.long_address.event: L’adresse est plus longue que ce que ce site accepte.
            refusal.long_address.advice: Revenez en arrière et saisissez moins de texte, ou allez à la page d’accueil.
            refusal.too_many.title: Veuillez patienter un instant
            refusal.too_many.event: Trop de requêtes sont venues de votre connexion en peu de temps.
            refusal.too_many.advice: Attendez une minute, puis réessayez.
            refusal.large_fields.title: Votre navigateur a envoyé trop de données
            refusal.large_fields.event: Votre navigateur a envoyé plus de cookies ou d’autres données que ce site n’en accepte.
            refusal.large_fields.advice: Supprimez les cookies de ce site dans les paramètres de votre navigateur, puis réessayez.
            refusal.failed.title: Veuillez réessayer dans un instant
            refusal.failed.event: Cette page ne peut pas être affichée pour le moment.
            refusal.failed.advice: Attendez quelques secondes, puis réessayez.
            refusal.not_understood.title: Cette requête n’a pas été comprise
            refusal.not_understood.event: Votre navigateur, ou quelque chose entre lui et ce site, a envoyé une requête non valide.
            refusal.not_understood.advice: Réessayez. Si cela se reproduit, utilisez un autre navigateur ou un autre réseau.
            """
    )
}
