package import Pages
package import Vocabulary

/// The text for a person about a refusal: what happened, what to do, and a link. The one table from reason to topic.
///
/// A reason without a row of its own gets the text of its status.
package struct RefusalWords: Sendable {
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

    package let topic: RefusalTopic
    package private(set) var way: Way
    /// For a form, what became of its data.
    private var form: (event: PageText, advice: PageText?)?
    private var asksApp = false

    /// - Parameters:
    ///   - isForm: Whether the request carried a form that the user filled in.
    ///   - asksApp: Whether the page asks the native app that shows it to sign the user in.
    package init(_ reason: Reason, isForm: Bool, asksApp: Bool = false) {
        self = Self.row(reason) ?? Self.row(reason.status)
        if asksApp {
            self.asksApp = true
            self.way = .signIn
        }
        if isForm { self.form = Self.form(reason, self.way) }
        if isForm, self.way == .again { self.way = .none }
    }

    private init(_ topic: RefusalTopic, _ way: Way) {
        self.topic = topic
        self.way = way
    }

    package func title(in language: PageLanguage) -> String { language.text(self.topic, .title) }

    /// What happened: one sentence; for a form, followed by one about its data.
    package func event(in language: PageLanguage) -> String {
        let event = language.text(self.topic, .event)
        return self.form.map { "\(event) \(language.text($0.event))" } ?? event
    }

    package func advice(in language: PageLanguage) -> String {
        if let advice = self.form?.advice { return language.text(advice) }
        return self.asksApp ? language.text(.refusalAsksApp) : language.text(self.topic, .advice)
    }

    private static func form(_ reason: Reason, _ way: Way) -> (event: PageText, advice: PageText?) {
        switch reason {
        case .upstreamTimeout, .upstreamReset, .upstreamMalformed: return (.formUncertain, .formCheckFirst)
        default: break
        }
        switch way {
        case .again: return (.formNotSent, .formSendAgain)
        case .signIn, .signInAgain: return (.formNotSent, .formSignIn)
        case .none, .start, .client, .otherAccount: return (.formNotSent, nil)
        }
    }

    private static func row(_ reason: Reason) -> RefusalWords? {
        switch reason {
        case .requestLineTooLong, .requestFieldsTooLarge, .requestBodyTooLarge, .requestTimeout, .routeNotFound,
            .routeMethodNotAllowed:
            // The text of their status suffices.
            return nil
        case .requestCrossSite:
            return RefusalWords(.crossSite, .start)
        case .pathAmbiguous, .pathBackslash, .pathBadEscape, .pathDotSegment, .pathDoubleEncoding, .pathEncodedSlash:
            return RefusalWords(.ambiguousAddress, .start)
        case .sessionUnknown, .credentialOtherKey, .sessionRenewalAmbiguous, .sessionUserGone, .sessionClientGone:
            return RefusalWords(.sessionEnded, .signIn)
        case .bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown:
            return RefusalWords(.networkChanged, .signIn)
        case .signInCancelled:
            return RefusalWords(.signInCancelled, .signInAgain)
        case .signInInteractionRequired:
            return RefusalWords(.interactionRequired, .signIn)
        case .signInProviderError:
            return RefusalWords(.providerError, .signInAgain)
        case .signInInvalidToken:
            return RefusalWords(.invalidToken, .signInAgain)
        case .signInStateMismatch:
            return RefusalWords(.stateMismatch, .signInAgain)
        case .signInNotAllowed:
            return RefusalWords(.notAllowed, .otherAccount)
        case .signInInsufficient:
            return RefusalWords(.insufficient, .signInAgain)
        case .signInRepeated:
            return RefusalWords(.repeated, .signInAgain)
        case .oauthInvalidClient, .oauthInvalidRedirect, .oauthInvalidRequest:
            return RefusalWords(.badLink, .none)
        case .oauthRequestUnknown:
            return RefusalWords(.requestUsed, .client)
        case .signInFlowExpired, .signInFlowUnknown:
            return RefusalWords(.flowEnded, .none)
        case .signInReturnToForbidden:
            return RefusalWords(.badLink, .none)
        case .signInNotNavigation:
            return RefusalWords(.prefetchedSignIn, .again)
        case .requireMaxAge:
            return RefusalWords(.tooOld, .signIn)
        case .requireAAL:
            return RefusalWords(.secondFactor, .otherAccount)
        case .requireActor:
            return RefusalWords(.onlyUser, .start)
        case .requireGroups, .requireScopes, .requireOrigin:
            return RefusalWords(.noAccess, .otherAccount)
        case .identityUnsafeValue, .identityTooLarge:
            return RefusalWords(.unusableAccount, .none)
        case .handoffNotNavigation:
            return RefusalWords(.prefetchedLink, .again)
        case .handoffUnconfirmed:
            return RefusalWords(.unconfirmed, .signIn)
        case .handoffAlreadySignedIn:
            return RefusalWords(.alreadySignedIn, .start)
        case .ruleDenied:
            return RefusalWords(.ruleDenied, .start)
        case .ticketExpired, .ticketQuarantined, .ticketReplayed, .ticketUnknown:
            return RefusalWords(.ticketUsed, .signInAgain)
        case .ticketOtherBrowser, .ticketOtherHost:
            return RefusalWords(.otherBrowser, .signInAgain)
        case .ticketNoCookie:
            return RefusalWords(.noCookie, .none)
        case .ticketMalformed:
            return RefusalWords(.ticketMalformed, .start)
        case .ticketNotNavigation:
            return RefusalWords(.prefetchedSignIn, .again)
        case .storeUnavailable, .storeFull, .providerUnavailable:
            return RefusalWords(.unchecked, .again)
        case .gatewayOverloaded:
            return RefusalWords(.overloaded, .again)
        case .upstreamUnreachable, .upstreamTLS:
            return RefusalWords(.appUnreachable, .again)
        case .upstreamTimeout:
            return RefusalWords(.appSlow, .again)
        case .upstreamReset, .upstreamMalformed:
            return RefusalWords(.appBroken, .again)
        default:
            return nil
        }
    }

    private static func row(_ status: Int) -> RefusalWords {
        switch status {
        case 401:
            RefusalWords(.unauthenticated, .signIn)
        case 403:
            RefusalWords(.forbidden, .start)
        case 404:
            RefusalWords(.notFound, .start)
        case 405:
            RefusalWords(.wrongMethod, .start)
        case 408:
            RefusalWords(.slowRequest, .again)
        case 413:
            RefusalWords(.tooLarge, .none)
        case 414:
            RefusalWords(.longAddress, .start)
        case 429:
            RefusalWords(.tooMany, .again)
        case 431:
            RefusalWords(.largeFields, .again)
        case 500...:
            RefusalWords(.failed, .again)
        default:
            RefusalWords(.notUnderstood, .again)
        }
    }
}
