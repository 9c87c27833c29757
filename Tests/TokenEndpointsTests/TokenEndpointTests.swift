import Endpoints
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("POST /oauth/token, exchange of a session token")
struct TokenEndpointTests {
    @Test("the answer is one that Auth0's SDKs can parse")
    func answer() async throws {
        let bench = TokenBench()
        let answer = await bench.post(json: bench.parameters(try await bench.signIn()))
        #expect(answer.status == 200)
        #expect(answer.reason == nil)
        #expect(answer.body["issued_token_type"] == "urn:auth0:params:oauth:token-type:session_transfer_token")
        #expect(answer.body["token_type"] == "N_A")
        #expect(answer.body["expires_in"] == .integer(60))
        #expect(answer.body["access_token"]?.string?.hasPrefix("spt_") == true)
        #expect(answer.field("cache-control") == "no-store")
        #expect(answer.field("pragma") == "no-cache")
        #expect(answer.field("content-type")?.hasPrefix("application/json") == true)
    }

    @Test("a form works as well as JSON")
    func form() async throws {
        let bench = TokenBench()
        #expect(await bench.post(form: bench.parameters(try await bench.signIn())).status == 200)
    }

    @Test(
        "media type parameters and letter case do not matter",
        arguments: ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8;x=y"]
    )
    func mediaTypeParameters(type: String) async throws {
        let bench = TokenBench()
        let parameters = bench.parameters(try await bench.signIn()).mapValues(JSONValue.string)
        #expect(await bench.post(JSONText.encode(.object(parameters)), type: type).status == 200)
    }

    @Test("authlib's media type is a form", arguments: ["application/x-www-form-urlencoded;charset=UTF-8"])
    func authlibForm(type: String) async {
        let answer = await TokenBench().post(Array("grant_type=x&client_id=native-app".utf8), type: type)
        #expect(answer.error == "unsupported_grant_type")
    }

    @Test(
        "any other media type, or none, is invalid_request",
        arguments: [nil, "", "text/plain", "multipart/form-data; boundary=x", "application/jsonp"]
    )
    func otherMediaTypes(type: String?) async throws {
        let bench = TokenBench()
        let parameters = bench.parameters(try await bench.signIn()).mapValues(JSONValue.string)
        let answer = await bench.post(JSONText.encode(.object(parameters)), type: type)
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
        #expect(answer.reason == .oauthInvalidRequest)
    }

    @Test("two media types are refused before")
    func twoMediaTypes() async {
        let answer = await TokenBench().post(
            Array("grant_type=x".utf8),
            fields: [("content-type", "application/x-www-form-urlencoded"), ("content-type", "application/json")]
        )
        #expect(answer.status == 400 && answer.reason == .requestMalformed)
    }

    @Test(
        "a repeated parameter is invalid_request (RFC 6749 3.2)",
        arguments: [
            "grant_type=a&grant_type=a", "grant_type=a&client_id=native-app&grant_type=",
            "client_id=native-app&client%5Fid=plain",
        ]
    )
    func repeatedFormParameter(body: String) async {
        let answer = await TokenBench().post(Array(body.utf8), type: "application/x-www-form-urlencoded")
        #expect(answer.error == "invalid_request")
    }

    @Test("A parameter's name is in the answer without the characters that RFC 6749 5.2 forbids")
    func oddName() {
        let error = OAuthError.invalidRequest("The parameter a\"\\é" + String(repeating: "x", count: 500))
        #expect(error.description == "The parameter a???" + String(repeating: "x", count: 182))
    }

