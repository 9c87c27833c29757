import EndpointBench
import Endpoints
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Native sign-in")
struct NativeSignInTests {
    @Test("A flow is a form and names the URL to submit it to")
    func flow() async throws {
        let gateway = try Gateway()
        let answer = try await gateway.send("GET", "/self-service/login/api")
        #expect(answer.status == 200)
        let flow = try #require(answer.document)
        let id = try #require(flow["id"]?.string)
        #expect(flow["type"] == "api")
        #expect(flow["state"] == "choose_method")
        #expect(flow["issued_at"] == "2026-11-18T11:06:40.000Z")
        #expect(flow["expires_at"] == "2026-11-18T12:06:40.000Z")
        #expect(flow["request_url"] == "https://app.example.com/self-service/login/api")
        #expect(flow["ui"]?["action"] == .string("https://app.example.com/self-service/login?flow=\(id)"))
        #expect(flow["ui"]?["messages"] == nil)
        #expect(id.count == 36)
        #expect(try await gateway.flow() != id)
    }

    @Test(
        "The right password gives a session token and the session",
        arguments: ["alice@example.com", "ALICE@example.com"]
    )
    func password(identifier: String) async throws {
        let gateway = try Gateway()
        let body = #"{"method":"password","identifier":"\#(identifier)","password":"\#(Gateway.password)"}"#
        let answer = try await gateway.signInNative(body)
        #expect(answer.status == 200)
        #expect(answer.values("set-cookie").isEmpty)
        let token = try #require(answer.document?["session_token"]?.string)
        #expect(token.hasPrefix("sps_"))
        let session = try #require(answer.document?["session"])
        #expect(session["active"] == true)
        #expect(session["authenticator_assurance_level"] == "aal1")
        #expect(session["authentication_methods"]?.first?["method"] == "password")
        #expect(session["expires_at"] == "2027-02-16T11:06:40.000Z")
        #expect(session["identity"]?["external_id"] == "9f1c")
        #expect(session["identity"]?["schema_id"] == "default")
        #expect(session["identity"]?["schema_url"] == "https://app.example.com/schemas/default")
        #expect(session["identity"]?["traits"]?["email"] == "alice@example.com")
        #expect(session["devices"]?.first?["ip_address"] == "192.0.2.1")
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["ssa"])
        #expect(gateway.audit.records.first?.subject == "9f1c")
    }

    @Test("A form works as well as JSON")
    func form() async throws {
        let gateway = try Gateway()
        let answer = try await gateway.send(
            "POST",
            "/self-service/login?flow=\(try await gateway.flow())",
            fields: [("content-type", "application/x-www-form-urlencoded")],
            body: "method=password&\(Gateway.credentials)"
        )
        #expect(answer.status == 200)
    }

    @Test("A wrong password and an unknown user get the same answer")
    func enumeration() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.flow()
        func attempt(_ identifier: String) async throws -> EndpointResponse {
            try await gateway.signInNative(
                flow: flow,
                #"{"method":"password","identifier":"\#(identifier)","password":"wrong"}"#
            )
        }
        let known = try await attempt("alice@example.com")
        let unknown = try await attempt("mallo@example.com")
        #expect(known.status == 400)
        #expect(known.document?["ui"]?["messages"]?.first?["id"] == 4_000_006)
        #expect(known.document?["ui"]?["messages"]?.first?["type"] == "error")
        #expect(unknown.status == known.status)
        #expect(unknown.text.replacing("mallo@", with: "alice@") == known.text)
        #expect(unknown.fields.map(\.name) == known.fields.map(\.name))
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["fsa", "fsa"])
        #expect(gateway.audit.records.map(\.reason) == [.signInRefused, .signInRefused])
        #expect(gateway.store.sessionCount == 0)
    }

    @Test("A missing field is reported at that field")
    func missing() async throws {
        let gateway = try Gateway()
        for (body, name) in [
            (#"{"method":"password","password":"x"}"#, "identifier"),
            (#"{"method":"password","identifier":"x","password":""}"#, "password"),
            (#"{"method":"password","identifier":"x","password":5}"#, "password"),
            (#"{"method":"password","identifier":null,"password":"x"}"#, "identifier"),
            (#"{"method":"password","identifier":"x","password":null}"#, "password"),
        ] {
            let answer = try await gateway.signInNative(body)
            #expect(answer.status == 400)
            guard case .array(let nodes) = answer.document?["ui"]?["nodes"] else { throw Missing() }
            let node = try #require(nodes.first { $0["attributes"]?["name"]?.string == name })
            #expect(node["messages"]?.first?["id"] == 4_000_002)
        }
        let method = try await gateway.signInNative(#"{"method":"code"}"#)
        #expect(method.status == 400)
        #expect(method.document?["ui"]?["messages"]?.first?["id"] == 4_010_002)
    }

    private struct Missing: Error {}

    @Test("Malformed bodies and media types get an error in Kratos's envelope")
    func malformed() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.flow()
        let twice = try await gateway.signInNative(flow: flow, #"{"method":"password","method":"password"}"#)
        #expect(twice.status == 400)
        #expect(twice.document?["error"]?["message"]?.string?.isEmpty == false)
        let text = try await gateway.send(
            "POST",
            "/self-service/login?flow=\(flow)",
            fields: [("content-type", "text/plain")],
            body: "{}"
        )
        #expect(text.status == 415)
    }

    @Test("A flow that the gateway did not issue is not found, even if only one bit differs")
    func unknownFlow() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.flow()
        var tampered = Array(flow.utf8)
        tampered[35] = tampered[35] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
        var later = Array(flow.utf8)
        later[3] = later[3] == UInt8(ascii: "f") ? UInt8(ascii: "e") : UInt8(ascii: "f")
        for id in [
            String(decoding: tampered, as: UTF8.self), String(decoding: later, as: UTF8.self), flow.uppercased(),
            "00000000-0000-0000-0000-000000000000", "x", flow.replacing("-", with: ""), flow + "0",
        ] {
            let answer = try await gateway.signInNative(flow: id)
            #expect(answer.status == 404, "\(id)")
            #expect(answer.document?["error"]?["code"] == 404)
        }
        #expect(try await gateway.signInNative(flow: "").status == 404)
        let twice = try await gateway.signInNative(flow: "\(flow)&flow=\(flow)")
        #expect(twice.status == 400)
        #expect(gateway.store.sessionCount == 0)
    }

    @Test(
        "Flows and sessions that began under the former secret stay valid; new ones are made under the current secret"
    )
    func rotation() async throws {
        let before = try Gateway()
        let after = try Gateway(beside: before, successor: Secret("the secret that followed, of thirty-two bytes too"))
        #expect(try await after.signInNative(flow: try await before.flow()).status == 200)
        let old = try await before.nativeToken()
        #expect(try await after.whoami(("x-session-token", old)).status == 200)
        // A gateway without the new secret does not accept what is made with it.
        #expect(try await before.signInNative(flow: try await after.flow()).status == 404)
        let new = try await after.nativeToken()
        let unknown = try await before.whoami(("x-session-token", new))
        #expect(unknown.status == 401)
        #expect(unknown.reason == .credentialOtherKey)
        let browser = try #require(try await after.post("/.sallyport/login", Gateway.credentials).cookie)
        #expect(try await before.session(browser).reason == .credentialOtherKey)
        #expect(try await before.whoami(("cookie", "__Host-sallyport=\(browser)")).reason == .credentialOtherKey)
        #expect(try await after.whoami(("x-session-token", new)).status == 200)
    }

    @Test("An expired flow is gone, and the answer names a new one")
    func expiredFlow() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.flow()
        gateway.time.advance(by: .seconds(3600))
        let answer = try await gateway.signInNative(flow: flow)
        #expect(answer.status == 410 && answer.reason == .signInFlowExpired)
        #expect(answer.document?["error"]?["request"] == "r1")
        #expect(answer.value("ory-error-id") == "self_service_flow_expired")
        #expect(answer.document?["error"]?["id"] == "self_service_flow_expired")
        #expect(answer.document?["expired_at"] == "2026-11-18T12:06:40.000Z")
        #expect(answer.document?["since"] == 0)
        #expect(Self.reason(answer) == "The self-service flow expired 0.00 minutes ago, initialize a new one.")
        let next = try #require(answer.document?["use_flow_id"]?.string)
        #expect(try await gateway.signInNative(flow: next).status == 200)
    }

    @Test("An answer for an expired flow says for how many minutes, with two decimals")
    func expiredFor() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.flow()
        gateway.time.advance(by: .seconds(3600 + 754))
        let answer = try await gateway.signInNative(flow: flow)
        #expect(answer.status == 410)
        #expect(answer.document?["since"] == 754_000_000_000)
        #expect(Self.reason(answer) == "The self-service flow expired 12.56 minutes ago, initialize a new one.")
    }

    @Test("A flow with a code that the store has forgotten ended just now, or at its own end")
    func forgottenFlow() async throws {
        let begun = try await Gateway().send("GET", "/self-service/login/api?return_session_token_exchange_code=true")
        let id = try #require(begun.document?["id"]?.string)
        let restarted = try Gateway()
        let lost = try await restarted.send("GET", "/self-service/login/flows", query: [("id", id)])
        #expect(lost.status == 410 && lost.document?["error"]?["id"] == "self_service_flow_expired")
        #expect(Self.reason(lost) == "The self-service flow is not known any more, initialize a new one.")
        #expect(lost.document?["expired_at"] == .string(restarted.time.now.rfc3339))
        #expect(lost.document?["since"] == 0)
        restarted.time.advance(by: Gateway.exchange.lifetime + .seconds(61))
        let old = try await restarted.send("GET", "/self-service/login/flows", query: [("id", id)])
        #expect(Self.reason(old) == "The self-service flow expired 1.01 minutes ago, initialize a new one.")
        #expect(old.document?["since"] == 61_000_000_000)
        let next = try #require(old.document?["use_flow_id"]?.string)
        let fetched = try await restarted.send("GET", "/self-service/login/flows", query: [("id", next)])
        #expect(fetched.status == 200)
    }

    private static func reason(_ answer: EndpointResponse) -> String? {
        answer.document?["error"]?["reason"]?.string
    }

    @Test("With a valid session a flow needs refresh=true")
    func alreadySignedIn() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let fields = [(name: "x-session-token", value: token)]
        let refused = try await gateway.send("GET", "/self-service/login/api", fields: fields)
        #expect(refused.status == 400)
        #expect(refused.document?["error"]?["id"] == "session_already_available")
        let refresh = try await gateway.send("GET", "/self-service/login/api?refresh=true", fields: fields)
        #expect(refresh.status == 200)
        #expect(refresh.document?["refresh"] == true)
        // The text of kratos selfservice/flow/login/error.go.
        #expect(refused.document?["error"]?["message"] == "you are already logged in")
        for level in ["aal2", "aal3"] {
            let target = "/self-service/login/api?aal=\(level)"
            for fields in [[], [(name: "x-session-token", value: "")], [(name: "x-session-token", value: token + "x")]]
            {
                let step = try await gateway.send("GET", target, fields: fields)
                #expect(step.status == 401)
                #expect(step.document?["error"]?["id"] == "session_aal1_required")
                #expect(
                    step.document?["error"]?["message"]
                        == "aal2 and aal3 can only be requested if a session exists already"
                )
            }
            let step = try await gateway.send("GET", target, fields: fields)
            #expect(step.status == 400)
            #expect(step.document?["error"]?["id"] == nil)
        }
        #expect(try await gateway.send("GET", "/self-service/login/api?aal=aal1").status == 200)
    }

    @Test("A session in Authorization: Bearer counts like one in X-Session-Token")
    func bearer() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let target = "/self-service/login/api"
        for scheme in ["Bearer", "bearer", "BEARER"] {
            let fields = [(name: "authorization", value: "\(scheme) \(token)")]
            let refused = try await gateway.send("GET", target, fields: fields)
            #expect(refused.status == 400 && refused.document?["error"]?["id"] == "session_already_available")
            #expect(try await gateway.send("GET", "\(target)?refresh=true", fields: fields).status == 200)
            let step = try await gateway.send("GET", "\(target)?aal=aal2", fields: fields)
            #expect(step.status == 400 && step.document?["error"]?["id"] == nil)
        }
        for value in ["Bearer", "Bearer ", "Bearer x", "Basic \(token)", token] {
            #expect(try await gateway.send("GET", target, fields: [("authorization", value)]).status == 200, "\(value)")
        }
        // X-Session-Token comes first, and one that stands there twice is not read.
        let both = [(name: "x-session-token", value: "x"), (name: "authorization", value: "Bearer \(token)")]
        #expect(try await gateway.send("GET", target, fields: both).status == 200)
        let twice = Array(repeating: (name: "authorization", value: "Bearer \(token)"), count: 2)
        let repeated = try await gateway.send("GET", target, fields: twice)
        #expect(repeated.status == 400 && repeated.reason == .credentialRepeated)
    }

    @Test(
        "A level that does not exist is refused before it is asked who the app is",
        arguments: ["aal9", "aal0", "AAL2", "2", "x"]
    )
    func unknownLevel(level: String) async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        for fields in [[], [(name: "x-session-token", value: token)]] {
            for query in ["", "&refresh=true", "&return_session_token_exchange_code=true"] {
                let target = "/self-service/login/api?aal=\(level)\(query)"
                let answer = try await gateway.send("GET", target, fields: fields)
                #expect(answer.status == 400 && answer.document?["error"]?["id"] == nil)
            }
        }
    }

    /// Tries are counted under one spelling of the identifier and of the address.
    @Test("Too many tries are refused for that address and that user only, in any spelling")
    func throttling() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.flow()
        func attempt(_ identifier: String, from address: String = "192.0.2.1") async throws -> Int {
            let body = #"{"method":"password","identifier":"\#(identifier)","password":"wrong"}"#
            return try await gateway.signInNative(flow: flow, body, from: address).status
        }
        for number in 0..<10 {
            #expect(try await attempt(number.isMultiple(of: 2) ? "alice@example.com" : "Alice@Example.com") == 400)
        }
        let throttled = try await gateway.signInNative(flow: flow)
        #expect(throttled.status == 429, "the right password is not even looked at")
        #expect(throttled.value("retry-after") == "10")
        #expect(throttled.reason == .signInThrottled)
        #expect(try await attempt("ALICE@EXAMPLE.COM") == 429)
        #expect(try await attempt("bob@example.com") == 400)
        #expect(try await attempt("alice@example.com", from: "192.0.2.2") == 400)
        gateway.time.advance(by: .seconds(10))
        #expect(try await gateway.signInNative(flow: flow).status == 200)
        #expect(gateway.audit.records.contains { $0.reason == .signInThrottled })
    }

    @Test("An address that tries many users is refused as well")
    func spraying() async throws {
        let gateway = try Gateway(provider: Refusing())
        let flow = try await gateway.flow()
        var statuses: [Int] = []
        for number in 0..<51 {
            let body = #"{"method":"password","identifier":"user\#(number)","password":"wrong"}"#
            // One /64 counts as one address.
            let answer = try await gateway.signInNative(flow: flow, body, from: "2001:db8::\(number)")
            statuses.append(answer.status)
        }
        #expect(statuses.dropLast().allSatisfy { $0 == 400 })
        #expect(statuses.last == 429)
    }

    @Test("A success resets the count of the user who signed in, but not that of the address or of other users")
    func forgiven() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.flow()
        func attempt(_ identifier: String) async throws -> Int {
            let body = #"{"method":"password","identifier":"\#(identifier)","password":"wrong"}"#
            return try await gateway.signInNative(flow: flow, body).status
        }
        for _ in 0..<10 { #expect(try await attempt("bob@example.com") == 400) }
        // 40 of the address's 50 tries are left. Each round uses four wrong passwords for alice, then the right one.
        for _ in 0..<8 {
            for _ in 0..<4 { #expect(try await attempt("alice@example.com") == 400) }
            #expect(try await gateway.signInNative(flow: flow).status == 200)
        }
        #expect(try await gateway.signInNative(flow: flow).status == 429)
        gateway.time.advance(by: .seconds(2))
        #expect(try await attempt("bob@example.com") == 429)
        #expect(try await gateway.signInNative(flow: flow).status == 200)
    }

    @Test("If tries cannot be counted, the answer is an outage, and no password is checked")
    func uncounted() async throws {
        let gateway = try Gateway(provider: Untouchable(), limiter: ScriptedLimiter.away)
        let answer = try await gateway.signInNative()
        #expect(answer.isOutage)
        #expect(answer.reason == .storeUnavailable)
        let page = try await gateway.post("/.sallyport/login", Gateway.credentials)
        #expect(page.isOutage)
        #expect(page.reason == .storeUnavailable)
        #expect(gateway.audit.records.isEmpty)
    }

    private struct Untouchable: PasswordProvider {
        func authenticate(
            identifier: String,
            password: Secret,
            from source: SignInSource
        ) async throws(NotDone) -> Authentication {
            Issue.record("a password was looked at")
            throw NotDone(.signInRefused)
        }
    }

    private struct Refusing: PasswordProvider {
        func authenticate(
            identifier: String,
            password: Secret,
            from source: SignInSource
        ) async throws(NotDone) -> Authentication { throw NotDone(.signInRefused) }
    }

    private struct Unreachable: PasswordProvider {
        func authenticate(
            identifier: String,
            password: Secret,
            from source: SignInSource
        ) async throws(NotDone) -> Authentication { throw NotDone(.providerUnavailable) }
    }

    @Test("A store or provider that cannot answer causes an outage, not a refusal")
    func outage() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.flow()
        for (error, reason) in [(StoreError.unavailable, Reason.storeUnavailable), (.full, .storeFull)] {
            gateway.store.fail(with: error)
            let answer = try await gateway.signInNative(flow: flow)
            #expect(answer.isOutage)
            #expect(answer.reason == reason)
        }
        let unreachable = try Gateway(provider: Unreachable())
        let answer = try await unreachable.signInNative()
        #expect(answer.isOutage)
        #expect(answer.reason == .providerUnavailable)
        #expect(unreachable.audit.records.isEmpty)
    }
}

extension JSONValue {
    /// The first element of an array.
    var first: JSONValue? {
        guard case .array(let elements) = self else { return nil }
        return elements.first
    }
}
