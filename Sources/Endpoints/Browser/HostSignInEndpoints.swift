import Settings
package import SignOn
import Vocabulary

/// One sign-in for all hosts. The sign-in page of a host without endpoints redirects to a host with endpoints, and the
/// browser returns with a ticket.
///
/// ```
/// B /.sallyport/login  ->  A /.sallyport/share  (->  A /.sallyport/login  ->  A /.sallyport/share)
///                      ->  B /.sallyport/ticket  ->  the page on B
/// ```
/// After a handoff on B, the browser calls `/.sallyport/adopt` on A, and A requests a ticket from B.
///
/// Only page loads and a posted sign-in form begin a step. A failure shows a page. After a handoff, the browser returns
/// to the app's page instead.
package struct HostSignInEndpoints: Sendable {
    let tickets: HostTickets
    let cookies: RequestCookies
    let share: HandoffShare?
    private let sessions: SessionService
    private let handoffParameter: String

    /// - Parameters:
    ///   - cookieName: The configured name of the session cookie.
    ///   - handoffParameter: The query parameter for transfer tokens. It is removed from every `return_to`.
    ///   - share: Signs the browser in at the sign-in host after a handoff on another host. `nil` to disable this.
    package init(
        _ tickets: HostTickets,
        sessions: SessionService,
        cookieName: String,
        handoffParameter: String,
        share: HandoffShare?
    ) {
        self.tickets = tickets
        self.sessions = sessions
        self.cookies = RequestCookies(name: cookieName)
        self.handoffParameter = handoffParameter
        self.share = share
    }

    /// Returns `endpoints` and these endpoints. On hosts whose users sign in elsewhere, the sign-in page redirects.
    /// Returns only `endpoints` if there are no such hosts.
    ///
    /// - Parameter leads: False if the provider's cookie is valid on every host. The sign-in page then does not
    ///   redirect.
    package func added(to endpoints: [Endpoint], leadingToSignIn leads: Bool = true) -> [Endpoint] {
        guard self.tickets.hosts.isShared else { return endpoints }
        guard leads else { return endpoints + self.own }
        let led = endpoints.map { endpoint in
            guard endpoint.path == SignInPath.path else { return endpoint }
            var led = endpoint
            if !led.methods.contains("POST") { led.methods.append("POST") }
            led.answer = { request in
                if let answer = self.leaveToSignIn(request) { return answer }
                guard endpoint.methods.contains(request.method) else {
                    return .problem(
                        .routeMethodNotAllowed,
                        requestID: request.requestID,
                        fields: [("allow", endpoint.methods.joined(separator: ", "))]
                    )
                }
                return await endpoint.answer(request)
            }
            return led
        }
        return led + self.own
    }

    private var own: [Endpoint] {
        var own = [
            Endpoint(
                path: TicketPath.share,
                methods: ["GET"],
                scope: self.share == nil ? .endpointHosts : .everyHost,
                outlivesClient: true,
                answer: self.issue
            ),
            Endpoint.everywhere(TicketPath.ticket, ["GET"], answer: self.use),
        ]
        if let share = self.share {
            own.append(Endpoint(path: TicketPath.adopt, methods: ["GET"]) { await self.adopt($0, share) })
        }
        return own
    }

    // MARK: The host that asks

    /// Redirects `/.sallyport/login` to the host where this host's users sign in, with a cookie for the nonce. `nil` if
    /// users sign in here. A posted password is ignored.
    private func leaveToSignIn(_ request: EndpointRequest) -> EndpointResponse? {
        guard let issuer = self.tickets.hosts.signInHost(of: request.authority) else { return nil }
        guard request.method != "HEAD" else { return .noContent() }
        let isForm = request.method == "POST"
        guard isForm || request.isPageLoad else { return self.refuse(.ticketNotNavigation, request) }
        let form = isForm ? try? BodyParameters(request, accepting: [.form]) : nil
        let values =
            isForm
            ? [form?.text(SignInPath.returnTo)].compactMap(\.self) : request.parameters(SignInPath.returnTo)
        let demand = SignInDemand(request.query)
        let returnTo = ReturnTo.page(values, of: request.origin, without: self.handoffParameter)
        guard isForm || demand.isAgain || !self.completed.isRepeating(request, at: self.sessions.clock.now()) else {
            return self.refuse(.signInRepeated, request, returnTo: returnTo, demanding: SignInDemand(isAgain: true))
        }
        let beginning = self.tickets.begin(
            on: request.authority,
            from: issuer.authority,
            returnTo: returnTo,
            demand: demand
        )
        return self.ask(issuer, beginning, request)
    }

    /// Redirects to the host that issues tickets, with the nonce's cookie.
    private func ask(
        _ issuer: SignInHosts.Host,
        _ beginning: HostTickets.Beginning,
        _ request: EndpointRequest
    ) -> EndpointResponse {
        .seeOther(
            issuer.origin + TicketPath.asking(beginning.id, beginning.request),
            fields: self.nonces.keep(
                beginning.kept,
                id: beginning.id,
                request,
                now: self.sessions.clock.now()
            ) { kept, id in
                self.tickets.nonce(kept, id: id, on: request.authority).map { nonce in
                    KeptCookies.Kept(begunAt: nonce.begunAt) { nil }
                }
            }
        )
    }

    private var completed: CompletedSignIns { CompletedSignIns(sessionCookie: self.cookies.name) }

    var nonces: KeptCookies {
        // Nonces are short, and a browser that restores its tabs may request many tickets at once.
        KeptCookies(sessionCookie: self.cookies.name, prefix: "ticket-", lifetime: TicketRequest.lifetime, most: 25)
    }

    // MARK: The host that is asked

    /// Answers `GET /.sallyport/share`: 303 with a ticket to the host that requests it, or to a sign-in page.
    @Sendable
    private func issue(_ request: EndpointRequest) async -> EndpointResponse {
        let requester = request.requester
        guard request.isPageLoad else { return self.refuse(.ticketNotNavigation, request) }
        guard let id = request.only("id"), let sealed = request.only("request"),
            let asked = self.tickets.request(sealed, id: id, issuer: request.authority),
            let audience = self.tickets.hosts.host(asked.host)
        else {
            self.tickets.recordRefusal(.ticketMalformed, for: requester)
            return self.refuse(.ticketMalformed, request)
        }
        // After a handoff on this host, the browser is signed in here. Without a ticket, it goes back to its page.
        let back = asked.back.map { EndpointResponse.seeOther(request.origin + $0) }
        let outcome: TicketIssue
        do throws(NotDone) {
            outcome = try await self.tickets.issue(asked, for: requester)
        } catch {
            if let back { return back }
            guard error.reason != .ticketThrottled else {
                return .problem(.ticketThrottled, requestID: request.requestID, retryAfter: error.retryAfter)
            }
            return self.refuse(error.reason, request)
        }
        switch outcome {
        case .issued(let ticket):
            let origin = asked.back == nil ? nil : (request: sealed, authority: request.authority)
            return .seeOther(audience.origin + TicketPath.presenting(ticket, id, returningTo: origin))
        case .expired:
            if let back { return back }
            return .seeOther(audience.origin + SignInPath.leading(to: "/".utf8, demanding: asked.demand))
        case .signInAt(let providers):
            if let back { return back }
            var demand = asked.demand
            demand.providers = providers
            let target = TicketPath.asking(id, sealed, isBack: true)
            return .seeOther(SignInPath.leading(to: target.utf8, demanding: demand))
        case .signIn(let reason):
            if let back { return back }
            // The user has just signed in here, but the browser sent no session.
            if reason != nil, request.only(TicketPath.isBack.name) == TicketPath.isBack.value {
                self.tickets.recordRefusal(.ticketNoCookie, for: requester)
                return self.refuse(.ticketNoCookie, request)
            }
            var demand = asked.demand
            if reason == nil { demand.isAgain = true }
            // This host may have more providers than the host that requests the ticket.
            if demand.providers.isEmpty, audience.providers.count > 1 || self.sessions.realms.areSeveral {
                demand.providers = audience.providers
            }
            let target = TicketPath.asking(id, sealed, isBack: true)
            return .seeOther(
                SignInPath.leading(to: target.utf8, demanding: demand),
                fields: self.cookies.clearing(for: reason, request),
                reason: reason
            )
        }
    }

    // MARK: The host that asked

    /// Answers `GET /.sallyport/ticket`: 303 to the wanted page, with a new session's cookie if the ticket starts one.
    @Sendable
    private func use(_ request: EndpointRequest) async -> EndpointResponse {
        guard request.isPageLoad else { return self.refuse(.ticketNotNavigation, request) }
        let requester = request.requester
        let id = request.only("id") ?? ""
        let back = self.back(request, id)
        guard let token = request.only("ticket"), let kept = self.nonces.kept(id, request),
            let nonce = self.tickets.nonce(kept, id: id, on: request.authority)
        else { return await self.useWithoutNonce(request, requester, back: back) }
        let cleared = self.nonces.clear(id, request)
        let returnTo = back ?? nonce.returnTo
        do throws(NotDone) {
            switch try await self.tickets.use(Secret(token), nonce, for: requester) {
            case .signedIn(let token, let session):
                let signedIn = self.cookies.signedIn(token, session, by: self.sessions, request)
                let noted = self.completed.note(request, at: self.sessions.clock.now())
                return .seeOther(returnTo, fields: signedIn + [noted] + cleared)
            case .sessionStays(let reason): return .seeOther(returnTo, fields: cleared, reason: reason)
            case .signInAgain:
                if back != nil { return .seeOther(returnTo, fields: cleared, reason: .ticketOtherUser) }
                let again = SignInPath.leading(to: nonce.returnTo.utf8, demanding: SignInDemand(isAgain: true))
                return .seeOther(again, fields: cleared, reason: .ticketOtherUser)
            }
        } catch {
            if back != nil { return .seeOther(returnTo, fields: cleared, reason: error.reason) }
            // In an outage the cookie stays, so that a repeated request completes the attempt.
            let cleared = error.isUnavailable ? [] : cleared
            return self.refuse(error.reason, request, returnTo: nonce.returnTo, fields: cleared)
        }
    }

    /// Answers a ticket without a nonce: the browser did not request the ticket, has used it, or lost the cookie. The
    /// ticket is not looked up.
    private func useWithoutNonce(
        _ request: EndpointRequest,
        _ requester: Requester,
        back: String?
    ) async -> EndpointResponse {
        self.tickets.recordRefusal(.ticketOtherBrowser, for: requester)
        if let back { return .seeOther(back, reason: .ticketOtherBrowser) }
        do {
            if try await self.tickets.hasSession(requester) { return .seeOther("/", reason: .ticketOtherBrowser) }
        } catch {
            return self.refuse(error.reason, request)
        }
        return self.refuse(.ticketOtherBrowser, request)
    }

    /// Returns the URL to which a browser from a handoff returns. `nil` for other browsers.
    private func back(_ request: EndpointRequest, _ id: String) -> String? {
        guard let authority = request.only("from"), let sealed = request.only("request"),
            let host = self.tickets.hosts.host(authority),
            let asked = self.tickets.request(sealed, id: id, issuer: authority), asked.host == request.authority
        else { return nil }
        return asked.back.map { host.origin + $0 }
    }

    /// Answers `GET /.sallyport/adopt` for a browser that a handoff signed in on another host. If the link is current
    /// and the browser has no session here, requests a ticket from the other host. Otherwise redirects back at once.
    private func adopt(_ request: EndpointRequest, _ share: HandoffShare) async -> EndpointResponse {
        guard request.isPageLoad else { return self.refuse(.ticketNotNavigation, request) }
        let now = self.sessions.clock.now()
        guard let authority = request.only("from"), let text = request.only("link"),
            let issuer = self.tickets.hosts.host(authority),
            let link = share.page(text, from: authority, on: request.authority, now: now)
        else {
            self.tickets.recordRefusal(.ticketMalformed, for: request.requester)
            return self.refuse(.ticketMalformed, request)
        }
        let requester = request.requester
        // A handoff on one host does not change the user of another host.
        let hasSession = (try? await self.tickets.hasSession(requester)) ?? true
        let isSignedIn = hasSession || requester.cookies.count > 1
        guard link.isCurrent, !isSignedIn else { return .seeOther(issuer.origin + link.page.target) }
        let beginning = self.tickets.begin(
            on: request.authority,
            from: authority,
            returnTo: "/",
            back: link.page.target
        )
        return self.ask(issuer, beginning, request)
    }

    // MARK: Refusals

    private func refuse(
        _ reason: Reason,
        _ request: EndpointRequest,
        returnTo: String = "/",
        demanding demand: SignInDemand = SignInDemand(),
        fields: [(name: String, value: String)] = []
    ) -> EndpointResponse {
        var response = EndpointResponse.problem(
            reason,
            requestID: request.requestID,
            // The URL may contain a ticket.
            fields: [("referrer-policy", "no-referrer")] + fields + self.cookies.clearing(for: reason, request)
        )
        response.signIn = SignInPath.leading(to: returnTo.utf8, demanding: demand)
        return response
    }
}
