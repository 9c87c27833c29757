import Foundation
import GatewayBench
import ProofBench
import SocialBench
import Testing

/// A gateway and an app with which one or two requests produce most reasons.
final class ReasonBench {
    let gateway: Gateway
    let app: FakeUpstream
    /// An app that speaks no TLS where the settings say https.
    let plain: FakeUpstream
    let social: SocialServer
    /// The settings with which the gateway was started.
    let settings: String
    /// The name of the second host, which has no endpoints.
    static let otherHost = "other.example.com"
    /// The routes of the first host, each with its requirements.
    private static let routes = """
          - {path: /**, client: web}
          - {path: /query/**, client: query}
          - {path: /care/**, client: care}
          - {path: /care/own/**, client: care, require: {actor: none}}
          - {path: /public/**, auth: public}
          - {path: /get/**, auth: public, methods: [GET]}
          - {path: /bound/**, binding: ip}
          - {path: /network/**, binding: asn}
          - {path: /aal/**, require: {aal: aal3}}
          - {path: /groups/**, require: {groups_any: [nobody]}}
          - {path: /certificate/**, require: {client_certificate: {san_any: [build.example.com]}}}
          - {path: /scopes/**, require: {scopes: [none]}}
          - {path: /origin/**, require: {origin: [transfer]}}
          - {path: /age/**, require: {max_age: 1s}}
          - {path: /gone/**, auth: public, upstream: gone}
          - {path: /plain/**, auth: public, upstream: plain}
          - {path: /one/**, auth: public, upstream: one}
        """
    /// Users with traits that no field can carry. They have Ada's password.
    private static let oddUsers = """
          - identifier: broken
            id: user-broken
            password_hash: "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:JK3x34E88OjnlWzoh-3vk39XLGOeBZZqn8v12YBrhP8"
            traits: {email: "a\\nb"}
          - identifier: long
            id: user-long
            password_hash: "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:JK3x34E88OjnlWzoh-3vk39XLGOeBZZqn8v12YBrhP8"
            traits: {email: "\(String(repeating: "a", count: 2000))"}
        """

    init() throws {
        self.app = try FakeUpstream(serve: Self.serve)
        self.plain = try FakeUpstream { link in
            _ = link.wire.receive()
            link.send("HTTP/1.1 400 Bad Request\r\n\r\n")
            _ = link.wire.receive()
        }
        self.social = try SocialServer()
        self.settings = """
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0, tokens_file: operator-tokens, scim: {match: {externalId: sub}}}
            trusted_proxies: [127.0.0.1/32]
            upstream: http://127.0.0.1:\(self.app.port)
            upstreams:
              gone: {url: "http://127.0.0.1:\(try ServerPorts.take())"}
              plain: {url: "https://127.0.0.1:\(self.plain.port)"}
              one: {url: "http://127.0.0.1:\(self.app.port)", max_connections: 1, max_queue: 0}
            session: {cookie: sallyport}
            hosts:
              - public_url: \(Request.origin)
                endpoints: true
                routes:
            \(Self.indented(Self.routes, by: 4))
              - public_url: http://\(Self.otherHost)
                routes: [{path: /**}]
            clients:
            \(Config.clients())
              - client_id: query
                session_transfer: {allowed_authentication_methods: [query]}
              - client_id: care
                callbacks: ["https://care.example/cb"]
                session_transfer: {allowed_authentication_methods: [query], delegation: {allow_delegated_access: true}}
              - client_id: desk
                client_secret_file: desk-secret
                session_transfer: {can_create_session_transfer_token: true}
              - client_id: app
                callbacks: ["myapp://auth/callback"]
                session_transfer: {can_create_session_transfer_token: true}
                native_social_login: {google: {enabled: true}}
              - client_id: other
                grant_types: [authorization_code, refresh_token]
            \(Self.indented(NativeSocialTests.settings(self.social.network), by: 0))
            apis:
              - {audience: "https://api.example.com", scopes: [read], routes: ["\(Request.host)/query/**"]}
            provider:
              static:
                users:
            \(Config.users)
            \(Self.indented(Self.oddUsers, by: 4))
            identity: {max_size: 1KiB}
            asn: {csv: asn.csv}
            rules:
              - {name: denies, when: 'event.request.user_agent == "denied"', then: deny}
              - {name: asks, when: 'event.request.user_agent == "asked"', then: sign_in}
              - {name: tries, when: 'event.request.user_agent == "tried"', then: deny, dry_run: true}
            limits: {request_line: 1KiB, field: 4KiB, fields: 8KiB, body: 1KiB}
            timeouts: {header: 1s, response: 500ms}
            drain: {delay: 0s, timeout: 100ms}

            """
        do {
            let files = [
                "asn.csv": "10.0.0.0/24,64500\n10.0.1.0/24,64501\n", "operator-tokens": OperatorTokens.file,
                "desk-secret": Self.deskSecret,
            ]
            self.gateway = try Gateway(
                self.settings,
                files: files.merging(NativeSocialTests.files(self.social.network)) { $1 }
            )
        } catch {
            self.app.stop()
            self.plain.stop()
            throw error
        }
    }

