package import Pages
package import Vocabulary

/// The texts and the link that explain a refusal to a person, chosen by its reason or else by its status.
package struct RefusalWords: Sendable {
    /// The target of the page's link.
    package enum Way: Equatable, Sendable {
        case none
        /// The current URL, or a new sign-in after a failed one. Not used for a form, because a link does not send the
        /// form's data.
        case again
        case start
        case signIn
        /// The sign-in page again, after a failed sign-in.
        case signInAgain
        /// The page of the client that requested the sign-in. No link if the client has no page.
        case client
        /// Sign-in with another account that has access.
        case otherAccount
        /// The list of the user's sessions.
        case sessions
    }

    package let topic: RefusalTopic
    package private(set) var way: Way
    /// The texts about the data of a form. `nil` if the request carried no form.
    private var form: (event: PageText, advice: PageText?)?
    private var asksApp = false

    /// - Parameters:
    ///   - isForm: True if the request carried a form that the user filled in.
    ///   - asksApp: True if the page is shown in a native app and asks the app to sign the user in.
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

    /// Returns what happened. For a form, a second sentence says whether its data was sent.
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
        case .none, .start, .client, .otherAccount, .sessions: return (.formNotSent, nil)
        }
    }

    private static func row(_ reason: Reason) -> RefusalWords? {
        switch reason {
        case .requestLineTooLong, .requestFieldsTooLarge, .requestBodyTooLarge, .requestTimeout, .clientStalled,
            .routeNotFound, .routeMethodNotAllowed, .routeNotForwarded:
            // The text of the status suffices.
            nil
        case .requestCrossSite: RefusalWords(.crossSite, .start)
        case .requestMisdirected: RefusalWords(.notFound, .none)
        case .routeUnknownHost: RefusalWords(.unknownHost, .none)
        case .pathAmbiguous, .pathBackslash, .pathBadEscape, .pathDotSegment, .pathDoubleEncoding, .pathEncodedSlash:
            RefusalWords(.ambiguousAddress, .start)
        case .sessionUnknown, .credentialOtherKey, .sessionRenewalAmbiguous, .sessionUserGone, .sessionClientGone:
            RefusalWords(.sessionEnded, .signIn)
        case .sessionLimit: RefusalWords(.tooManySessions, .sessions)
        case .bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown: RefusalWords(.networkChanged, .signIn)
        case .signInCancelled: RefusalWords(.signInCancelled, .signInAgain)
        case .signInEnded: RefusalWords(.sessionEnded, .signInAgain)
        case .signInInteractionRequired: RefusalWords(.interactionRequired, .signIn)
        case .signInProviderError: RefusalWords(.providerError, .signInAgain)
        case .signInInvalidToken: RefusalWords(.invalidToken, .signInAgain)
        case .signInStateMismatch: RefusalWords(.stateMismatch, .signInAgain)
        case .signInBlocked, .signInNotAllowed: RefusalWords(.notAllowed, .otherAccount)
        case .signInInsufficient: RefusalWords(.insufficient, .signInAgain)
        case .signInRepeated: RefusalWords(.repeated, .signInAgain)
        case .oauthInvalidClient, .oauthInvalidRedirect, .oauthInvalidRequest: RefusalWords(.badLink, .none)
        case .oauthRequestUnknown: RefusalWords(.requestUsed, .client)
        case .signInFlowExpired, .signInFlowUnknown: RefusalWords(.flowEnded, .none)
        case .signInReturnToForbidden: RefusalWords(.badLink, .none)
        case .signInNotNavigation: RefusalWords(.prefetchedSignIn, .again)
        case .requireMaxAge: RefusalWords(.tooOld, .signIn)
        case .requireAAL: RefusalWords(.secondFactor, .otherAccount)
        case .requireActor: RefusalWords(.onlyUser, .start)
        case .requireProvider, .requireGroups: RefusalWords(.noAccess, .otherAccount)
        // Browser sessions cannot meet these requirements with any account.
        case .requireScopes, .requireOrigin: RefusalWords(.appsOnly, .start)
        case .identityUnsafeValue, .identityTooLarge: RefusalWords(.unusableAccount, .none)
        case .handoffNotNavigation: RefusalWords(.prefetchedLink, .again)
        case .handoffUnconfirmed: RefusalWords(.unconfirmed, .signIn)
        case .handoffAlreadySignedIn: RefusalWords(.alreadySignedIn, .start)
        case .ruleDenied: RefusalWords(.ruleDenied, .start)
        case .ticketExpired, .ticketQuarantined, .ticketReplayed, .ticketUnknown:
            RefusalWords(.ticketUsed, .signInAgain)
        case .ticketOtherBrowser, .ticketOtherHost: RefusalWords(.otherBrowser, .signInAgain)
        case .ticketNoCookie: RefusalWords(.noCookie, .none)
        case .ticketMalformed: RefusalWords(.ticketMalformed, .start)
        case .ticketNotNavigation: RefusalWords(.prefetchedSignIn, .again)
        case .storeUnavailable, .storeFull, .providerUnavailable: RefusalWords(.unchecked, .again)
        case .gatewayOverloaded: RefusalWords(.overloaded, .again)
        case .upstreamUnreachable, .upstreamTLS: RefusalWords(.appUnreachable, .again)
        case .upstreamTimeout: RefusalWords(.appSlow, .again)
        case .upstreamReset, .upstreamMalformed: RefusalWords(.appBroken, .again)
        default: nil
        }
    }

    private static func row(_ status: Int) -> RefusalWords {
        switch status {
        case 401: RefusalWords(.unauthenticated, .signIn)
        case 403: RefusalWords(.forbidden, .start)
        case 404: RefusalWords(.notFound, .start)
        case 405: RefusalWords(.wrongMethod, .start)
        case 408: RefusalWords(.slowRequest, .again)
        case 413: RefusalWords(.tooLarge, .none)
        case 414: RefusalWords(.longAddress, .start)
        case 429: RefusalWords(.tooMany, .again)
        case 431: RefusalWords(.largeFields, .again)
        case 500...: RefusalWords(.failed, .again)
        default: RefusalWords(.notUnderstood, .again)
        }
    }
}
