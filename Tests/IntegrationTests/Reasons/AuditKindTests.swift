import Foundation
import GatewayBench
import Observability
import SocialBench
import TestSupport
import Testing
import Vocabulary

/// Every kind of audit event and every Auth0 code is produced by a test.
@Suite("Kinds of audit events", .blocking) struct AuditKindTests {
    /// The simplest way to produce a kind.
    private enum Scenario {
        /// An action on the gateway of `ReasonBench`, and the codes with which its output then has the kind.
        case act([AuditEvent.Code?], (ReasonBench) throws -> Void)
        /// Kinds that need a group of servers: the display name of a test with such a group, in a file that names the
        /// kind.
        case elsewhere(String)
    }

    /// The compiler checks that every kind has a scenario.
    private static func scenario(_ kind: AuditEvent.Kind) -> Scenario {
        switch kind {
        case .sessionCreated:
            .act([.signedIn, .silentlySignedIn]) { bench in
                _ = try bench.gateway.browser()
                _ = try bench.gateway.native()
            }
        case .signInFailed:
            .act([.signInFailed, .silentSignInFailed]) { bench in
                _ = try bench.signIn("ada@example.com", "wrong")
                let flow = try bench.gateway.get("/self-service/login/api").text.firstMatch(of: /flow=([^"]+)"/)
                _ = try bench.raw(
                    Request.post(
                        "/self-service/login?flow=\(flow?.1 ?? "")",
                        ["Content-Type: application/json"],
                        body: #"{"method":"password","identifier":"ada@example.com","password":"wrong"}"#
                    )
                )
            }
        case .authorizationGranted, .authorizationRefused:
            .act(
                kind == .authorizationGranted
                    ? [.silentlySignedIn, .delegatedSilentlySignedIn]
                    : [.silentSignInFailed, .delegatedSilentSignInFailed]
            ) { bench in
                let signedIn = try bench.withToken(try bench.delegatedToken(), path: "/care/page")
                let acting = ["Cookie: sallyport=\(signedIn.sessionCookie ?? "")"]
                if kind == .authorizationGranted {
                    _ = try bench.code()
                    _ = try bench.authorize("care", "https://care.example/cb", acting)
                } else {
                    _ = try bench.authorize("app&prompt=none", "myapp://auth/callback", [])
                    _ = try bench.authorize("app", "myapp://auth/callback", acting)
                }
            }
        case .sessionCascaded:
            .act([nil]) { bench in
                let native = try bench.gateway.native()
                _ = try bench.withToken(try bench.gateway.mint(native))
                _ = try bench.gateway.request(
                    Request.get(
                        "/self-service/logout/api",
                        ["Content-Type: application/json"],
                        method: "DELETE",
                        body: #"{"session_token":"\#(native)"}"#
                    )
                )
            }
        case .sessionEnded: .act([.loggedOut]) { _ = try $0.gateway.signOut(try $0.gateway.browser()) }
        case .hostTicketIssued, .hostTicketRefused:
            .elsewhere("After a sign-out, a used ticket signs nobody in, not even with the nonce that belongs to it")
        case .hostTicketUsed:
            .elsewhere("A host without endpoints leads to the one with them; after the sign-in its own session begins")
        case .sessionRenewalFailed: .elsewhere("A lost answer is repeated once, and then the tokens are lost")
        case .sessionTraitsChanged:
            .elsewhere(
                "New claims are in the next access token, in the web sessions, and in one line of the audit stream"
            )
        case .sessionDenied:
            .act([.warning]) {
                _ = try $0.raw(Request.post("/", try $0.cookie() + ["Sec-Fetch-Site: cross-site"], body: ""))
            }
        case .bindingMismatch:
            .act([.warning]) { bench in
                let cookie = try bench.cookie(fields: [ReasonBench.from("10.0.0.1")])
                _ = try bench.gateway.get("/bound/", cookie + [ReasonBench.from("10.0.0.2")])
            }
        case .tokenIssued:
            .act([.codeRedeemed, .minted, .exchanged, .socialExchanged, .delegatedCodeRedeemed]) { bench in
                _ = try bench.redeemDelegated(try bench.delegatedCode())
                _ = try bench.tokenRequest(
                    "grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
                    "client_id=app",
                    "subject_token=\(String(decoding: bench.social.network.googleToken().bytes, as: UTF8.self))",
                    "subject_token_type=http://auth0.com/oauth/token-type/google-id-token"
                )
                _ = try bench.refresh(try bench.refreshToken())
                _ = try bench.tokenRequest(
                    "grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
                    "client_id=native",
                    "subject_token=\(try bench.gateway.native())",
                    "subject_token_type=urn:sallyport:params:oauth:token-type:session_token"
                )
            }
        case .tokenRefused:
            .act([.codeRefused, .mintFailed, .exchangeFailed, .socialRefused, .delegatedCodeRefused]) { bench in
                let other = String(repeating: "a", count: 43)
                _ = try bench.redeemDelegated(try bench.delegatedCode(), verifier: other)
                _ = try bench.tokenRequest(
                    "grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
                    "client_id=app",
                    "subject_token=x",
                    "subject_token_type=http://auth0.com/oauth/token-type/google-id-token"
                )
                _ = try bench.redeem("x")
                _ = try bench.refresh("x")
                _ = try bench.tokenRequest(
                    "grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
                    "client_id=native",
                    "subject_token=x",
                    "subject_token_type=urn:sallyport:params:oauth:token-type:session_token"
                )
            }
        case .tokenRevoked:
            .act([.refreshTokenRevoked]) {
                _ = try $0.form("/oauth/revoke", "client_id=app&token=\(try $0.refreshToken())")
            }
        case .codeReplayed:
            .act([.codeRefused]) { bench in
                let code = try bench.code()
                for _ in 0..<2 { _ = try bench.redeem(code) }
            }
        case .refreshTokenReplayed:
            .act([.mintFailed]) { bench in
                let first = try bench.refreshToken()
                _ = try bench.refresh(try ReasonBench.refreshToken(in: try bench.refresh(first)))
                _ = try bench.refresh(first)
            }
        case .ruleDryRun:
            .act([nil]) { _ = try $0.withToken(try $0.gateway.transferToken(), ["User-Agent: tried"]) }
        case .transferTokenMinted: .act([.minted]) { _ = try $0.gateway.transferToken() }
        case .transferTokenMintRefused:
            .act([.mintFailed]) { _ = try $0.gateway.exchange(try $0.gateway.native(), client: "web") }
        case .transferTokenAsked:
            .act([nil]) { bench in
                let link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
                _ = try bench.gateway.get("/?session_transfer_token=\(try bench.gateway.transferToken())", link)
            }
        case .transferTokenConsumed:
            .act([.signedIn, .silentlySignedIn, .delegatedSignedIn]) { bench in
                _ = try bench.withToken(try bench.delegatedToken(), path: "/care/page")
                _ = try bench.withToken(try bench.gateway.transferToken())
                _ = try bench.withToken(try bench.gateway.transferToken(), try bench.cookie())
            }
        case .transferTokenRejected: .act([.warning]) { _ = try $0.withToken("x") }
        case .transferTokenRepeated:
            .act([nil]) { bench in
                // The browser's session stays, so the token can lead to it again.
                let cookie = try bench.cookie()
                let token = try bench.gateway.transferToken()
                for _ in 0..<2 { _ = try bench.withToken(token, cookie) }
            }
        case .transferTokenReplayed:
            .act([.warning]) { bench in
                let token = try bench.gateway.transferToken()
                for _ in 0..<2 { _ = try bench.withToken(token) }
            }
        case .clientLogoutFailed:
            .elsewhere("A client that refuses a logout token is not tried again, and the audit stream names it")
        case .clientChanged:
            .act([nil]) {
                let name = #"{"name": "Shop"}"#
                _ = try $0.gateway.operate("PATCH", "/api/v2/clients/web", token: OperatorTokens.all, json: name)
            }
        case .operatorActed:
            .act([nil]) { _ = try $0.gateway.operate("GET", "/sessions?subject=x", token: OperatorTokens.all) }
        case .operatorRefused: .act([nil]) { _ = try $0.gateway.operate("GET", "/sessions?subject=x", token: nil) }
        case .configReloaded: .act([nil]) { try $0.gateway.reload($0.settings) }
        case .configReloadFailed: .act([nil]) { try $0.gateway.reload("nonsense: 1\n") }
        case .storePrimaryChanged:
            .elsewhere(
                "if Redis goes away and comes back empty, the gateway is not ready, then ready, and logs and audits the change"
            )
        case .storeWritesRefused, .storeWritesTaken:
            .elsewhere(
                "Sessions are served; sign-in and handoff get 503 and burn nothing; readiness and one audit event report it"
            )
        case .storeCutOff, .storeRejoined:
            .elsewhere("A gateway that reaches only the old primary soon stops serving sessions")
        }
    }

    @Test("Kinds that one gateway produces are recorded with each of their codes")
    func acts() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        var seen: Set<AuditEvent.Code> = []
        for kind in AuditEvent.Kind.allCases {
            guard case .act(let codes, let act) = Self.scenario(kind) else { continue }
            func count(_ code: AuditEvent.Code?) -> Int {
                let text = "\"event\":\"\(kind.rawValue)\"" + (code.map { ",\"code\":\"\($0.rawValue)\"" } ?? "")
                return bench.gateway.output.components(separatedBy: text).count - 1
            }
            let before = codes.map(count)
            try act(bench)
            for (code, before) in zip(codes, before) {
                #expect(eventually { count(code) > before }, "\(kind.rawValue) with \(code?.rawValue ?? "no code")")
            }
            seen.formUnion(codes.compactMap(\.self))
        }
        #expect(seen == Set(AuditEvent.Code.allCases))
        try Self.expectExplained(bench.gateway.output)
    }

    /// Expects that the guide names every member of these lines of the audit stream, and each event with its codes.
    private static func expectExplained(_ output: String) throws {
        let rows = try Documents.text("AuditEvents").split(separator: "\n").filter { $0.hasPrefix("| `") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        let names = Set(rows.flatMap { $0[0].split(separator: "`").map(String.init) })
        let lines = output.split(separator: "\n").filter { $0.hasPrefix(#"{"stream":"audit""#) && $0.hasSuffix("}") }
        #expect(lines.count > 50)
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let members = try #require(object as? [String: Any])
            let details = members["details"] as? [String: Any] ?? [:]
            for name in Array(members.keys) + Array(details.keys) {
                #expect(names.contains(name), "\(name) in \(line)")
            }
            let event = members["event"] as? String ?? ""
            let row = try #require(rows.first { $0[0] == "`\(event)`" }, "\(event)")
            let codes = try #require(row.last)
            let isTold =
                (members["code"] as? String).map { codes.contains("`\($0)`") }
                ?? (codes == "–" || codes.contains("none"))
            #expect(isTold, "\(line)")
        }
    }

    @Test("Kinds that need a group of Redis servers are recorded in the named tests")
    func elsewhere() throws {
        for kind in AuditEvent.Kind.allCases {
            guard case .elsewhere(let test) = Self.scenario(kind) else { continue }
            #expect(try TestSources.file(with: test)?.contains(kind.rawValue) == true, "\(kind.rawValue): \(test)")
        }
    }
}
