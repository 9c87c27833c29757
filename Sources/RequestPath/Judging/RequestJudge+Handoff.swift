import AddressIntelligence
import Endpoints
import Sessions
import Settings
package import SignOn
import Vocabulary

/// The progress of trying the transfer tokens of one request: first the handoff cookie's token, then the query's.
final class HandoffTrial {
    /// The treatment of a token in the query.
    enum ParameterTreatment {
        case consume
        /// The user is asked to confirm first.
        case ask
        case refuse(Reason)
    }

    /// The route's web client. Its settings apply to the tokens.
    let client: ClientSettings
    /// The page of the gateway that the request is for. `nil` if it is for an app.
    let page: OutOfLine<EndpointCall>?
    /// The token in the query, or the token that was moved from the query into the attempt cookie.
    var parameter: HandoffParameter.Found?
    /// True if `parameter` was found in the attempt cookie.
    var isMoved = false
    /// The user's confirmation of the moved token, from the attempt cookie. `nil` if there is no confirmation.
    var confirmed: ConfirmedToken?
    /// The treatment of `parameter`. `nil` if `parameter` is `nil`.
    var treatment: ParameterTreatment?
    /// True while `parameter` is being tried. False while a handoff cookie is being tried.
    var triesParameter = false
    /// The values of the request's handoff cookies. All are cleared together.
    var cookieValues: [[UInt8]] = []
    /// The value of the cookie that marks handoff cookies as handled.
    var marks: [UInt8] = []
    /// The request to consume the token that is being tried.
    var request: OutOfLine<HandoffRequest>?
    /// The browser's session on this host. `nil` before the look-up. The inner `nil` means that there is no session.
    var existing: CachedSession??
    /// True if the latest look-up was for the provider's own cookie.
    var isProvidersAsked = false

    init(client: ClientSettings, parameter: HandoffParameter.Found?, page: OutOfLine<EndpointCall>?) {
        self.client = client
        self.page = page
        self.parameter = parameter
    }
}

/// Tries the transfer tokens: first the handoff cookie's token, then the query's. After a refused token, the request
/// continues or is redirected to its URL without the token, unless a rule denies the request.
extension RequestJudge {
    /// Begins with the first transfer token. Returns `nil` if the request continues without one.
    ///
    /// - Parameter page: The page of the gateway that the request is for. `nil` if it is for an app.
    mutating func beginHandoff(
        _ given: borrowing RoutedRequest,
        before page: OutOfLine<EndpointCall>? = nil
    ) -> JudgeAction? {
        let isPreview = Navigation.isPreview(given.head, given.base)
        let mayConsume = Navigation.mayConsume(given.head, given.base) && !isPreview
        // Other requests, such as HEAD and subresources, ignore transfer tokens.
        guard mayConsume || isPreview || Navigation.isSpeculative(given.head) else { return nil }
        if self.findings.asker.contains(.dropsRedirects) {
            // The proxy would drop the redirect that sets the session's cookie, and the token would be lost.
            return self.credentials.handoffParameter == nil ? nil : .answer(self.refusal(.handoffNotNavigation, given))
        }
        guard let client = given.client,
            client.isKnown(to: given.host.settings.providers)
        else { return nil }
        let trial = HandoffTrial(client: client, parameter: self.credentials.handoffParameter, page: page)
        // A cross-site navigation must not use a token that another navigation moved.
        if trial.parameter == nil, let token = self.credentials.movedToken, !given.isCrossSite {
            trial.parameter = HandoffParameter.Found(value: token)
            trial.isMoved = true
            trial.confirmed = self.credentials.confirmedToken?.copy(given.base)
        }
        let cookies = self.handoffCookies(trial, given)
        guard !cookies.isEmpty || trial.parameter != nil else { return nil }
        self.findings.stage = .handoff
        trial.treatment = Self.treatment(of: trial, given)
        guard mayConsume else {
            // Browsers repeat a refused prefetch when the user opens the page. A preview must not use up the user's
            // token.
            return .answer(self.refusal(.handoffNotNavigation, given))
        }
        guard let token = cookies.first else { return self.tryParameter(trial, given) }
        guard client.takes(.cookie), cookies.count == 1 else {
            let reason: Reason = client.takes(.cookie) ? .handoffRepeated : .handoffMethodNotAllowed
            let request = self.request(nil, .cookie, trial, given)
            self.findings.events.append(.turnedAway(reason, request))
            self.noteRefusal(reason, given)
            self.clearHandoffCookies(trial, given)
            return self.tryParameter(trial, given)
        }
        trial.request = OutOfLine(self.request(token, .cookie, trial, given))
        return self.prepare(trial, given)
    }