    @Test(
        "JSON that is not an object of strings is invalid_request",
        arguments: [
            "", "[]", "\"x\"", "{", "{}x", #"{"grant_type":"a","grant_type":"a"}"#, #"{"client_id":1}"#,
            #"{"client_id":{"a":"b"}}"#, #"{"client_id":"native-app","grant_type":null}"#,
            #"{"client_id":"native-app","grant_type":["a"]}"#,
            #"{"client_id":"native-app","gr\u0061nt_type":"a","grant_type":"a"}"#, "{\"client_id\":\"\u{1}\"}",
            String(repeating: #"{"a":"#, count: 2000),
        ]
    )
    func oddJSON(body: String) async {
        let answer = await TokenBench().post(Array(body.utf8), type: "application/json")
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
    }

    @Test("bytes that are not UTF-8 are invalid_request, in both encodings")
    func invalidUTF8() async {
        let bench = TokenBench()
        let json = Array(#"{"client_id":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        #expect(await bench.post(json, type: "application/json").error == "invalid_request")
        for body in ["client_id=%FF", "client_id=%4", "client_id=%zz"] {
            let answer = await bench.post(Array(body.utf8), type: "application/x-www-form-urlencoded")
            #expect(answer.error == "invalid_request", "\(body)")
        }
    }

    @Test("unknown parameters are ignored, and an empty value counts as absent (RFC 6749 3.2)")
    func unknownAndEmptyParameters() async throws {
        let bench = TokenBench()
        var parameters = bench.parameters(try await bench.signIn())
        parameters["scope"] = ""
        parameters["client_secret"] = ""
        parameters["actor_token"] = ""
        parameters["requested_token_type"] = ""
        parameters["x-telemetry"] = "1"
        #expect(await bench.post(json: parameters).status == 200)
        #expect(await bench.post(form: parameters).status == 200)
    }

    /// auth0-python's `GetToken` sends null for arguments that were not given.
    @Test("null counts as absent in JSON")
    func nullParameters() async throws {
        let bench = TokenBench()
        var parameters = bench.parameters(try await bench.signIn()).mapValues(JSONValue.string)
        for name in [
            "client_secret", "redirect_uri", "organization", "scope", "actor_token", "actor_token_type", "resource",
            "requested_token_type", "client_assertion", "client_assertion_type",
        ] {
            parameters[name] = .null
        }
        #expect(await bench.post(JSONText.encode(.object(parameters)), type: "application/json").status == 200)
        parameters["subject_token"] = .null
        let answer = await bench.post(JSONText.encode(.object(parameters)), type: "application/json")
        #expect(answer.error == "invalid_request")
    }

    @Test("an unknown grant_type is unsupported_grant_type, a missing one invalid_request")
    func grantTypes() async {
        let bench = TokenBench()
        for grant in ["password", "client_credentials", "urn:ietf:params:oauth:grant-type:TOKEN-EXCHANGE"] {
            let answer = await bench.post(json: ["grant_type": grant, "client_id": "native-app"])
            #expect(answer.status == 400)
            #expect(answer.error == "unsupported_grant_type")
            #expect(answer.reason == .oauthUnsupportedGrantType)
        }
        #expect(await bench.post(json: ["client_id": "native-app"]).error == "invalid_request")
    }

    @Test(
        "every configured host is an audience, with and without its port",
        arguments: [
            "auth.example.com", "auth.example.com:443", "app.example.com", "app.example.com:8443", "Auth.Example.COM",
            "[::1]", "[::1]:80",
        ]
    )
    func audiences(host: String) async throws {
        let bench = TokenBench()
        var parameters = bench.parameters(try await bench.signIn())
        parameters["audience"] = "urn:\(host):session_transfer"
        #expect(await bench.post(json: parameters).status == 200)
    }

    @Test(
        "a token for a host with endpoints is valid on every host, a token for any other host only on that host",
        arguments: [
            ("auth.example.com", .everyHost), ("auth.example.com:443", .everyHost), ("AUTH.example.com", .everyHost),
            ("app.example.com:8443", .host("app.example.com:8443")), ("app.example.com", .host("app.example.com:8443")),
            ("two.example.com", .host("two.example.com")), ("two.example.com:80", .host("two.example.com")),
            ("two.example.com:81", .host("two.example.com:81")), ("both.example.com", .everyHost),
            ("both.example.com:1", .host("both.example.com:1")), ("ports.example.com:2", .host("ports.example.com:2")),
            ("ports.example.com", nil), ("other.example.com", nil),
            ("a.wild.example", .host("a.wild.example")), ("A.Wild.example:443", .host("a.wild.example")),
            ("own.wild.example", .host("own.wild.example:8443")), ("a.wild.example:8443", nil),
            ("a.b.wild.example", nil), ("*.wild.example", nil), (".wild.example", nil), ("wild.example", nil),
            ("a_b.wild.example", nil), ("-a.wild.example", nil), ("xn--a.wild.example", nil),
            ("ops.wild.example", nil), ("ops.wild.example:443", nil),
            ("b.port.example", .host("b.port.example:8443")), ("b.port.example:8443", .host("b.port.example:8443")),
        ] as [(String, TransferTargets.Target?)]
    )
    func targets(host: String, expected: TransferTargets.Target?) {
        func made(_ name: String, _ port: Int? = nil, https: Bool = false, endpoints: Bool = false) -> HostSettings {
            let url = PublicURL(isHTTPS: https, host: name, port: port)
            return HostSettings(publicURL: url, endpoints: endpoints, routes: [])
        }
        var settings = Settings(
            hosts: [
                made("app.example.com", 8443, https: true), made("two.example.com", 81), made("two.example.com"),
                made("both.example.com", 1), made("both.example.com", 2, endpoints: true), made("ports.example.com", 1),
                made("ports.example.com", 2), made("auth.example.com", https: true, endpoints: true),
                made("*.wild.example", https: true), made("own.wild.example", 8443, https: true),
                made("*.port.example", 8443, https: true),
            ],
            upstreams: []
        )
        var operators = ListenerSettings(ListenAddress(host: "127.0.0.1", port: 8443))
        operators.publicURL = PublicURL(isHTTPS: true, host: "ops.wild.example", port: nil)
        settings.management = [operators]
        let targets = TransferTargets(settings.hosts)
        #expect(targets["urn:\(host):session_transfer"] == expected)
    }

    @Test(
        "any other audience is invalid_target",
        arguments: [
            "urn:evil.example:session_transfer", "urn:auth.example.com:8443:session_transfer", "auth.example.com",
            "urn:auth.example.com:session_transfer ", "urn::session_transfer", "https://auth.example.com/",
            "urn:auth.example.com:session_transfer:x", "urn:evil.auth.example.com:session_transfer",
        ]
    )
    func otherAudiences(audience: String) async throws {
        let bench = TokenBench()
        var parameters = bench.parameters(try await bench.signIn())
        parameters["audience"] = audience
        let answer = await bench.post(json: parameters)
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_target")
        #expect(answer.reason == .oauthInvalidTarget)
    }

    @Test("a resource beside another audience is invalid_target")
    func resource() async throws {
        let bench = TokenBench()
        var parameters = bench.parameters(try await bench.signIn())
        parameters["resource"] = "https://api.example.com/"
        #expect(await bench.post(json: parameters).error == "invalid_target")
    }

    @Test(
        "required parameters must be present",
        arguments: ["subject_token", "subject_token_type", "grant_type"]
    )
    func missing(name: String) async throws {
        let bench = TokenBench()
        var parameters = bench.parameters(try await bench.signIn())
        parameters[name] = nil
        #expect(await bench.post(json: parameters).error == "invalid_request")
        parameters[name] = ""
        #expect(await bench.post(form: parameters).error == "invalid_request")
    }

    @Test(
        "only session tokens and access tokens are exchanged, and without an actor",
        arguments: [
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token", false),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt", false),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:refresh_token", false),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token", false),
            ("requested_token_type", "urn:auth0:params:oauth:token-type:session_transfer_token", true),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token", false),
            ("actor_token", "x", false),
            ("actor_token_type", "x", false),
        ]
    )
    func tokenTypes(name: String, value: String, isAccepted: Bool) async throws {
        let bench = TokenBench()
        var parameters = bench.parameters(try await bench.signIn())
        parameters[name] = value
        let answer = await bench.post(json: parameters)
        #expect(answer.error == (isAccepted ? nil : "invalid_request"))
    }

