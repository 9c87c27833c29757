package import Vocabulary

/// The text for a person about a refusal: what happened, what to do, and a link. The one table from reason to text.
///
/// A reason without a row of its own gets the text of its status.
package struct RefusalWords: Equatable, Sendable {
    /// The target of the page's link.
    package enum Way: Equatable, Sendable {
        case none
        /// The same page again; never for a form, because a link would not send its data.
        case again
        case start
        case signIn
        /// The sign-in again, after one that failed.
        case signInAgain
        /// The page of the client that asked for the sign-in, if it has one.
        case client
        /// Sign-in with another account, one that has access.
        case otherAccount
    }

    package private(set) var title: String
    /// One sentence; for a form, followed by one about its data.
    package private(set) var event: String
    package private(set) var advice: String
    package private(set) var way: Way

    /// - Parameters:
    ///   - isForm: Whether the request carried a form that the user filled in.
    ///   - asksApp: Whether the page asks the native app that shows it to sign the user in.
    package init(_ reason: Reason, isForm: Bool, asksApp: Bool = false) {
        self = Self.row(reason) ?? Self.row(reason.status)
        if asksApp {
            self.advice =
                "The app that shows this page signs you in again. If it does not, open the page once more from the app, or sign in here."
            self.way = .signIn
        }
        guard isForm else { return }
        switch reason {
        case .upstreamTimeout, .upstreamReset, .upstreamMalformed:
            self.event += " It is not known whether what you entered has arrived."
            self.advice = "Before you send it again, look whether it was done."
        default:
            self.event += " What you entered was not sent on and is not kept."
            switch self.way {
            case .again:
                self.advice = "Use the Back button of your browser, then send the form again in a moment."
            case .signIn, .signInAgain:
                self.advice =
                    "Sign in, then send the form again. The Back button of your browser may still show what you entered."
            case .none, .start, .client, .otherAccount:
                break
            }
        }
        if self.way == .again { self.way = .none }
    }

    private init(_ title: String, _ event: String, _ advice: String, _ way: Way) {
        self.title = title
        self.event = event
        self.advice = advice
        self.way = way
    }

    private static func row(_ reason: Reason) -> RefusalWords? {
        switch reason {
        case .requestLineTooLong, .requestFieldsTooLarge, .requestBodyTooLarge, .requestTimeout, .routeNotFound,
            .routeMethodNotAllowed:
            // The text of their status suffices.
            return nil
        case .requestCrossSite:
            return RefusalWords(
                "This came from another site",
                "For your safety, a link or form of another site cannot act in your name here.",
                "Open this site yourself and do there what you wanted to do.",
                .start
            )
        case .pathAmbiguous, .pathBackslash, .pathBadEscape, .pathDotSegment, .pathDoubleEncoding, .pathEncodedSlash:
            return RefusalWords(
                "This address cannot be opened",
                "The address is written in a way that could mean more than one page.",
                "Check how it is written, or begin at the start page.",
                .start
            )
        case .sessionUnknown, .credentialOtherKey, .sessionRenewalAmbiguous, .sessionUserGone:
            return RefusalWords("Please sign in again", "Your session has ended.", "Sign in again to go on.", .signIn)
        case .bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown:
            return RefusalWords(
                "Please sign in again",
                "Your device has changed its network since you signed in.",
                "Sign in again to go on.",
                .signIn
            )
        case .signInCancelled:
            return RefusalWords(
                "You are not signed in",
                "The sign-in ended because you, or the service at which you sign in, said no.",
                "Try again, or close this page if you have changed your mind.",
                .signInAgain
            )
        case .signInInteractionRequired:
            return RefusalWords(
                "Please sign in",
                "The service at which you sign in has to ask you something first.",
                "Sign in to go on.",
                .signIn
            )
        case .signInProviderError:
            return RefusalWords(
                "The sign-in failed",
                "The service at which you sign in reported an error.",
                "Try again. If it happens again, tell the people who run this site, with the reason below.",
                .signInAgain
            )
        case .signInInvalidToken:
            return RefusalWords(
                "The sign-in failed",
                "What the service at which you sign in says of you could not be verified.",
                "Try again. If it happens again, tell the people who run this site, with the reason below.",
                .signInAgain
            )
        case .signInStateMismatch:
            return RefusalWords(
                "This sign-in cannot be completed",
                "It took too long, or was begun in another browser, or your browser does not keep this site's cookies.",
                "Try again, and allow this site to keep cookies.",
                .signInAgain
            )
        case .signInNotAllowed:
            return RefusalWords(
                "Your account has no access here",
                "You have signed in with an account that may not use this site.",
                "Ask the people who run this site for access, or sign in with another account.",
                .otherAccount
            )
        case .signInInsufficient:
            return RefusalWords(
                "A stronger sign-in is needed",
                "You have signed in, but the page that you want needs a stronger or more recent sign-in.",
                "Try again, and confirm with a second factor or your password if you are asked.",
                .signInAgain
            )
        case .signInRepeated:
            return RefusalWords(
                "The sign-in does not last",
                "You have signed in several times within a minute, but your browser came back without a sign-in.",
                "Allow this site to keep cookies, then try again. If it happens again, tell the people who run this site.",
                .signInAgain
            )
        case .oauthInvalidClient, .oauthInvalidRedirect, .oauthInvalidRequest:
            return RefusalWords(
                "This link does not work",
                "The app that sent you here is not registered with this address.",
                "Go back to the app. If this happens again, tell its makers.",
                .none
            )
        case .oauthRequestUnknown:
            return RefusalWords(
                "This sign-in has ended",
                "It was used before, or it took too long.",
                "Go back to the app and sign in there again.",
                .client
            )
        case .signInFlowExpired, .signInFlowUnknown:
            return RefusalWords(
                "This sign-in has ended",
                "It took too long, or its address is not complete.",
                "Go back to the app and sign in there again.",
                .none
            )
        case .signInReturnToForbidden:
            return RefusalWords(
                "This link does not work",
                "The app that sent you here is not registered with this address.",
                "Go back to the app. If this happens again, tell its makers.",
                .none
            )
        case .signInNotNavigation:
            return RefusalWords(
                "Open this page once more",
                "Your browser fetched the sign-in before you opened it.",
                "Open it now.",
                .again
            )
        case .requireMaxAge:
            return RefusalWords(
                "Please sign in again",
                "This page needs a more recent sign-in than yours.",
                "Sign in again to go on.",
                .signIn
            )
        case .requireAAL:
            return RefusalWords(
                "A second factor is needed",
                "This page needs a stronger sign-in than yours.",
                "Sign in with an account that has a second factor, or ask the people who run this site.",
                .otherAccount
            )
        case .requireActor:
            return RefusalWords(
                "Only the user may open this page",
                "You act for the user of this account, and this page is closed to everybody else.",
                "Go on with another page, or let the user do it.",
                .start
            )
        case .requireGroups, .requireScopes, .requireOrigin:
            return RefusalWords(
                "You have no access to this page",
                "You are signed in, but this page is not open to your account.",
                "Ask the people who run this site for access, or sign in with another account.",
                .otherAccount
            )
        case .identityUnsafeValue, .identityTooLarge:
            return RefusalWords(
                "Your account cannot be used here",
                "Your account holds something that the app behind this page cannot take.",
                "Tell the people who run this site, with the reason below.",
                .none
            )
        case .handoffNotNavigation:
            return RefusalWords(
                "Open this link once more",
                "Your browser fetched this page before you opened it.",
                "Open it now.",
                .again
            )
        case .handoffUnconfirmed:
            return RefusalWords(
                "The link cannot sign you in any more",
                "It was open for more than a minute, or your browser did not keep its cookie.",
                "Open the link once more, from where you got it, or sign in.",
                .signIn
            )
        case .handoffAlreadySignedIn:
            return RefusalWords(
                "You are signed in already",
                "The link signs you in for another person, which is possible only where nobody is signed in.",
                "Sign out here, then open a new link from where you got this one.",
                .start
            )
        case .ruleDenied:
            return RefusalWords(
                "This is not allowed",
                "The rules of this site do not allow this sign-in.",
                "If you think that they should, ask the people who run this site.",
                .start
            )
        case .ticketExpired, .ticketQuarantined, .ticketReplayed, .ticketUnknown:
            return RefusalWords(
                "This sign-in cannot be completed",
                "It took too long, or its address was used before.",
                "Try again. If you have signed in already, you are not asked to do it once more.",
                .signInAgain
            )
        case .ticketOtherBrowser, .ticketOtherHost:
            return RefusalWords(
                "This sign-in cannot be completed",
                "It was begun in another browser, or is completed already, or your browser does not keep this site's cookies.",
                "Try again, and allow this site to keep cookies.",
                .signInAgain
            )
        case .ticketNoCookie:
            return RefusalWords(
                "The sign-in does not last",
                "You have signed in, but your browser came back without a sign-in.",
                "Allow this site to keep cookies, then open the page again that you want to see.",
                .none
            )
        case .ticketMalformed:
            return RefusalWords(
                "This address cannot be opened",
                "It belongs to a sign-in that is over.",
                "Open the page again that you want to see.",
                .start
            )
        case .ticketNotNavigation:
            return RefusalWords(
                "Open this page once more",
                "Your browser fetched the sign-in before you opened it.",
                "Open it now.",
                .again
            )
        case .storeUnavailable, .storeFull, .providerUnavailable:
            return RefusalWords(
                "Please try again in a moment",
                "Your sign-in cannot be checked at the moment; you have not been signed out.",
                "Wait a few seconds, then try again.",
                .again
            )
        case .gatewayOverloaded:
            return RefusalWords(
                "Please try again in a moment",
                "This site has too much to do at the moment.",
                "Wait a few seconds, then try again.",
                .again
            )
        case .upstreamUnreachable:
            return RefusalWords(
                "The app cannot be reached",
                "The app behind this page takes no connections at the moment.",
                "Wait a few seconds, then try again. If it stays like this, tell the people who run this site.",
                .again
            )
        case .upstreamTimeout:
            return RefusalWords(
                "The app takes too long",
                "The app behind this page has not answered in time.",
                "Wait a few seconds, then try again. If it stays like this, tell the people who run this site.",
                .again
            )
        case .upstreamReset, .upstreamMalformed:
            return RefusalWords(
                "The app did not answer",
                "The app behind this page gave no answer that can be shown.",
                "Wait a few seconds, then try again. If it stays like this, tell the people who run this site.",
                .again
            )
        default:
            return nil
        }
    }

    private static func row(_ status: Int) -> RefusalWords {
        switch status {
        case 401:
            RefusalWords(
                "Please sign in",
                "You are not signed in, or your session has ended.",
                "Sign in to go on.",
                .signIn
            )
        case 403:
            RefusalWords(
                "This is not allowed",
                "You may not do this here.",
                "If you think that you should, ask the people who run this site.",
                .start
            )
        case 404:
            RefusalWords(
                "Page not found",
                "There is nothing at this address.",
                "Check how it is written, or begin at the start page.",
                .start
            )
        case 405:
            RefusalWords(
                "This does not work here",
                "There is something at this address, but it cannot be used in this way.",
                "Go back, or begin at the start page.",
                .start
            )
        case 408:
            RefusalWords(
                "This took too long",
                "Your request did not arrive in time.",
                "Check your connection, then try again.",
                .again
            )
        case 413:
            RefusalWords(
                "This is too large",
                "You sent more than this page takes.",
                "Go back and send a smaller file or less text.",
                .none
            )
        case 414:
            RefusalWords(
                "This address is too long",
                "The address is longer than this site takes.",
                "Go back and enter less, or begin at the start page.",
                .start
            )
        case 429:
            RefusalWords(
                "Please wait a moment",
                "There were too many requests from here in a short time.",
                "Wait a minute, then try again.",
                .again
            )
        case 431:
            RefusalWords(
                "Your browser sent too much",
                "Your browser sent more cookies or other details than this site takes.",
                "Delete the cookies of this site in the settings of your browser, then try again.",
                .again
            )
        case 500...:
            RefusalWords(
                "Please try again in a moment",
                "This page cannot be shown at the moment.",
                "Wait a few seconds, then try again.",
                .again
            )
        default:
            RefusalWords(
                "This request was not understood",
                "Your browser, or something between it and this site, sent what cannot be read with certainty.",
                "Try again. If it happens again, use another browser or network.",
                .again
            )
        }
    }
}