    /// Handles the token in the query. Returns `nil` if the query has no token.
    private mutating func tryParameter(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) -> JudgeAction? {
        guard let parameter = trial.parameter, let treatment = trial.treatment else { return nil }
        let reason: Reason
        switch treatment {
        case .consume:
            trial.triesParameter = true
            let transport = trial.confirmed?.transport ?? .query
            trial.request = OutOfLine(self.request(parameter.value, transport, trial, given))
            return self.prepare(trial, given)
        case .ask:
            let asked = self.request(parameter.value, .query, trial, given)
            let why: Reason? = given.isCrossSite ? .handoffCrossSite : nil
            if let answer = self.askToConfirm(asked, because: why, trial, given) { return .answer(answer) }
            reason = .handoffCrossSite
        case .refuse(let objection):
            reason = objection
        }
        let request = self.request(nil, .query, trial, given)
        self.findings.events.append(.turnedAway(reason, request))
        self.noteRefusal(reason, given)
        return .answer(self.withoutParameter(trial, reason, given))
    }

    /// Decides what happens to the token in the query. Returns `nil` if the query has no token.
    private static func treatment(
        of trial: HandoffTrial,
        _ given: borrowing RoutedRequest
    ) -> HandoffTrial.ParameterTreatment? {
        guard let parameter = trial.parameter else { return nil }
        if !trial.client.takes(trial.confirmed?.transport ?? .query) { return .refuse(.handoffMethodNotAllowed) }
        if parameter.isRepeated { return .refuse(.handoffRepeated) }
        // A moved token needs no confirmation, or the user has confirmed it.
        if trial.isMoved { return .consume }
        switch given.judging.confirmation.treatment(isCrossSite: given.isCrossSite) {
        case .consume: return .consume
        case .ask: return .ask
        case .refuse: return .refuse(.handoffCrossSite)
        }
    }

    /// Decodes a token from the query. Some apps percent-encode every character other than letters and digits.
    static func queryToken(_ value: Slice, _ base: Bytes) -> [UInt8] {
        let bytes = value.bytes(in: base)
        return bytes.contains(0x25) ? PercentCoding.leniently(bytes, plusIsSpace: false) : Array(bytes)
    }

    private func request(
        _ token: Slice?,
        _ transport: HandoffTransport,
        _ trial: HandoffTrial,
        _ given: borrowing RoutedRequest
    ) -> HandoffRequest {
        let userAgent = given.value(.userAgent).map { String(decoding: $0.prefix(512), as: UTF8.self) }
        let attempt = self.credentials.cookies.attempt.value.flatMap { AttemptSecret($0.bytes(in: given.base)) }
        var request = HandoffRequest(
            token: token.map { value in
                transport == .query ? Self.queryToken(value, given.base) : Array(value.bytes(in: given.base))
            } ?? [],
            transport: transport,
            authority: given.host.publicURL.authority,
            realms: given.host.realms,
            client: trial.client,
            device: DeviceFacts(address: self.address(given), asn: nil, userAgent: userAgent),
            existing: nil,
            attempt: attempt ?? AttemptSecret(),
            requestID: self.findings.requestID.text
        )
        request.certificate = self.findings.certificate
        request.isFirstAttempt = attempt == nil
        request.lastAccount = self.lastAccount(given)
        if trial.triesParameter { request.confirmationMark = trial.confirmed?.mark }
        return request
    }

    /// Looks up the session of the browser's cookie, then consumes the token.
    private mutating func prepare(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) -> JudgeAction {
        if let existing = trial.existing { return self.consume(trial, existing, given) }
        guard let cookie = self.credentials.cookies.session.value else { return self.askProvider(trial, given) }
        self.state = .existing(trial)
        return .ask(SessionQuestion(kind: .web, token: cookie, purpose: .handoff))
    }

    /// Looks up the session of the provider's own cookie, then consumes the token.
    private mutating func askProvider(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) -> JudgeAction {
        guard let cookie = self.credentials.cookies.provider.value else { return self.consume(trial, nil, given) }
        trial.isProvidersAsked = true
        self.state = .existing(trial)
        return .ask(SessionQuestion(kind: .web, isProviders: true, token: cookie, purpose: .handoff))
    }

    /// Continues after one of the browser's sessions was looked up.
    mutating func existingFound(_ answer: SessionAnswer, _ trial: HandoffTrial, _ given: borrowing RoutedRequest)
        -> JudgeAction
    {
        self.state = .ended
        if trial.isProvidersAsked {
            // Sessions of other providers, and sessions that need a second factor, are treated as no session.
            guard case .found(let existing) = answer, given.host.isFor(existing) else {
                return self.consume(trial, nil, given)
            }
            return self.consume(trial, existing, given)
        }
        // A session that this host does not accept is treated as no session.
        guard answer.isUsable(on: given.host), case .found(let existing) = answer else {
            return self.askProvider(trial, given)
        }
        return self.consume(trial, existing, given)
    }