    @Test("A token of another type than the request says is invalid_request, whichever it is (RFC 8693 2.1)")
    func otherType() async throws {
        let bench = TokenBench { if $0.clientID == "native-app" { $0.clientSecrets = [Secret("a secret of the app")] } }
        let session = try await bench.signIn()
        func send(_ token: String, _ type: String, actor: (String, String)? = nil) async -> Answer {
            var parameters = bench.parameters(token)
            parameters["client_secret"] = "a secret of the app"
            parameters["subject_token_type"] = type
            if let actor { (parameters["actor_token"], parameters["actor_token_type"]) = actor }
            return await bench.post(json: parameters)
        }
        let access = TokenExchange.accessTokenType
        let own = TokenExchange.sessionTokenType
        var api = bench.parameters(session)
        api["client_secret"] = "a secret of the app"
        api["audience"] = TokenBench.api
        let issued = await bench.post(json: api).text("access_token")
        #expect(issued.hasPrefix("spa_"))
        #expect(await send(session, own).status == 200)
        #expect(await send(issued, access).status == 200)
        let lineage = bench.authority.newLineage()
        let others = [TokenKind.transfer, .refresh, .code, .hostTicket, .pushedRequest].map {
            String(decoding: bench.authority.make($0, in: lineage).token.bytes, as: UTF8.self)
        }
        let wrong =
            [(session, access), (issued, own), ("e30.e30.c2ln", own)]
            + others.flatMap { [($0, own), ($0, access)] }
        for (token, type) in wrong {
            let answer = await send(token, type)
            #expect(answer.status == 400 && answer.error == "invalid_request", "\(token.prefix(4)) as \(type)")
            let actor = await send(session, own, actor: (token, type))
            #expect(actor.error == "invalid_request", "\(token.prefix(4)) of an actor as \(type)")
        }
        #expect(await send(session, own, actor: (session, own)).status == 200)
    }

