extension PageLanguage {
    static let english = PageLanguage(
        tag: "en",
        table: """
            sign_in.title: Sign in
            sign_in.host: to continue to {host}
            sign_in.identifier: Email or user name
            sign_in.password: Password
            sign_in.show_password: Show password
            sign_in.caps_lock: Caps Lock is on.
            sign_in.stay: Keep me signed in on this device
            sign_in.submit: Sign in
            sign_in.continue: Continue
            sign_in.provider: Continue with {provider}
            sign_in.last_used: Last used on this device
            sign_in.or: or
            sign_in.away: Not available at the moment
            sign_in.other: or sign in with another account
            notice.refused: The name or the password is not right. Please try again.
            notice.incomplete: Please enter your name and your password.
            notice.no_identifier: Please enter your email address or user name.
            notice.throttled: Too many attempts. Please wait, then try again.
            notice.unavailable: Signing in is not possible at the moment. Please try again shortly.
            notice.cross_site: This sign-in did not come from this page. Please enter your password again.
            notice.again: The page that you want to open asks you to sign in again.
            notice.handoff: You could not be signed in automatically. Please sign in here.
            notice.ended: Your session has ended. Sign in, and you come back to the page that you wanted.
            notice.idle: You were signed out because you had not used this site for a while. Sign in, and you come back to the page that you wanted.
            notice.idle_for: You were signed out because you had not used this site for {time}. Sign in, and you come back to the page that you wanted.
            notice.expired: You were signed out because your last sign-in was too long ago. Sign in, and you come back to the page that you wanted.
            notice.expired_after: You were signed out because a sign-in lasts {time} at most. Sign in, and you come back to the page that you wanted.
            notice.sign_out_uncertain: Signing out is not possible at the moment: you may still be signed in. Please try again shortly.
            wait.seconds: You can try again in {count} seconds.
            wait.minutes: You can try again in {count} minutes.
            time.minutes: {count} minutes
            time.hours: {count} hours
            time.days: {count} days
            signed_out.title: Signed out
            signed_out.text: You are signed out of all pages of this site.
            signed_out.sign_in: Sign in again
            sign_out.title: Sign out
            sign_out.question: Do you want to sign out of {host}?
            sign_out.submit: Sign out
            sign_out.stay: Stay signed in
            confirm.title: Sign in with this account?
            confirm.account: You will be signed in to {host} as {account}.
            confirm.own: Continue only if this is your own account and you have just opened this page from your app or from a link that you asked for.
            confirm.actor: Continue only if you are {actor}, who acts for this account.
            confirm.submit: Sign in
            confirm.elsewhere: Go on without this account
            sessions.title: Where you are signed in
            sessions.advice: If you do not know one of these, sign it out and change your password.
            sessions.advice_provider: If you do not know one of these, sign it out and change the password of the account that you sign in with.
            sessions.change_password: Change your password
            sessions.sign_out_here: Sign out here
            sessions.current: This session
            sessions.sign_out: Sign out
            sessions.sign_out_named: Sign out {device}
            sessions.others: Sign out everywhere else
            sessions.browser: Browser
            sessions.app: App
            sessions.transfer: Browser, opened by an app
            sessions.actor: used by {actor}, who acts for you
            sessions.address: from {address}
            sessions.seen: last seen {time}
            sessions.host: on {host}
            sessions.device: {program} on {system}
            sessions.unknown_device: Unknown device
            page.support: Get help
            page.reason: Reason
            page.request: Request
            page.account: You are signed in as {account}.
            form_post.title: One moment
            form_post.submit: Continue
            link.again: Try again
            link.start: Go to the start page
            link.client: Go back to the app
            link.sign_in: Sign in
            link.other_account: Sign in with another account
            refusal.asks_app: The app that shows this page signs you in again. If it does not, open the page once more from the app, or sign in here.
            form.uncertain: It is not known whether what you entered has arrived.
            form.check_first: Before you send it again, look whether it was done.
            form.not_sent: What you entered was not sent on and is not kept.
            form.send_again: Use the Back button of your browser, then send the form again in a moment.
            form.sign_in: Sign in, then send the form again. The Back button of your browser may still show what you entered.
            refusal.cross_site.title: This came from another site
            refusal.cross_site.event: For your safety, a link or form of another site cannot act in your name here.
            refusal.cross_site.advice: Open this site yourself and do there what you wanted to do.
            refusal.ambiguous_address.title: This address cannot be opened
            refusal.ambiguous_address.event: The address is written in a way that could mean more than one page.
            refusal.ambiguous_address.advice: Check how it is written, or begin at the start page.
            refusal.session_ended.title: Please sign in again
            refusal.session_ended.event: Your session has ended.
            refusal.session_ended.advice: Sign in again to go on.
            refusal.network_changed.title: Please sign in again
            refusal.network_changed.event: Your device has changed its network since you signed in.
            refusal.network_changed.advice: Sign in again to go on.
            refusal.sign_in_cancelled.title: The sign-in was cancelled
            refusal.sign_in_cancelled.event: The sign-in ended because you, or the service at which you sign in, said no.
            refusal.sign_in_cancelled.advice: Try again, or close this page if you have changed your mind.
            refusal.interaction_required.title: Please sign in
            refusal.interaction_required.event: The service at which you sign in has to ask you something first.
            refusal.interaction_required.advice: Sign in to go on.
            refusal.provider_error.title: The sign-in failed
            refusal.provider_error.event: The service at which you sign in reported an error.
            refusal.provider_error.advice: Try again. If it happens again, tell the people who run this site, with the reason below.
            refusal.invalid_token.title: The sign-in failed
            refusal.invalid_token.event: What the service at which you sign in says of you could not be verified.
            refusal.invalid_token.advice: Try again. If it happens again, tell the people who run this site, with the reason below.
            refusal.state_mismatch.title: This sign-in cannot be completed
            refusal.state_mismatch.event: It took too long, or was begun in another browser or beside too many others, or your browser does not keep this site's cookies.
            refusal.state_mismatch.advice: Try again, and allow this site to keep cookies.
            refusal.not_allowed.title: Your account has no access here
            refusal.not_allowed.event: You have signed in with an account that may not use this site.
            refusal.not_allowed.advice: Ask the people who run this site for access, or sign in with another account.
            refusal.insufficient.title: A stronger sign-in is needed
            refusal.insufficient.event: You have signed in, but the page that you want needs a stronger or more recent sign-in.
            refusal.insufficient.advice: Try again, and confirm with a second factor or your password if you are asked.
            refusal.repeated.title: The sign-in does not last
            refusal.repeated.event: You have signed in several times within a minute, but your browser came back without a sign-in.
            refusal.repeated.advice: Allow this site to keep cookies, then try again. If it happens again, tell the people who run this site.
            refusal.bad_link.title: This link does not work
            refusal.bad_link.event: The app that sent you here is not registered with this address.
            refusal.bad_link.advice: Go back to the app. If this happens again, tell its makers.
            refusal.request_used.title: This sign-in has ended
            refusal.request_used.event: It was used before, or it took too long.
            refusal.request_used.advice: Go back to the app and sign in there again.
            refusal.flow_ended.title: This sign-in has ended
            refusal.flow_ended.event: It took too long, or its address is not complete.
            refusal.flow_ended.advice: Go back to the app and sign in there again.
            refusal.prefetched_sign_in.title: Open this page once more
            refusal.prefetched_sign_in.event: Your browser fetched the sign-in before you opened it.
            refusal.prefetched_sign_in.advice: Open it now.
            refusal.too_old.title: Please sign in again
            refusal.too_old.event: This page needs a more recent sign-in than yours.
            refusal.too_old.advice: Sign in again to go on.
            refusal.second_factor.title: A second factor is needed
            refusal.second_factor.event: This page needs a stronger sign-in than yours.
            refusal.second_factor.advice: Sign in with an account that has a second factor, or ask the people who run this site.
            refusal.only_user.title: Only the user may open this page
            refusal.only_user.event: You act for the user of this account, and this page is closed to everybody else.
            refusal.only_user.advice: Go on with another page, or let the user do it.
            refusal.no_access.title: You have no access to this page
            refusal.no_access.event: You are signed in, but this page is not open to your account.
            refusal.no_access.advice: Ask the people who run this site for access, or sign in with another account.
            refusal.apps_only.title: This page is for apps
            refusal.apps_only.event: You are signed in, but this page is open to apps only, not to browsers.
            refusal.apps_only.advice: Use the app, or begin at the start page.
            refusal.unusable_account.title: Your account cannot be used here
            refusal.unusable_account.event: Your account holds something that the app behind this page cannot take.
            refusal.unusable_account.advice: Tell the people who run this site, with the reason below.
            refusal.prefetched_link.title: Open this link once more
            refusal.prefetched_link.event: Your browser fetched this page before you opened it.
            refusal.prefetched_link.advice: Open it now.
            refusal.unconfirmed.title: You cannot be signed in from here any more
            refusal.unconfirmed.event: The question was open for more than a minute, or your browser did not keep its cookie.
            refusal.unconfirmed.advice: Open the page once more, from where you came, or sign in.
            refusal.already_signed_in.title: You are signed in already
            refusal.already_signed_in.event: The link signs you in for another person, which is possible only where nobody is signed in.
            refusal.already_signed_in.advice: Sign out here, then open a new link from where you got this one.
            refusal.rule_denied.title: This is not allowed
            refusal.rule_denied.event: The rules of this site do not allow this sign-in.
            refusal.rule_denied.advice: If this is a mistake, ask the people who run this site.
            refusal.ticket_used.title: This sign-in cannot be completed
            refusal.ticket_used.event: It took too long, or its address was used before.
            refusal.ticket_used.advice: Try again. If you have signed in already, you are not asked to do it once more.
            refusal.other_browser.title: This sign-in cannot be completed
            refusal.other_browser.event: It was begun in another browser, or is completed already, or your browser does not keep this site's cookies.
            refusal.other_browser.advice: Try again, and allow this site to keep cookies.
            refusal.no_cookie.title: The sign-in does not last
            refusal.no_cookie.event: You have signed in, but your browser came back without a sign-in.
            refusal.no_cookie.advice: Allow this site to keep cookies, then open the page again that you want to see.
            refusal.ticket_malformed.title: This address cannot be opened
            refusal.ticket_malformed.event: It belongs to a sign-in that is over.
            refusal.ticket_malformed.advice: Open the page again that you want to see.
            refusal.unchecked.title: Please try again in a moment
            refusal.unchecked.event: Your sign-in cannot be checked at the moment; you have not been signed out.
            refusal.unchecked.advice: Wait a few seconds, then try again.
            refusal.overloaded.title: Please try again in a moment
            refusal.overloaded.event: This site has too much to do at the moment.
            refusal.overloaded.advice: Wait a few seconds, then try again.
            refusal.app_unreachable.title: The app cannot be reached
            refusal.app_unreachable.event: The app behind this page takes no connections at the moment.
            refusal.app_unreachable.advice: Wait a few seconds, then try again. If it stays like this, tell the people who run this site.
            refusal.app_slow.title: The app takes too long
            refusal.app_slow.event: The app behind this page has not answered in time.
            refusal.app_slow.advice: Wait a few seconds, then try again. If it stays like this, tell the people who run this site.
            refusal.app_broken.title: The app did not answer
            refusal.app_broken.event: The app behind this page gave no answer that can be shown.
            refusal.app_broken.advice: Wait a few seconds, then try again. If it stays like this, tell the people who run this site.
            refusal.unauthenticated.title: Please sign in
            refusal.unauthenticated.event: You are not signed in, or your session has ended.
            refusal.unauthenticated.advice: Sign in to go on.
            refusal.forbidden.title: This is not allowed
            refusal.forbidden.event: You may not do this here.
            refusal.forbidden.advice: If you think that you should, ask the people who run this site.
            refusal.not_found.title: Page not found
            refusal.not_found.event: There is nothing at this address.
            refusal.not_found.advice: Check how it is written, or begin at the start page.
            refusal.unknown_host.title: Page not found
            refusal.unknown_host.event: This site is not known here by the name in the address.
            refusal.unknown_host.advice: Check how the address is written.
            refusal.wrong_method.title: This does not work here
            refusal.wrong_method.event: There is something at this address, but it cannot be used in this way.
            refusal.wrong_method.advice: Go back, or begin at the start page.
            refusal.slow_request.title: This took too long
            refusal.slow_request.event: Your request did not arrive in time.
            refusal.slow_request.advice: Check your connection, then try again.
            refusal.too_large.title: This is too large
            refusal.too_large.event: You sent more than this page takes.
            refusal.too_large.advice: Go back and send a smaller file or less text.
            refusal.long_address.title: This address is too long
            refusal.long_address.event: The address is longer than this site takes.
            refusal.long_address.advice: Go back and enter less, or begin at the start page.
            refusal.too_many.title: Please wait a moment
            refusal.too_many.event: There were too many requests from here in a short time.
            refusal.too_many.advice: Wait a minute, then try again.
            refusal.large_fields.title: Your browser sent too much
            refusal.large_fields.event: Your browser sent more cookies or other details than this site takes.
            refusal.large_fields.advice: Delete the cookies of this site in the settings of your browser, then try again.
            refusal.failed.title: Please try again in a moment
            refusal.failed.event: This page cannot be shown at the moment.
            refusal.failed.advice: Wait a few seconds, then try again.
            refusal.not_understood.title: This request was not understood
            refusal.not_understood.event: Your browser, or something between it and this site, sent what cannot be read with certainty.
            refusal.not_understood.advice: Try again. If it happens again, use another browser or network.
            """
    )
}