    /// - Parameter existing: The browser's session on this host. `nil` if the browser has none.
    private mutating func consume(
        _ trial: HandoffTrial,
        _ existing: CachedSession?,
        _ given: borrowing RoutedRequest
    ) -> JudgeAction {
        guard var request = trial.request else { preconditionFailure("a handoff without a token") }
        if let existing {
            let binding = given.route.settings.enforcedBinding
            var consumed = request.value
            consumed.existing = (existing.key, existing.session)
            consumed.existingToken = existing.presentedToken
            consumed.mayKeepSession =
                Requirements.unmet(given.route.settings.require, existing.session, given.now) == nil
                && (binding == .none || self.bindingMismatch(binding, existing.session, given) == nil)
            request = OutOfLine(consumed)
        }
        trial.existing = .some(existing)
        trial.request = request
        self.state = .consuming(trial)
        return .consume(request)
    }

    /// Continues with the outcome of consuming a transfer token.
    package mutating func handoffEnded(_ judged: JudgedHandoff, _ given: JudgingContext) -> JudgeAction {
        defer { self.leaveRoute() }
        return self.onRoute(given) { $0.continueAfter(judged, $1) }
    }

    private mutating func continueAfter(_ judged: JudgedHandoff, _ given: borrowing RoutedRequest) -> JudgeAction {
        guard case .consuming(let trial) = self.state, let request = trial.request?.value else {
            preconditionFailure("a handoff ended that was not begun")
        }
        var outcome = judged.outcome
        if case .unconfirmed = outcome {
            if let answer = self.askAboutAccount(request, trial, given) { return .answer(answer) }
            self.findings.events.append(.turnedAway(.handoffOtherAccount, request))
            outcome = .refused(.handoffOtherAccount, endsExisting: false)
        }
        self.findings.handoff = outcome.act.result
        self.findings.binding = judged.binding
        let cookie = given.configuration.sessionCookie(of: given.host)
        var isSignedIn = false
        var hasCookieEnded = false
        switch outcome {
        case .unavailable(let error):
            self.state = .ended
            return .answer(self.postpone(trial, error, .storeUnavailable, given))
        case .signedIn(let token, let session, _):
            isSignedIn = true
            self.findings.note = nil
            self.findings.addLine(cookie.line(setting: token, maxAge: session.cookieAge(at: given.now)))
            if let mark = given.judging.handoff.accountMark(of: session) {
                let account = given.configuration.handoffCookies.account(given.host.settings.cookieReach)
                self.findings.addLine(account.line(setting: mark))
            }
        case .renewed(let token, let session, _):
            // This request continues with the old session token. It stays valid for a short time.
            self.findings.setsSession = true
            self.findings.addLine(cookie.line(setting: token, maxAge: session.cookieAge(at: given.now)))
        case .alreadySignedIn, .unconfirmed:
            break
        case .refused(let reason, let endsExisting):
            if endsExisting || (trial.existing ?? nil) == nil {
                self.noteRefusal(reason, given)
            } else {
                self.findings.note = reason
            }
            if endsExisting {
                hasCookieEnded = true
                self.findings.addLine("Set-Cookie", cookie.clearing())
            }
        case .denied(let reason, _):
            self.findings.note = reason
        }
        self.endTrial(trial, given)
        if case .denied(let reason, let text) = outcome {
            // The URL may contain the token, and must not reach other sites in `Referer`.
            let fields = [(name: "referrer-policy", value: "no-referrer")]
            return .answer(self.refusal(reason, explanation: text, given, fields: fields))
        }
        if isSignedIn, let answer = self.onwards(trial, given) { return .answer(answer) }
        if trial.triesParameter || isSignedIn {
            return .answer(self.withoutParameter(trial, self.findings.note, given))
        }
        // No redirect after a cookie's token: if the browser keeps the cookie, redirects would never end.
        if hasCookieEnded, trial.parameter != nil {
            // The cookie's token has ended the browser's session. The query's token is dropped, so that the user must
            // sign in.
            return .answer(self.withoutParameter(trial, self.findings.note, given))
        }
        if let action = self.tryParameter(trial, given) { return action }
        if let page = trial.page { return .collect(page) }
        return self.askForSession(given, hasCookieEnded: hasCookieEnded)
    }
}
