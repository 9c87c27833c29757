import Cryptography
import NIOCore
import Sessions
import Settings
package import SignOn
import Vocabulary

/// The page where a user confirms a sign-in by link. Every host has this page.
///
/// A page redirects here if the user has to confirm the token in its request. The token is then sealed in a cookie. The
/// answer to the confirming POST moves the token into the attempt cookie and redirects to the page. The page's route
/// then consumes the token.
package struct HandoffEndpoint: Sendable {
    private let handoff: HandoffConsumer
    private let confirmation: HandoffConfirmation
    private let sessions: SessionService
    private let clients: ClientRegistry
    private let requestCookies: RequestCookies
    private let cookies: HandoffCookies

    /// - Parameter cookieName: The configured name of the session cookie.
    package init(
        handoff: HandoffConsumer,
        confirmation: HandoffConfirmation,
        sessions: SessionService,
        clients: ClientRegistry,
        cookieName: String,
        cookies: HandoffCookies
    ) {
        self.handoff = handoff
        self.confirmation = confirmation
        self.sessions = sessions
        self.clients = clients
        self.requestCookies = RequestCookies(name: cookieName)
        self.cookies = cookies
    }

    package var endpoints: [Endpoint] {
        [
            .everywhere(HandoffPath.path, ["GET", "HEAD", "POST"]) {
                $0.method == "POST" ? await self.confirm($0) : await self.ask($0)
            }
        ]
    }

    /// Answers `GET /.sallyport/handoff` with the confirmation page. If there is nothing to confirm, redirects to the
    /// wanted page.
    private func ask(_ request: EndpointRequest) async -> EndpointResponse {
        guard request.method != "HEAD" else { return .noContent() }
        guard request.isTopLevelPageLoad else { return .problem(.handoffNotNavigation, requestID: request.requestID) }
        let requester = request.requester
        guard let pending = self.pending(request) else { return await self.expired(request, requester) }
        guard let client = self.clients.snapshot.client(pending.clientID) else { return self.leave(pending, request) }
        var handoff = HandoffRequest(
            token: pending.token.bytes,
            transport: pending.transport,
            authority: request.authority,
            realms: self.sessions.realms,
            client: client,
            device: DeviceFacts(address: request.address, asn: nil, userAgent: requester.userAgent),
            existing: nil,
            attempt: pending.attempt,
            requestID: request.requestID
        )
        handoff.certificate = requester.certificate
        // The link may come from another site, and no other site may sign a user out.
        handoff.endsOtherUser = false
        let preview: HandoffPreview
        do throws(NotDone) {
            if let present = try await SessionService.ifAny(try await self.sessions.browser(requester)) {
                handoff.existing = (present.key, present.session)
                handoff.existingToken = present.token
            }
            preview = try await self.preview(handoff)
        } catch {
            return .problem(error.reason, requestID: request.requestID)
        }
        switch preview {
        case .asks(let session):
            return Page.confirmHandoff(
                request,
                account: AccountText.of(session.identity),
                actor: session.actor,
                proof: pending.proof,
                elsewhere: request.origin + pending.target
            )
        case .ended(.signedIn(let token, let session, _)):
            // The user confirmed the sign-in before, but the answer was lost.
            let signedIn = self.requestCookies.signedIn(token, session, by: self.sessions, request)
            return self.leave(pending, request, fields: signedIn)
        case .ended(.renewed(let token, let session, _)):
            let age = session.cookieAge(at: self.sessions.clock.now())
            let renewed = self.requestCookies.cookie(request).setting(token, maxAge: age)
            return self.leave(pending, request, fields: [("set-cookie", renewed)])
        case .ended(.alreadySignedIn), .ended(.unconfirmed): return self.leave(pending, request)
        case .ended(.denied(let reason, let text)):
            return .problem(
                reason,
                explanation: text,
                requestID: request.requestID,
                fields: [("set-cookie", self.cookies.pending(request.cookieReach).clearing())]
            )
        case .ended(.refused(let reason, _)):
            let notice = self.requestCookies.notice(request).setting(SignInNotice.handoff.value)
            return self.leave(pending, request, fields: [("set-cookie", notice)], reason: reason)
        case .ended(.unavailable(let error)):
            return .problem(NotDone(asking: error).reason, requestID: request.requestID)
        }
    }

    private func preview(_ handoff: HandoffRequest) async throws(NotDone) -> HandoffPreview {
        do {
            return try await self.sessions.loops.ask(self.handoff) { $0.preview(handoff, on: $1) }
        } catch {
            throw NotDone(asking: error)
        }
    }

    /// Answers `POST /.sallyport/handoff`: 303 to the wanted page, whose route consumes the token. The cookie with the
    /// token stays until it expires, so that a second click works as well.
    private func confirm(_ request: EndpointRequest) async -> EndpointResponse {
        let requester = request.requester
        guard SameOrigin.isProven(request) else {
            await self.sessions.recordDenial(.requestCrossSite, for: requester)
            return .problem(.requestCrossSite, requestID: request.requestID)
        }
        guard let pending = self.pending(request) else { return await self.expired(request, requester) }
        let form = try? BodyParameters(request, accepting: [.form])
        let proof = form?.text(Page.handoffProof).map { Array($0.utf8) } ?? []
        // Another tab may have replaced the link that this form asks about. The page then asks about the new link.
        guard constantTimeEqual(proof, pending.proof.bytes) else { return .seeOther(HandoffPath.path) }
        let confirmed = self.handoff.confirmed(pending, on: request.authority)
        let value = AttemptCookie.value(pending.attempt, moving: pending.token.bytes, confirmed: confirmed)
        let moved = self.cookies.attempt(request.cookieReach).setting(value)
        return .seeOther(request.origin + pending.target, fields: [("set-cookie", moved)])
    }

    private func pending(_ request: EndpointRequest) -> PendingHandoff? {
        request.credentials.companion(SessionSettings.pendingCookieLabel).flatMap {
            self.confirmation.open($0, on: request.authority, now: self.sessions.clock.now())
        }
    }

    /// Answers if no sign-in awaits confirmation. A signed-in browser, e.g. after going back, is redirected to `/`.
    private func expired(_ request: EndpointRequest, _ requester: Requester) async -> EndpointResponse {
        let present = (try? await self.sessions.presented(by: requester)) ?? []
        return present.isEmpty
            ? .problem(.handoffUnconfirmed, requestID: request.requestID) : .seeOther("/")
    }

    /// Redirects to the wanted page without the token.
    private func leave(
        _ pending: PendingHandoff,
        _ request: EndpointRequest,
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        let cleared = ("set-cookie", self.cookies.pending(request.cookieReach).clearing())
        return .seeOther(request.origin + pending.target, fields: [cleared] + fields, reason: reason)
    }
}
