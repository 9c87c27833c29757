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
            sign_in.away: Not available right now
            sign_in.other: or sign in with another account
            notice.refused: Incorrect user name or password. Please try again.
            notice.incomplete: Please enter your user name and password.
            notice.no_identifier: Please enter your email address or user name.
            notice.throttled: Too many attempts. Please wait before you try again.
            notice.unavailable: Signing in is not possible right now. Please try again shortly.
            notice.cross_site: This sign-in was not sent from this page. Please enter your password again.
            notice.again: The page that you want to open asks you to sign in again.
            notice.handoff: You could not be signed in automatically. Please sign in here.
            notice.ended: Your session has ended. Sign in to return to the page that you wanted.
            notice.idle: You were signed out because you have not used this site for a while. Sign in to return to the page that you wanted.
            notice.idle_for: You were signed out because you have not used this site for {time}. Sign in to return to the page that you wanted.
            notice.expired: You were signed out because your last sign-in was too long ago. Sign in to return to the page that you wanted.
            notice.expired_after: You were signed out because a sign-in lasts {time} at most. Sign in to return to the page that you wanted.
            notice.sign_out_uncertain: Signing out is not possible right now, so you may still be signed in. Please try again shortly.
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
            confirm.own: Continue only if this is your own account and you have just opened this page from your app or from a link that you requested.
            confirm.actor: Continue only if you are {actor} and act on behalf of this account.
            confirm.submit: Sign in
            confirm.elsewhere: Continue without this account
            sessions.title: Where you are signed in
            sessions.advice: If you don't recognize one of these sessions, sign it out and change your password.
            sessions.advice_provider: If you don't recognize one of these sessions, sign it out and change the password of the account that you sign in with.
            sessions.change_password: Change your password
            sessions.sign_out_here: Sign out here
            sessions.current: This session
            sessions.sign_out: Sign out
            sessions.sign_out_named: Sign out {device}
            sessions.others: Sign out everywhere else
            sessions.browser: Browser
            sessions.app: App
            sessions.transfer: Browser, opened by an app
            sessions.actor: used by {actor} on your behalf
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
            link.start: Go to the home page
            link.client: Go back to the app
            link.sign_in: Sign in
            link.other_account: Sign in with another account
            refusal.asks_app: The app that shows this page will sign you in again. If it does not, open the page again from the app, or sign in here.
            form.uncertain: It is not known whether what you entered has arrived.
            form.check_first: Before you send it again, check whether it has already been done.
            form.not_sent: What you entered was not sent on and is not kept.
            form.send_again: Use your browser's Back button, then send the form again in a moment.
            form.sign_in: Sign in, then send the form again. Your browser's Back button may still show what you entered.
            refusal.cross_site.title: This request came from another site
            refusal.cross_site.event: For your safety, links and forms on other sites cannot act on your behalf here.
            refusal.cross_site.advice: Open this site yourself and try again from here.
            refusal.ambiguous_address.title: Invalid address
            refusal.ambiguous_address.event: The address could refer to more than one page.
            refusal.ambiguous_address.advice: Check the address for mistakes, or go to the home page.
            refusal.session_ended.title: Please sign in again
            refusal.session_ended.event: Your session has ended.
            refusal.session_ended.advice: Sign in again to continue.
            refusal.network_changed.title: Please sign in again
            refusal.network_changed.event: Your device has switched to another network since you signed in.
            refusal.network_changed.advice: Sign in again to continue.
            refusal.sign_in_cancelled.title: The sign-in was cancelled
            refusal.sign_in_cancelled.event: The sign-in was cancelled by you or by the service that you sign in with.
            refusal.sign_in_cancelled.advice: Try again, or close this page if you have changed your mind.
            refusal.interaction_required.title: Please sign in
            refusal.interaction_required.event: The service that you sign in with needs an answer from you first.
            refusal.interaction_required.advice: Sign in to continue.
            refusal.provider_error.title: The sign-in failed
            refusal.provider_error.event: The service that you sign in with reported an error.
            refusal.provider_error.advice: Try again. If it happens again, contact the site's administrators and give them the reason below.
            refusal.invalid_token.title: The sign-in failed
            refusal.invalid_token.event: The answer of the service that you sign in with could not be verified.
            refusal.invalid_token.advice: Try again. If it happens again, contact the site's administrators and give them the reason below.
            refusal.state_mismatch.title: This sign-in could not be completed
            refusal.state_mismatch.event: It took too long, was started in another browser or together with too many others, or your browser blocks this site's cookies.
            refusal.state_mismatch.advice: Allow cookies for this site, then try again.
            refusal.not_allowed.title: Your account doesn't have access to this site
            refusal.not_allowed.event: You signed in with an account that is not allowed to use this site.
            refusal.not_allowed.advice: Ask the site's administrators for access, or sign in with another account.
            refusal.insufficient.title: A more secure sign-in is required
            refusal.insufficient.event: You signed in, but the page that you want requires a more secure or more recent sign-in.
            refusal.insufficient.advice: Try again, and confirm with a second factor or your password if you are asked to.
            refusal.repeated.title: You are not staying signed in
            refusal.repeated.event: You signed in several times within a minute, but your browser did not keep the sign-in.
            refusal.repeated.advice: Allow cookies for this site, then try again. If it happens again, contact the site's administrators.
            refusal.bad_link.title: This link does not work
            refusal.bad_link.event: The app that sent you here is not registered with this address.
            refusal.bad_link.advice: Go back to the app. If it happens again, contact the makers of the app.
            refusal.request_used.title: This sign-in is no longer valid
            refusal.request_used.event: It has already been used, or it took too long.
            refusal.request_used.advice: Go back to the app and sign in there again.
            refusal.flow_ended.title: This sign-in is no longer valid
            refusal.flow_ended.event: It took too long, or its address is incomplete.
            refusal.flow_ended.advice: Go back to the app and sign in there again.
            refusal.prefetched_sign_in.title: Open this page again
            refusal.prefetched_sign_in.event: Your browser loaded the sign-in in advance, before you opened it.
            refusal.prefetched_sign_in.advice: Open it now.
            refusal.too_old.title: Please sign in again
            refusal.too_old.event: This page requires a more recent sign-in than yours.
            refusal.too_old.advice: Sign in again to continue.
            refusal.second_factor.title: A second factor is required
            refusal.second_factor.event: This page requires a more secure sign-in than yours.
            refusal.second_factor.advice: Sign in with an account that has a second factor, or contact the site's administrators.
            refusal.only_user.title: Only the user can open this page
            refusal.only_user.event: You are acting on behalf of the user of this account, and only the user can open this page.
            refusal.only_user.advice: Continue with another page, or let the user do it.
            refusal.no_access.title: You don't have access to this page
            refusal.no_access.event: You are signed in, but your account is not allowed to open this page.
            refusal.no_access.advice: Ask the site's administrators for access, or sign in with another account.
            refusal.apps_only.title: This page is only available in the app
            refusal.apps_only.event: You are signed in, but this page cannot be opened in a browser.
            refusal.apps_only.advice: Use the app, or go to the home page.
            refusal.unusable_account.title: Your account cannot be used here
            refusal.unusable_account.event: Your account contains information that the app cannot accept.
            refusal.unusable_account.advice: Contact the site's administrators and give them the reason below.
            refusal.prefetched_link.title: Open this link again
            refusal.prefetched_link.event: Your browser loaded this page in advance, before you opened it.
            refusal.prefetched_link.advice: Open it now.
            refusal.unconfirmed.title: This sign-in is no longer valid
            refusal.unconfirmed.event: It was not confirmed within a minute, or your browser blocks this site's cookies.
            refusal.unconfirmed.advice: Open the page again from where you came from, or sign in.
            refusal.already_signed_in.title: You are already signed in
            refusal.already_signed_in.event: The link is for another account, and it only works if nobody is signed in here.
            refusal.already_signed_in.advice: Sign out here, then request a new link where you got this one.
            refusal.rule_denied.title: This is not allowed
            refusal.rule_denied.event: The rules of this site do not allow this sign-in.
            refusal.rule_denied.advice: If you think that this is a mistake, contact the site's administrators.
            refusal.too_many_sessions.title: You are signed in on too many devices
            refusal.too_many_sessions.event: The number of devices on which you can be signed in at the same time is limited.
            refusal.too_many_sessions.advice: On a device where you are signed in, open the list of your sessions and sign one out. Then sign in here again.
            refusal.ticket_used.title: This sign-in could not be completed
            refusal.ticket_used.event: It took too long, or its address has already been used.
            refusal.ticket_used.advice: Try again. If you have already signed in, you will not be asked again.
            refusal.other_browser.title: This sign-in could not be completed
            refusal.other_browser.event: It was started in another browser, is already complete, or your browser blocks this site's cookies.
            refusal.other_browser.advice: Allow cookies for this site, then try again.
            refusal.no_cookie.title: You are not staying signed in
            refusal.no_cookie.event: You signed in, but your browser did not keep the sign-in.
            refusal.no_cookie.advice: Allow cookies for this site, then open the page that you want again.
            refusal.ticket_malformed.title: Invalid address
            refusal.ticket_malformed.event: The address belongs to a sign-in that is over.
            refusal.ticket_malformed.advice: Open the page that you want again.
            refusal.unchecked.title: Please try again in a moment
            refusal.unchecked.event: Your sign-in cannot be checked right now, but you have not been signed out.
            refusal.unchecked.advice: Wait a few seconds, then try again.
            refusal.overloaded.title: Please try again in a moment
            refusal.overloaded.event: This site is too busy right now.
            refusal.overloaded.advice: Wait a few seconds, then try again.
            refusal.app_unreachable.title: The app is unavailable
            refusal.app_unreachable.event: The app isn't responding right now.
            refusal.app_unreachable.advice: Wait a few seconds, then try again. If this continues, contact the site's administrators.
            refusal.app_slow.title: The app is taking too long
            refusal.app_slow.event: The app did not respond in time.
            refusal.app_slow.advice: Wait a few seconds, then try again. If this continues, contact the site's administrators.
            refusal.app_broken.title: The app did not respond correctly
            refusal.app_broken.event: The app gave no answer that can be shown.
            refusal.app_broken.advice: Wait a few seconds, then try again. If this continues, contact the site's administrators.
            refusal.unauthenticated.title: Please sign in
            refusal.unauthenticated.event: You are not signed in, or your session has ended.
            refusal.unauthenticated.advice: Sign in to continue.
            refusal.forbidden.title: This is not allowed
            refusal.forbidden.event: You are not allowed to do this here.
            refusal.forbidden.advice: If you think that this is a mistake, contact the site's administrators.
            refusal.not_found.title: Page not found
            refusal.not_found.event: There is nothing at this address.
            refusal.not_found.advice: Check the address for mistakes, or go to the home page.
            refusal.unknown_host.title: Page not found
            refusal.unknown_host.event: There is no site with this name here.
            refusal.unknown_host.advice: Check the address for mistakes.
            refusal.wrong_method.title: This does not work here
            refusal.wrong_method.event: This address exists, but it cannot be used in this way.
            refusal.wrong_method.advice: Go back, or go to the home page.
            refusal.slow_request.title: This took too long
            refusal.slow_request.event: Your request did not arrive in time.
            refusal.slow_request.advice: Check your connection, then try again.
            refusal.too_large.title: This is too large
            refusal.too_large.event: You sent more than this page accepts.
            refusal.too_large.advice: Go back and send a smaller file or less text.
            refusal.long_address.title: This address is too long
            refusal.long_address.event: The address is longer than this site accepts.
            refusal.long_address.advice: Go back and enter less, or go to the home page.
            refusal.too_many.title: Please wait a moment
            refusal.too_many.event: Too many requests came from your connection in a short time.
            refusal.too_many.advice: Wait a minute, then try again.
            refusal.large_fields.title: Your browser sent too much
            refusal.large_fields.event: Your browser sent more cookies or other data than this site accepts.
            refusal.large_fields.advice: Delete this site's cookies in your browser's settings, then try again.
            refusal.failed.title: Please try again in a moment
            refusal.failed.event: This page cannot be shown right now.
            refusal.failed.advice: Wait a few seconds, then try again.
            refusal.not_understood.title: This request was not understood
            refusal.not_understood.event: Your browser, or something between it and this site, sent an invalid request.
            refusal.not_understood.advice: Try again. If it happens again, use another browser or network.
            """
    )
}
