import Foundation
import GatewayBench
import OpenIDBench
import Vocabulary

/// The simplest way to produce a reason.
enum ReasonScenario {
    /// Sends a request to the gateway of `ReasonBench` and returns the answer; nil if there is none.
    case request((ReasonBench) throws -> Answer?)
    /// The same with a status that differs from the table's, because of the protocol or of a redirect.
    case answered(Int, (ReasonBench) throws -> Answer)
    /// Reasons that need their own gateway or store.
    case alone((ReasonAlone) throws -> Void)
    /// Reasons that the built binary produces only after a long time or in a race: the display name of a test in
    /// process that produces it, in a file that names the reason.
    case inProcess(String)
}

extension Reason {
    /// The compiler checks that every reason has a scenario.
    var scenario: ReasonScenario {
        switch self {
        case .requestMalformed: .request { try $0.raw("GET / HTTP/1.1\r\nHost : \(Request.host)\r\n\r\n") }
        case .requestFraming:
            .request {
                try $0.raw(Request.get("/", ["Content-Length: 1", "Transfer-Encoding: chunked"], method: "POST"))
            }
        case .requestHost: .request { try $0.raw("GET / HTTP/1.1\r\n\r\n") }
        case .requestTarget: .request { try $0.raw(Request.get("page")) }
        case .requestMethod: .request { try $0.raw(Request.get("/", method: "TRACE")) }
        case .requestProtocol: .inProcess("A tunnel for another protocol than WebSocket is not implemented")
        case .requestVersion: .request { try $0.raw("GET / HTTP/2.0\r\nHost: \(Request.host)\r\n\r\n") }
        case .requestLineTooLong: .request { try $0.gateway.get("/" + String(repeating: "a", count: 1100)) }
        case .requestFieldsTooLarge:
            .request { try $0.gateway.get("/", ["X-Long: " + String(repeating: "a", count: 5000)]) }
        case .requestBodyTooLarge:
            .request { try $0.raw(Request.post("/public/", body: String(repeating: "a", count: 1100))) }
        case .requestTimeout: .request { try $0.raw("GET / HTTP/1.1\r\nHost: ") }
        case .requestMisdirected: .inProcess("a host that the shown certificate does not cover is refused with 421")
        case .requestEarlyData: .request { try $0.raw(Request.get("/", ["Early-Data: 1"], method: "POST")) }
        case .requestExpectation: .request { try $0.gateway.get("/", ["Expect: wonders"]) }
        case .requestConnectionNamesIdentity: .request { try $0.gateway.get("/", ["Connection: X-Auth-Subject"]) }
        case .requestCrossSite:
            .request { try $0.raw(Request.post("/", try $0.cookie() + ["Sec-Fetch-Site: cross-site"], body: "")) }
        case .requestMediaType:
            .request { bench in
                let flow = try bench.gateway.get("/self-service/login/api").text.firstMatch(of: /flow=([^"]+)"/)
                return try bench.raw(
                    Request.post(
                        "/self-service/login?flow=\(flow?.1 ?? "")",
                        ["Content-Type: text/plain"],
                        body: "identifier=ada"
                    )
                )
            }
        case .requestParameters: .request { try $0.gateway.get("/sessions/whoami?tokenize_as=x") }

        case .pathAmbiguous: .request { try $0.gateway.get("/.sallyport/%6Cogin") }
        case .pathBackslash: .request { try $0.gateway.get("/a\\b") }
        case .pathBadEscape: .request { try $0.gateway.get("/%zz") }
        case .pathDotSegment: .request { try $0.gateway.get("/a/../b") }
        case .pathDoubleEncoding: .request { try $0.gateway.get("/%252e%252e/x") }
        case .pathEncodedSlash: .request { try $0.gateway.get("/a%2Fb") }
        case .routeNotFound: .request { try $0.gateway.get("/.sallyport/nowhere") }
        case .routeUnknownHost: .request { try $0.raw("GET / HTTP/1.1\r\nHost: nowhere.example.com\r\n\r\n") }
        case .routeMethodNotAllowed: .request { try $0.raw(Request.get("/get/", method: "PUT")) }

        case .routeNotForwarded: .inProcess("A route without an app is judged for proxies and forwarded for nobody")
        case .authorizationAddress: .inProcess("A check that does not describe one request is refused")
        case .authorizationMetadata: .inProcess("A check that does not describe one request is refused")
        case .authorizationDialect: .inProcess("Only the listener's own paths are answered")
        case .authorizationEndpoint: .inProcess("The gateway's own paths are not for the app")
        case .authorizationPeer: .inProcess("Only the named peers may ask")

        case .credentialMissing: .request { try $0.gateway.get("/") }
        case .credentialRepeated:
            .request { try $0.gateway.get("/", ["Authorization: Bearer a", "X-Session-Token: b"]) }
        case .credentialMalformed: .request { try $0.gateway.get("/", ["Authorization: Bearer x"]) }
        case .credentialAmbiguousCookie:
            .request { bench in
                let tokens = try [bench.gateway.browser(), bench.gateway.browser(.grace)]
                return try bench.gateway.get("/", ["Cookie: sallyport=\(tokens[0]); sallyport=\(tokens[1])"])
            }
        case .credentialOtherKey:
            .request { bench in
                let foreign = try ReasonBench()
                defer { foreign.stop() }
                return try bench.gateway.get("/", ["Authorization: Bearer \(try foreign.gateway.native())"])
            }
        case .credentialBoundToKey:
            .request { try $0.proven { token, _ in ["Authorization: Bearer \(token)"] }.answer }
        case .credentialBoundToCertificate:
            .inProcess(
                "A token that is bound to a certificate is good only on a connection with that certificate (RFC 8705 3)"
            )
        case .credentialNotBound: .request { try $0.proven(isBound: false).answer }
        case .proofInvalid:
            .request { try $0.proven { token, _ in ["Authorization: DPoP \(token)", "DPoP: x"] }.answer }
        case .proofMissing: .request { try $0.proven { token, _ in ["Authorization: DPoP \(token)"] }.answer }
        case .proofNonceNeeded: .request { try $0.proven(withNonce: false).answer }
        case .proofOtherKey: .request { try $0.proven(isOwn: false).answer }
        case .proofReplayed:
            .request { bench in
                let fields = try bench.proven().fields
                return try bench.gateway.get("/query/", fields)
            }
        case .sessionUnknown: .answered(400) { try $0.gateway.exchange(try $0.unknownToken()) }
        case .sessionForgotten:
            .request { try $0.gateway.get("/", ["Authorization: Bearer \(try $0.unknownToken())"]) }
        case .sessionIdle, .sessionExpired:
            .inProcess("An end by time is reported once, by the sweep or by the request that finds it")
        case .sessionSignedOut:
            .request { bench in
                _ = try bench.gateway.signOut(try bench.gateway.browser())
                return nil
            }
        case .sessionOperatorEnded:
            .request { bench in
                _ = try bench.gateway.browser()
                _ = try bench.gateway.operate("POST", "/subjects/user-1815/sign-out", token: OperatorTokens.all)
                return nil
            }
        case .sessionLimit: .inProcess("A sign-in beyond the limit is refused and leaves the other sessions")
        case .sessionProviderSignedOut:
            .inProcess("A sid ends the sessions that began with it, and no others of the subject")
        case .sessionOtherClient:
            .inProcess("a session of another client is refused, a session of this client is accepted")
        case .sessionOtherHost:
            .request { bench in
                let text = Request.get("/", try bench.cookie())
                return try bench.raw(text.replacing("Host: \(Request.host)", with: "Host: \(ReasonBench.otherHost)"))
            }
        case .sessionOtherProvider:
            .inProcess("Required: only a live session passes, and the reason depends on the credential")
        case .sessionProviderEnded: .inProcess("A refusal of the provider ends the lineage and deletes its tokens")
        case .sessionRenewalAmbiguous:
            .inProcess("A session whose tokens are lost asks for sign-in where the app needs them")
        case .sessionUserGone: .alone { try $0.user(replacing: "id: user-1815", with: "id: user-1816") }
        case .sessionClientGone:
            .inProcess("none of the tokens and codes of the former one count, wherever they are presented")
        case .sessionPasswordChanged:
            .alone { try $0.user(replacing: "JK3x34E88OjnlWzoh", with: "KK3x34E88OjnlWzoh") }
        case .sessionTokenReplaced:
            .request { bench in
                let first = try bench.gateway.browser()
                var token = first
                for _ in 0..<2 {
                    let fields = ["Cookie: sallyport=\(token)"]
                    let handoff = "/?session_transfer_token=\(try bench.gateway.transferToken())"
                    token = try bench.gateway.get(handoff, fields).sessionCookie ?? ""
                }
                return try bench.gateway.get("/", ["Cookie: sallyport=\(first)"])
            }
        case .sessionRevoked:
            .request { bench in
                let token = try bench.gateway.browser()
                let stream = try bench.gateway.connect()
                stream.send(Request.get("/stream", ["Cookie: sallyport=\(token)"]))
                _ = stream.receive(through: "data: 1")
                _ = try bench.gateway.signOut(token)
                _ = stream.receiveAll()
                return nil
            }

        case .credentialExpired, .credentialInvalidToken, .credentialOtherAudience: .inProcess("Each member is checked")
        case .logoutInvalidToken: .inProcess("A token that is not valid ends nothing; an outage is no refusal")
        case .logoutReplayed:
            .inProcess(
                "A sid that the provider uses again works for a new sign-in, and an old logout token does not end it"
            )
        case .codeMismatch: .request { try $0.redeem(try $0.code(), verifier: "x") }
        case .codeOtherClient: .request { try $0.redeem(try $0.code(), client: "other") }
        case .codeReplayed:
            .request { bench in
                let code = try bench.code()
                _ = try bench.redeem(code)
                return try bench.redeem(code)
            }
        case .codeUnknown: .request { try $0.redeem("x") }
        case .refreshOtherClient: .request { try $0.refresh(try $0.refreshToken(), client: "other") }
        case .refreshReplayed:
            .request { bench in
                let first = try bench.refreshToken()
                _ = try bench.refresh(try ReasonBench.refreshToken(in: try bench.refresh(first)))
                return try bench.refresh(first)
            }
        case .refreshUnconfirmed:
            .inProcess("A lost rotation signs nobody out; after confirm_within the app signs in again")
        case .refreshUnknown: .request { try $0.refresh("x") }
        case .refreshUserGone:
            .inProcess("a user whom the provider lost is 403 with Auth0's sentence, and nothing ends")
        case .socialRefused:
            .inProcess(
                "A refusal is invalid_grant, an outage 503 with Retry-After, and a client without the kit may not"
            )
        case .socialReplayed:
            .inProcess("Each kit signs in: tokens, an id_token, and an account named by provider and subject; once")
        case .ticketExpired: .inProcess("A ticket makes a session, keeps one, or is refused")
        case .ticketMalformed:
            .inProcess("Requests that no host made, or that were made for another, are refused with a page")
        case .ticketNoCookie: .inProcess("A browser that refuses cookies ends at a page after one round")
        case .ticketNotNavigation: .inProcess("HEAD, prefetches, previews and scripts issue and use nothing")
        case .ticketOtherBrowser:
            .inProcess("A ticket that another browser intercepts before it is used stays good for its own browser")
        case .ticketOtherHost: .inProcess("A ticket is good on its own host only")
        case .ticketOtherUser:
            .inProcess("A session of another user is not replaced silently: the user signs in first")
        case .ticketQuarantined: .inProcess("A ticket of a former primary of the store is not used")
        case .ticketReplayed:
            .inProcess("After a sign-out, a used ticket signs nobody in, not even with the nonce that belongs to it")
        case .ticketThrottled:
            .inProcess("One session gets a few tickets at once, then no more; nobody else is slowed down")
        case .ticketUnknown:
            .inProcess("A sign-in that took too long begins once more by itself; a ticket that is too old is a page")

        case .signInBlocked:
            .request { bench in
                let target = "/subjects/user-long/block"
                _ = try bench.gateway.operate("PUT", target, token: OperatorTokens.all)
                let answer = try bench.signIn("long", User.ada.password)
                _ = try bench.gateway.operate("DELETE", target, token: OperatorTokens.all)
                return answer
            }
        case .signInCancelled: .alone { try $0.signIn { $0.authorizationError = "access_denied" } }
        case .signInEnded: .alone { try $0.endedSignIn() }
        case .signInInsufficient: .alone { try $0.signIn(asking: "aal=aal2") }
        case .signInInteractionRequired: .alone { try $0.signIn { $0.authorizationError = "login_required" } }
        case .signInInvalidToken: .alone { try $0.signIn { $0.alterIDToken = { $0["aud"] = "another client" } } }
        case .signInNotAllowed: .alone { try $0.signIn(settings: "allow: {email_domains: [example.org]}") }
        case .signInNotNavigation: .alone { try $0.speculativeSignIn() }
        case .signInProviderError: .alone { try $0.signIn { $0.authorizationError = "invalid_scope" } }
        case .signInRepeated: .alone { try $0.repeatedSignIn() }
        case .signInStateMismatch: .alone { try $0.strangeSignIn() }
        case .signInFlowExpired: .inProcess("An expired flow is gone, and the answer names a new one")
        case .signInFlowUnknown:
            .request { bench in
                let fields = ["Content-Type: application/json"]
                return try bench.raw(Request.post("/self-service/login?flow=none", fields, body: "{}"))
            }
        case .signInIncomplete: .request { try $0.form("/.sallyport/login", "identifier=ada") }
        case .signInMalformed: .request { try $0.raw(Request.post("/self-service/login", body: "{}")) }
        case .signInRefused: .request { try $0.signIn("ada@example.com", "wrong") }
        case .signInReturnToForbidden:
            .request { try $0.gateway.get("/self-service/login/api?return_to=evil%3A%2F%2Fx") }
        case .exchangeUnknown:
            .request { try $0.gateway.get("/sessions/token-exchange?init_code=x&return_to_code=y") }
        case .exchangeNotSignedIn: .inProcess("A sign-in that failed ends in the messages of the flow, by 422")
        case .exchangeReplayed: .inProcess("Codes are exchanged once, and again for 30 seconds at the same address")
        case .exchangeThrottled: .inProcess("Exchanges that fail and flows with a code are limited for each address")
        case .clientExists:
            .request {
                try $0.gateway.operate(
                    "POST",
                    "/api/v2/clients",
                    token: OperatorTokens.all,
                    json: #"{"client_id": "web"}"#
                )
            }
        case .clientInvalid:
            .request { try $0.gateway.operate("PATCH", "/api/v2/clients/web", token: OperatorTokens.all, json: "[]") }
        case .clientUnknown:
            .request { try $0.gateway.operate("GET", "/api/v2/clients/nobody", token: OperatorTokens.all) }
        case .operatorScope:
            .request { try $0.gateway.operate("POST", "/subjects/x/sign-out", token: OperatorTokens.reader) }
        case .operatorThrottled: .inProcess("Whoever has no good token is slowed down, and nobody who has one")
        case .operatorUnknown: .request { try $0.gateway.operate("GET", "/sessions?subject=x", token: "x") }
        case .scimExists:
            .request { bench in
                let user = #"{"userName": "ada@example.com", "externalId": "user-scim"}"#
                func create() throws -> Answer {
                    try bench.gateway.operate("POST", "/scim/v2/Users", token: OperatorTokens.all, json: user)
                }
                _ = try create()
                return try create()
            }
        case .scimInvalid:
            .request { try $0.gateway.operate("POST", "/scim/v2/Users", token: OperatorTokens.all, json: "[]") }
        case .scimUnknown: .request { try $0.gateway.operate("GET", "/scim/v2/Users/x", token: OperatorTokens.all) }
        case .scimUnsupported: .request { try $0.gateway.operate("GET", "/scim/v2/Groups", token: OperatorTokens.all) }
        case .signInThrottled:
            .request { bench in
                let from = [ReasonBench.from("192.0.2.1")]
                for _ in 0..<10 { _ = try bench.signIn("throttled", "wrong", from) }
                return try bench.signIn("throttled", "wrong", from)
            }

        case .requireAAL: .request { try $0.asUser("/aal/") }
        case .requireProvider:
            .inProcess("Every requirement is judged, in the order of the settings")
        case .requireGroups: .request { try $0.asUser("/groups/") }
        case .requireScopes: .request { try $0.asUser("/scopes/") }
        case .requireOrigin: .request { try $0.asUser("/origin/") }
        case .requireActor:
            .request { bench in
                let signedIn = try bench.withToken(try bench.delegatedToken(), path: "/care/page")
                return try bench.gateway.get("/care/own/", ["Cookie: sallyport=\(signedIn.sessionCookie ?? "")"])
            }
        case .requireClientCertificate: .request { try $0.asUser("/certificate/") }
        case .requireMaxAge:
            .request { bench in
                let cookie = try bench.cookie()
                var answer = try bench.gateway.get("/age/", cookie)
                _ = eventually {
                    answer = (try? bench.gateway.get("/age/", cookie)) ?? answer
                    return answer.status != 200
                }
                return answer
            }
        case .bindingIPMismatch:
            .request { bench in
                let cookie = try bench.cookie(fields: [ReasonBench.from("10.0.0.1")])
                return try bench.gateway.get("/bound/", cookie + [ReasonBench.from("10.0.0.2")])
            }
        case .bindingASNMismatch:
            .request { bench in
                let cookie = try bench.cookie(fields: [ReasonBench.from("10.0.0.1")])
                return try bench.gateway.get("/network/", cookie + [ReasonBench.from("10.0.1.1")])
            }
        case .bindingASNUnknown:
            .request { bench in
                let cookie = try bench.cookie(fields: [ReasonBench.from("10.0.0.1")])
                return try bench.gateway.get("/network/", cookie + [ReasonBench.from("10.0.9.1")])
            }

        case .handoffUnknown:
            .answered(303) { bench in
                let token = try bench.gateway.transferToken()
                return try bench.withToken(String(token.prefix(58)) + (token.hasSuffix("A") ? "B" : "A"))
            }
        case .handoffExpired: .inProcess("every rule gives its verdict")
        case .handoffReplayed:
            .answered(303) { bench in
                let token = try bench.gateway.transferToken()
                _ = try bench.withToken(token)
                return try bench.withToken(token)
            }
        case .handoffBurned:
            .answered(303) { bench in
                let token = try bench.gateway.transferToken()
                _ = try bench.withToken(token, [ReasonBench.from("10.0.0.1")])
                return try bench.withToken(token)
            }
        case .handoffQuarantined: .alone { try $0.quarantined() }
        case .handoffMalformed: .answered(303) { try $0.withToken("x") }
        case .handoffRepeated: .answered(303) { try $0.withToken("x&session_transfer_token=y") }
        case .handoffMethodNotAllowed:
            .answered(401) { try $0.gateway.get("/query/", ["Cookie: session_transfer_token=x"]) }
        case .handoffNotNavigation: .request { try $0.withToken("x", ["Sec-Purpose: prefetch"]) }
        case .handoffOtherUser:
            .request { bench in
                let token = try bench.gateway.transferToken()
                let cookie = try bench.gateway.browser(.grace)
                return try bench.gateway.get("/", ["Cookie: sallyport=\(cookie); session_transfer_token=\(token)"])
            }
        case .handoffOtherHost:
            .answered(303) { bench in
                let native = try bench.gateway.native()
                return try bench.withToken(try bench.gateway.mint(native, audience: ReasonBench.otherHost))
            }
        case .handoffOtherOrganization: .inProcess("every rule gives its verdict")
        case .handoffCrossSite:
            .answered(303) { bench in
                let fields = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]
                return try bench.withToken("a.b", fields)
            }
        case .handoffOtherAccount:
            .alone { try $0.otherAccount() }
        case .handoffUnconfirmed: .request { try $0.gateway.get("/.sallyport/handoff") }
        case .handoffDelegationNotPermitted: .answered(303) { try $0.withToken(try $0.delegatedToken()) }
        case .handoffAlreadySignedIn:
            .request { try $0.withToken(try $0.delegatedToken(), try $0.cookie(), path: "/care/page") }
        case .handoffNotPermitted:
            .request { try $0.gateway.exchange(try $0.gateway.native(), client: "web") }
        case .handoffNested:
            .request { bench in
                let answer = try bench.withToken(try bench.gateway.transferToken())
                return try bench.gateway.exchange(answer.sessionCookie ?? "")
            }
        case .handoffThrottled:
            .request { bench in
                let native = try bench.gateway.native()
                for _ in 0..<10 { _ = try bench.gateway.mint(native) }
                return try bench.gateway.exchange(native)
            }

        case .ruleDenied:
            .request { try $0.withToken(try $0.gateway.transferToken(), ["User-Agent: denied"]) }
        case .ruleSignInRequired:
            .answered(303) { try $0.withToken(try $0.gateway.transferToken(), ["User-Agent: asked"]) }

        case .oauthInvalidClient: .request { try $0.gateway.exchange("x", client: "nobody") }
        case .oauthInvalidRequest: .request { try $0.tokenRequest("client_id=native") }
        case .oauthInvalidTarget:
            .request { try $0.gateway.exchange(try $0.gateway.native(), audience: "nowhere.example.com") }
        case .oauthInvalidRedirect:
            .request { try $0.gateway.get("/authorize?client_id=app&redirect_uri=https://evil.example.com") }
        case .oauthOtherUser:
            .inProcess("of another user: nobody else gets an answer, with prompt=none or after a sign-in")
        case .oauthRequestUnknown:
            .request {
                try $0.gateway.get("/authorize?client_id=app&request_uri=urn:ietf:params:oauth:request_uri:spq_x")
            }
        case .oauthThrottled:
            .inProcess("too many requests of one client from one address are 429 with Retry-After, and blame no token")
        case .oauthUnauthorizedClient: .request { try $0.gateway.exchange("x", client: "other") }
        case .oauthUnsupportedGrantType: .request { try $0.tokenRequest("client_id=native", "grant_type=password") }
        case .identityUnsafeValue:
            .request { bench in
                let token = try bench.signIn("broken", User.ada.password).sessionCookie ?? ""
                return try bench.gateway.get("/", ["Cookie: sallyport=\(token)"])
            }
        case .identityTooLarge:
            .request { bench in
                let token = try bench.signIn("long", User.ada.password).sessionCookie ?? ""
                return try bench.gateway.get("/", ["Cookie: sallyport=\(token)"])
            }

        case .storeUnavailable: .alone { try $0.storeUnavailable() }
        case .storeFull: .alone { try $0.storeFull() }
        case .providerUnavailable:
            .inProcess(
                "If there is no place for a password check, the limiter is not asked, so that a flood does not load it"
            )
        case .upstreamUnreachable: .request { try $0.gateway.get("/gone/") }
        case .upstreamTLS: .request { try $0.gateway.get("/plain/") }
        case .upstreamTimeout: .request { try $0.gateway.get("/public/silent") }
        case .upstreamReset: .request { try $0.gateway.get("/public/reset") }
        case .upstreamMalformed: .request { try $0.gateway.get("/public/garbage") }
        case .upstreamTruncated: .answered(200) { try $0.gateway.get("/public/truncated") }
        case .gatewayOverloaded:
            .request { bench in
                let busy = try bench.gateway.connect()
                busy.send(Request.get("/one/stream"))
                _ = busy.receive(through: "data: 1")
                return try withExtendedLifetime(busy) { try bench.gateway.get("/one/") }
            }
        case .clientStalled:
            .inProcess("A client that is cut because it is stalled gets an answer that closes its connection")
        case .gatewayDraining: .alone { try $0.draining() }
        case .clientGone:
            .request { bench in
                let wire = try bench.gateway.connect()
                let count = bench.app.requests.count
                wire.send(Request.get("/public/silent"))
                _ = eventually { bench.app.requests.count > count }
                wire.reset()
                return nil
            }
        }
    }
}