    func stop() {
        self.gateway.stop()
        self.app.stop()
        self.plain.stop()
    }

    /// A session token that was never handed out, in the form of one.
    func unknownToken() throws -> String {
        let token = try self.gateway.native()
        return String(token.prefix(58)) + (token.hasSuffix("A") ? "B" : "A")
    }

    private static func indented(_ text: String, by count: Int) -> String {
        text.split(separator: "\n").map { String(repeating: " ", count: count) + $0 }.joined(separator: "\n")
    }

    /// An app that behaves as the last segment of the path says.
    private static let serve: @Sendable (Link) -> Void = { link in
        while let request = link.next() {
            switch request.target.split(separator: "/").last {
            case "reset": return link.wire.reset()
            case "garbage":
                link.send("what?\r\n\r\n")
                return
            case "truncated":
                link.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
                return
            case "silent": _ = link.wire.receive(seconds: 20)
            case "stream":
                link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
                _ = link.wire.receive(seconds: 20)
                return
            default: link.answer(body: "ok")
            }
        }
    }

    // MARK: Requests

    /// The field in which the proxy names the client.
    static func from(_ address: String) -> String { "X-Forwarded-For: \(address)" }

    /// Signs in and returns the `Cookie` field of the session.
    func cookie(_ user: User = .ada, fields: [String] = []) throws -> [String] {
        let answer = try self.signIn(user.identifier, user.password, fields)
        guard let token = answer.sessionCookie, !token.isEmpty else { throw BenchFailure("\(answer.lines)") }
        return ["Cookie: sallyport=\(token)"]
    }

    /// Posts the browser's sign-in form.
    func signIn(_ identifier: String, _ password: String, _ fields: [String] = []) throws -> Answer {
        try self.form("/.sallyport/login", "identifier=\(identifier)&password=\(password)&return_to=/", fields)
    }

    /// Posts a form as a page of the gateway does.
    func form(_ path: String, _ body: String, _ fields: [String] = []) throws -> Answer {
        try self.gateway.request(
            Request.post(
                path,
                ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"] + fields,
                body: body
            )
        )
    }

    /// Sends a `GET` with a new session cookie of this user.
    func asUser(_ target: String, _ fields: [String] = [], user: User = .ada) throws -> Answer {
        try self.gateway.get(target, try self.cookie(user) + fields)
    }

    /// Sends a token request with these parameters.
    func tokenRequest(_ parameters: String...) throws -> Answer {
        try self.form("/oauth/token", parameters.joined(separator: "&"))
    }

    private static let deskSecret = "a secret of the help desk"

    /// A transfer token with which Grace acts for Ada.
    func delegatedToken() throws -> String {
        let type = "urn:sallyport:params:oauth:token-type:session_token"
        let answer = try self.tokenRequest(
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
            "client_id=desk&client_secret=\(Self.deskSecret.replacing(" ", with: "+"))",
            "subject_token=\(try self.gateway.native())&subject_token_type=\(type)",
            "actor_token=\(try self.gateway.native(.grace))&actor_token_type=\(type)",
            "audience=urn:\(Request.host):session_transfer"
        )
        guard let token = answer.text.firstMatch(of: /spt_[A-Za-z0-9_-]+/) else { throw BenchFailure(answer.text) }
        return String(token.0)
    }

