/// The texts of pages. The raw values are their names in translations (`Texts/`). The texts may contain placeholders
/// such as `{host}`.
package enum PageText: String, CaseIterable, Sendable {
    case signInTitle = "sign_in.title"
    case signInHost = "sign_in.host"
    case signInIdentifier = "sign_in.identifier"
    case signInPassword = "sign_in.password"
    case signInShowPassword = "sign_in.show_password"
    case signInCapsLock = "sign_in.caps_lock"
    case signInStay = "sign_in.stay"
    case signInSubmit = "sign_in.submit"
    case signInContinue = "sign_in.continue"
    case signInProvider = "sign_in.provider"
    case signInLastUsed = "sign_in.last_used"
    case signInOr = "sign_in.or"
    case signInAway = "sign_in.away"
    case signInOther = "sign_in.other"

    case noticeRefused = "notice.refused"
    case noticeIncomplete = "notice.incomplete"
    case noticeNoIdentifier = "notice.no_identifier"
    case noticeThrottled = "notice.throttled"
    case noticeUnavailable = "notice.unavailable"
    case noticeCrossSite = "notice.cross_site"
    case noticeAgain = "notice.again"
    case noticeHandoff = "notice.handoff"
    case noticeEnded = "notice.ended"
    case noticeIdle = "notice.idle"
    case noticeIdleFor = "notice.idle_for"
    case noticeExpired = "notice.expired"
    case noticeExpiredAfter = "notice.expired_after"
    case noticeSignOutUncertain = "notice.sign_out_uncertain"

    case waitSeconds = "wait.seconds"
    case waitMinutes = "wait.minutes"

    case timeMinutes = "time.minutes"
    case timeHours = "time.hours"
    case timeDays = "time.days"

    case signedOutTitle = "signed_out.title"
    case signedOutText = "signed_out.text"
    case signedOutSignIn = "signed_out.sign_in"

    case signOutTitle = "sign_out.title"
    case signOutQuestion = "sign_out.question"
    case signOutSubmit = "sign_out.submit"
    case signOutStay = "sign_out.stay"

    case confirmTitle = "confirm.title"
    case confirmAccount = "confirm.account"
    case confirmOwn = "confirm.own"
    case confirmActor = "confirm.actor"
    case confirmSubmit = "confirm.submit"
    case confirmElsewhere = "confirm.elsewhere"

    case sessionsTitle = "sessions.title"
    case sessionsAdvice = "sessions.advice"
    case sessionsAdviceProvider = "sessions.advice_provider"
    case sessionsChangePassword = "sessions.change_password"
    case sessionsSignOutHere = "sessions.sign_out_here"
    case sessionsCurrent = "sessions.current"
    case sessionsSignOut = "sessions.sign_out"
    case sessionsSignOutNamed = "sessions.sign_out_named"
    case sessionsOthers = "sessions.others"
    case sessionsBrowser = "sessions.browser"
    case sessionsApp = "sessions.app"
    case sessionsTransfer = "sessions.transfer"
    case sessionsActor = "sessions.actor"
    case sessionsAddress = "sessions.address"
    case sessionsSeen = "sessions.seen"
    case sessionsHost = "sessions.host"
    case sessionsDevice = "sessions.device"
    case sessionsUnknownDevice = "sessions.unknown_device"

    case pageSupport = "page.support"
    case pageReason = "page.reason"
    case pageRequest = "page.request"
    case pageAccount = "page.account"

    case formPostTitle = "form_post.title"
    case formPostSubmit = "form_post.submit"

    case linkAgain = "link.again"
    case linkStart = "link.start"
    case linkClient = "link.client"
    case linkSignIn = "link.sign_in"
    case linkOtherAccount = "link.other_account"

    case refusalAsksApp = "refusal.asks_app"

    case formUncertain = "form.uncertain"
    case formCheckFirst = "form.check_first"
    case formNotSent = "form.not_sent"
    case formSendAgain = "form.send_again"
    case formSignIn = "form.sign_in"
}

/// The kinds of refusal pages. Each has three texts: `refusal.<topic>.title`, `.event` and `.advice`.
package enum RefusalTopic: String, CaseIterable, Sendable {
    case crossSite = "cross_site"
    case ambiguousAddress = "ambiguous_address"
    case sessionEnded = "session_ended"
    case networkChanged = "network_changed"
    case signInCancelled = "sign_in_cancelled"
    case interactionRequired = "interaction_required"
    case providerError = "provider_error"
    case invalidToken = "invalid_token"
    case stateMismatch = "state_mismatch"
    case notAllowed = "not_allowed"
    case insufficient
    case repeated
    case badLink = "bad_link"
    case requestUsed = "request_used"
    case flowEnded = "flow_ended"
    case prefetchedSignIn = "prefetched_sign_in"
    case tooOld = "too_old"
    case secondFactor = "second_factor"
    case onlyUser = "only_user"
    case noAccess = "no_access"
    case appsOnly = "apps_only"
    case unusableAccount = "unusable_account"
    case prefetchedLink = "prefetched_link"
    case unconfirmed
    case alreadySignedIn = "already_signed_in"
    case ruleDenied = "rule_denied"
    case tooManySessions = "too_many_sessions"
    case ticketUsed = "ticket_used"
    case otherBrowser = "other_browser"
    case noCookie = "no_cookie"
    case ticketMalformed = "ticket_malformed"
    case unchecked
    case overloaded
    case appUnreachable = "app_unreachable"
    case appSlow = "app_slow"
    case appBroken = "app_broken"
    case unauthenticated
    case forbidden
    case notFound = "not_found"
    case unknownHost = "unknown_host"
    case wrongMethod = "wrong_method"
    case slowRequest = "slow_request"
    case tooLarge = "too_large"
    case longAddress = "long_address"
    case tooMany = "too_many"
    case largeFields = "large_fields"
    case failed
    case notUnderstood = "not_understood"

    package enum Part: String, CaseIterable, Sendable {
        case title
        /// What happened, in one sentence.
        case event
        /// What the user can do.
        case advice
    }

    func key(_ part: Part) -> String { "refusal.\(self.rawValue).\(part.rawValue)" }
}