    @Test("Unknown, foreign, odd and browser session tokens are refused with the same bytes")
    func invalidGrant() async throws {
        let bench = TokenBench()
        let unknown = bench.authority.make(.session, in: bench.authority.newLineage()).token
        let tokens = [
            String(decoding: unknown.bytes, as: UTF8.self),
            "sps_short",
            "no token",
            String(repeating: "s", count: 8000),
            try await bench.signIn(kind: .web, origin: .browser),
            try await bench.signIn(client: "another-app"),
        ]
        for token in tokens {
            let answer = await bench.post(json: bench.parameters(token))
            #expect(answer.status == 400)
            #expect(answer.error == "invalid_grant")
            #expect(answer.description == "Unknown or invalid session token.")
            #expect(answer.field("cache-control") == "no-store")
        }
    }

    @Test("a client that may not mint is unauthorized_client")
    func notPermitted() async throws {
        let bench = TokenBench()
        var parameters = bench.parameters(try await bench.signIn())
        parameters["client_id"] = "plain"
        let answer = await bench.post(json: parameters)
        #expect(answer.status == 400)
        #expect(answer.error == "unauthorized_client")
        #expect(answer.reason == .handoffNotPermitted)
    }

    @Test("T23: for a session that began with a transfer the answer is unauthorized_client")
    func nested() async throws {
        let bench = TokenBench()
        let answer = await bench.post(json: bench.parameters(try await bench.signIn(kind: .web, origin: .transfer)))
        #expect(answer.error == "unauthorized_client")
        #expect(answer.reason == .handoffNested)
    }

    @Test(
        "if the store cannot answer, the answer is 503 with Retry-After, never invalid_grant",
        arguments: [StoreError.unavailable, .full]
    )
    func unavailable(error: StoreError) async throws {
        let bench = TokenBench()
        let parameters = bench.parameters(try await bench.signIn())
        bench.store.fail(with: error)
        let answer = await bench.post(json: parameters)
        #expect(answer.status == 503)
        #expect(answer.error == "temporarily_unavailable")
        #expect(answer.field("retry-after") == "1")
        #expect(answer.reason == (error == .full ? .storeFull : .storeUnavailable))
        bench.store.fail(with: nil)
        #expect(await bench.post(json: parameters).status == 200)
    }

    @Test("if one session asks too often, the answer is 429 too_many_requests with Retry-After")
    func throttled() async throws {
        let bench = TokenBench()
        let parameters = bench.parameters(try await bench.signIn())
        for _ in 0..<10 { #expect(await bench.post(json: parameters).status == 200) }
        let answer = await bench.post(json: parameters)
        #expect(answer.status == 429)
        #expect(answer.error == "too_many_requests")
        #expect(answer.description == "Too many requests. Please try again later.")
        #expect(answer.field("retry-after") == "6")
        #expect(answer.field("cache-control") == "no-store")
        #expect(answer.reason == .handoffThrottled)
        #expect(await bench.post(json: bench.parameters(try await bench.signIn())).status == 200)
    }

    @Test("no answer repeats text of the request")
    func nothingIsEchoed() async throws {
        let bench = TokenBench()
        for name in ["grant_type", "client_id", "subject_token", "subject_token_type", "audience"] {
            var parameters = bench.parameters(try await bench.signIn())
            parameters[name] = "echo\"\\<canary>"
            let answer = await bench.post(json: parameters)
            #expect(answer.error != nil)
            #expect(!String(decoding: answer.response.body, as: UTF8.self).contains("canary"))
        }
    }

    @Test(
        "the endpoint is served by POST at its own path on endpoint hosts, and its writes continue if the client leaves"
    )
    func place() {
        let endpoint = TokenBench().endpoint.endpoint
        #expect(endpoint.path == "/oauth/token")
        #expect(endpoint.methods == ["POST"])
        #expect(endpoint.outlivesClient)
        guard case .endpointHosts = endpoint.scope else {
            Issue.record("served on every host")
            return
        }
    }
}