    /// The authorization code that such a token gives.
    func delegatedCode() throws -> String {
        let query =
            "client_id=care&response_type=code&redirect_uri=https://care.example/cb&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let answer = try self.gateway.get("/authorize?\(query)&session_transfer_token=\(try self.delegatedToken())")
        guard let code = answer.lines.joined().firstMatch(of: /[?&]code=([A-Za-z0-9_-]+)/) else {
            throw BenchFailure("\(answer.lines)")
        }
        return String(code.1)
    }

    /// Opens `/authorize` for this client.
    func authorize(_ client: String, _ redirectURI: String, _ fields: [String]) throws -> Answer {
        let query =
            "client_id=\(client)&response_type=code&redirect_uri=\(redirectURI)&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        return try self.gateway.get("/authorize?\(query)", fields)
    }

    /// Redeems such a code.
    func redeemDelegated(_ code: String, verifier: String = ReasonBench.verifier) throws -> Answer {
        try self.tokenRequest(
            "grant_type=authorization_code&client_id=care&redirect_uri=https://care.example/cb",
            "code=\(code)&code_verifier=\(verifier)"
        )
    }

    /// The authorization code of a user who is signed in, for the client `app`.
    func code() throws -> String {
        let query =
            "client_id=app&response_type=code&scope=offline_access&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let answer = try self.gateway.get("/authorize?" + query, try self.cookie())
        guard let code = answer.lines.joined().firstMatch(of: /[?&]code=([A-Za-z0-9_-]+)/) else {
            throw BenchFailure("\(answer.lines)")
        }
        return String(code.1)
    }

    /// Redeems a code.
    ///
    /// - Parameter fields: A proof.
    func redeem(
        _ code: String,
        client: String = "app",
        verifier: String = ReasonBench.verifier,
        _ fields: [String] = []
    ) throws -> Answer {
        try self.form(
            "/oauth/token",
            "grant_type=authorization_code&client_id=\(client)&code=\(code)&code_verifier=\(verifier)",
            fields
        )
    }

    /// A request to a route with an access token that is bound to a key, and with a proof.
    ///
    /// - Parameters:
    ///   - isBound: Whether the token is bound.
    ///   - isOwn: Whether the proof is of the token's key.
    ///   - fields: The fields of the request, for the token and the proof.
    func proven(
        isBound: Bool = true,
        isOwn: Bool = true,
        withNonce: Bool = true,
        _ fields: (_ token: String, _ proof: String) -> [String] = { ["Authorization: DPoP \($0)", $1] }
    ) throws -> (answer: Answer, fields: [String]) {
        let key = ProofKey()
        let code = try self.code()
        let tokens = try key.send {
            try self.redeem(code, [key.field("POST", Request.origin + "/oauth/token")])
        }
        let unbound = isBound ? tokens : try self.redeem(try self.code())
        guard let token = unbound.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/) else { throw BenchFailure(tokens.text) }
        let prover = isOwn ? key : ProofKey()
        let url = Request.origin + "/query/"
        if !isOwn {
            _ = try prover.send { try self.redeem("x", [prover.field("POST", Request.origin + "/oauth/token")]) }
        }
        let proof = prover.field("GET", url, token: String(token.0), withNonce: withNonce)
        let sent = fields(String(token.0), proof)
        return (try self.gateway.get("/query/", sent), sent)
    }

    /// RFC 7636 appendix B
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    /// A new refresh token.
    func refreshToken() throws -> String { try Self.refreshToken(in: self.redeem(try self.code())) }

    static func refreshToken(in answer: Answer) throws -> String {
        guard let token = answer.text.firstMatch(of: /spr_[A-Za-z0-9_-]+/) else { throw BenchFailure(answer.text) }
        return String(token.0)
    }

    func refresh(_ token: String, client: String = "app") throws -> Answer {
        try self.tokenRequest("grant_type=refresh_token", "client_id=\(client)", "refresh_token=\(token)")
    }

    /// Sends a `GET` of a page with a transfer token in its query.
    func withToken(_ token: String, _ fields: [String] = [], path: String = "/page") throws -> Answer {
        try self.gateway.get("\(path)?session_transfer_token=\(token)", fields)
    }

    /// Sends bytes unchanged on their own connection.
    func raw(_ text: String) throws -> Answer { try self.gateway.request(text) }

    /// The number of lines in the output that name the reason.
    func count(_ reason: String) -> Int {
        self.gateway.output.components(separatedBy: "\"reason\":\"\(reason)\"").count - 1
    }
}
