import EndpointBench
import Endpoints
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// Web to native where users sign in with the gateway's own form, and in the dialect of Kratos's old documentation.
@Suite("Web to native, with the gateway's form")
struct ExchangeFormTests {
    private static let code = [
        (name: "return_session_token_exchange_code", value: "true"), ("return_to", "myapp://auth/callback"),
    ]
    private static let credentials = "identifier=alice%40example.com&password=correct+horse+battery+staple"

    private static let documented: ExchangeSettings = {
        var settings = Gateway.exchange
        settings.dialect = .documented
        return settings
    }()

    private func exchange(
        _ gateway: Gateway,
        _ code: String,
        _ returned: some StringProtocol,
        from address: String = "192.0.2.1"
    ) async throws -> EndpointResponse {
        try await gateway.send(
            "GET",
            "/sessions/token-exchange",
            query: [("init_code", code), ("return_to_code", String(returned))],
            from: address
        )
    }

    @Test("The browser gets the form, and a right password leads back to the app")
    func walk() async throws {
        let gateway = try Gateway()
        let flow = try #require(try await gateway.send("GET", "/self-service/login/api", query: Self.code).document)
        let id = try #require(flow["id"]?.string)
        let code = try #require(flow["session_token_exchange_code"]?.string)
        let sent = try await gateway.signInNative(flow: id, #"{"method":"oidc","provider":"company"}"#)
        #expect(sent.document?["redirect_browser_to"] == .string("https://app.example.com/.sallyport/app?flow=\(id)"))
        let page = try await gateway.send("GET", "/.sallyport/app", query: [("flow", id)])
        #expect(page.status == 200 && page.text.contains(#"action="/.sallyport/app""#))
        #expect(page.text.contains(#"name="flow" value="\#(id)""#))
        let form = "flow=\(id)&\(Self.credentials)"
        let foreign = try await gateway.post("/.sallyport/app", form, fields: [("origin", "https://evil.example.com")])
        #expect(foreign.status == 403 && foreign.reason == .requestCrossSite)
        let wrong = try await gateway.post("/.sallyport/app", "flow=\(id)&identifier=alice%40example.com&password=x")
        #expect(wrong.status == 422 && wrong.reason == .signInRefused && wrong.text.contains("alice@example.com"))
        #expect(try await gateway.post("/.sallyport/app", "flow=\(id)&identifier=a").status == 422)
        let answer = try await gateway.post("/.sallyport/app", form)
        let location = try #require(answer.value("location"))
        #expect(answer.status == 303 && location.hasPrefix("myapp://auth/callback?code=spx_"))
        #expect(answer.values("set-cookie").isEmpty)
        let exchanged = try await self.exchange(gateway, code, location.dropFirst("myapp://auth/callback?code=".count))
        #expect(exchanged.document?["session"]?["identity"]?["external_id"] == "9f1c")
        #expect(exchanged.document?["session"]?["authentication_methods"]?.first?["method"] == "password")
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["w", "fsa", "ssa"])
    }

    @Test("No page of another site frames the form, and no cache keeps it")
    func framing() async throws {
        let gateway = try Gateway()
        let flow = try #require(try await gateway.send("GET", "/self-service/login/api", query: Self.code).document)
        let page = try await gateway.send(
            "GET",
            "/.sallyport/app",
            query: [("flow", try #require(flow["id"]?.string))]
        )
        #expect(page.value("x-frame-options") == "DENY" && page.value("cache-control") == "no-store")
        #expect(page.value("content-security-policy")?.contains("frame-ancestors 'none'") == true)
        // HEAD is no sign-in, and keeps nothing.
        let head = try await gateway.send("HEAD", "/self-service/login/api", query: Self.code)
        #expect(head.status == 200 && head.document?["session_token_exchange_code"] == nil)
    }

    @Test("The form and the password of a flow stay as they were: no user registers here")
    func registration() async throws {
        let gateway = try Gateway()
        let flow = try await gateway.send("GET", "/self-service/registration/api").document
        let answer = try await gateway.send(
            "POST",
            "/self-service/registration",
            query: [("flow", try #require(flow?["id"]?.string))],
            fields: [("content-type", "application/json")],
            body: #"{"method":"password","identifier":"alice@example.com","password":"\#(Gateway.password)"}"#
        )
        #expect(answer.status == 400 && answer.document?["ui"]?["messages"]?.first?["id"] == 4_040_002)
        // A flow of one kind is none of the other.
        let login = try await gateway.flow()
        let mixed = try await gateway.send("GET", "/self-service/registration/flows", query: [("id", login)])
        #expect(mixed.status == 404)
    }

    @Test("compat.exchange: documented gives a code without the flag, and begins at ui.action with return_to")
    func documented() async throws {
        let gateway = try Gateway(exchange: Self.documented)
        let flow = try #require(try await gateway.send("GET", "/self-service/login/api").document)
        let id = try #require(flow["id"]?.string)
        let code = try #require(flow["session_token_exchange_code"]?.string)
        let action = [(name: "flow", value: id), ("return_to", "myapp://auth/callback")]
        let opened = try await gateway.send("GET", "/self-service/login", query: action)
        #expect(
            opened.value("location")
                == "https://app.example.com/.sallyport/app?flow=\(id)&return_to=myapp%3A%2F%2Fauth%2Fcallback"
        )
        let evil = [(name: "flow", value: id), ("return_to", "evil://x")]
        #expect(try await gateway.send("GET", "/self-service/login", query: evil).reason == .signInReturnToForbidden)
        #expect(try await gateway.send("GET", "/.sallyport/app", query: evil).reason == .signInReturnToForbidden)
        #expect(
            try await gateway.post("/.sallyport/app", "flow=\(id)&return_to=evil%3A%2F%2Fx&\(Self.credentials)").reason
                == .signInReturnToForbidden
        )
        let answer = try await gateway.post(
            "/.sallyport/app",
            "flow=\(id)&return_to=myapp%3A%2F%2Fauth%2Fcallback&\(Self.credentials)"
        )
        let back = try #require(
            answer.value("location")?.wholeMatch(of: /myapp:\/\/auth\/callback\?code=(.*)&return_to_code=(.*)/)
        )
        #expect(back.1 == back.2)
        // It repeats until the codes expire, wherever it comes from.
        let first = try await self.exchange(gateway, code, back.1)
        gateway.time.advance(by: .seconds(599))
        let second = try await self.exchange(gateway, code, back.1, from: "198.51.100.7")
        #expect(first.status == 200 && second.document == first.document)
        gateway.time.advance(by: .seconds(1))
        #expect(try await self.exchange(gateway, code, back.1).status == 403)
    }

    /// Signs the user in with the form, in the documented dialect.
    private func signedIn(_ gateway: Gateway) async throws -> (code: String, returned: String) {
        let flow = try #require(try await gateway.send("GET", "/self-service/login/api").document)
        let id = try #require(flow["id"]?.string)
        let code = try #require(flow["session_token_exchange_code"]?.string)
        let form = "flow=\(id)&return_to=myapp%3A%2F%2Fauth%2Fcallback&\(Self.credentials)"
        let answer = try await gateway.post("/.sallyport/app", form)
        let returned = try #require(answer.value("location")?.split(separator: "return_to_code=").last)
        return (code, String(returned))
    }

    /// Kratos's old documentation has the three errors with these members.
    @Test(
        "compat.exchange: documented refuses bad, unfinished and expired codes by 403, and a session that is gone by 404"
    )
    func documentedRefusals() async throws {
        let gateway = try Gateway(exchange: Self.documented)
        func expect(_ answer: EndpointResponse, _ status: Int, _ id: String, _ text: String) {
            let error = answer.document?["error"]
            #expect(answer.status == status && error?["code"] == .integer(Int64(status)))
            #expect(error?["id"] == .string(id) && answer.value("ory-error-id") == id)
            #expect(error?["reason"] == .string(text) && error?["message"]?.string != nil)
        }
        let none = "no session yet for this code"
        let (code, returned) = try await self.signedIn(gateway)
        let (other, _) = try await self.signedIn(gateway)
        let begun = try await gateway.send("GET", "/self-service/login/api").document
        let unfinished = try #require(begun?["session_token_exchange_code"]?.string)
        for (first, second) in [
            ("x", "y"), (other, returned), (code, String(returned.dropLast()) + "_"), (unfinished, returned),
            (unfinished, unfinished), (returned, code), (code, "ory_code_init_abc123"),
        ] { expect(try await self.exchange(gateway, first, second), 403, "forbidden", none) }
        for query in [
            [], [("init_code", code)], [("return_to_code", returned)],
            [("init_code", ""), ("return_to_code", returned)],
            [("init_code", code), ("init_code", code), ("return_to_code", returned)],
        ] as [[(name: String, value: String)]] {
            let answer = try await gateway.send("GET", "/sessions/token-exchange", query: query)
            expect(answer, 400, "bad_request", "init_code and return_to_code query params must be set")
        }
        let exchanged = try await self.exchange(gateway, code, returned)
        let token = try #require(exchanged.document?["session_token"]?.string)
        let ended = try await gateway.send(
            "DELETE",
            "/self-service/logout/api",
            fields: [("content-type", "application/json")],
            body: #"{"session_token":"\#(token)"}"#
        )
        #expect(ended.status == 204)
        expect(try await self.exchange(gateway, code, returned), 404, "not_found", none)
        let (late, expired) = try await self.signedIn(gateway)
        gateway.time.advance(by: .seconds(600))
        expect(try await self.exchange(gateway, late, expired), 403, "forbidden", none)
    }

    @Test("After a wrong password the flow still has its code, until a browser is sent on its way with the flow's id")
    func wrongPassword() async throws {
        let gateway = try Gateway()
        let flow = try #require(try await gateway.send("GET", "/self-service/login/api", query: Self.code).document)
        let id = try #require(flow["id"]?.string)
        let code = try #require(flow["session_token_exchange_code"])
        for body in [
            #"{"method":"password","identifier":"alice@example.com","password":"wrong"}"#, #"{"method":"password"}"#,
            #"{"method":"oidc","provider":"none"}"#, "{}",
        ] {
            let answer = try await gateway.signInNative(flow: id, body)
            #expect(answer.status == 400 && answer.document?["session_token_exchange_code"] == code, "\(body)")
        }
        // Whoever knows only the id of the flow does not get the code by reading it.
        let read = try await gateway.send("GET", "/self-service/login/flows", query: [("id", id)])
        #expect(read.status == 200 && read.document?["session_token_exchange_code"] == nil)
        #expect(try await gateway.signInNative(flow: id, #"{"method":"oidc","provider":"company"}"#).status == 422)
        let after = try await gateway.signInNative(flow: id, "{}")
        #expect(after.status == 400 && after.document?["session_token_exchange_code"] == nil)
        // It is still good.
        let answer = try await gateway.post("/.sallyport/app", "flow=\(id)&\(Self.credentials)")
        let returned = try #require(answer.value("location")?.split(separator: "code=").last)
        #expect(try await self.exchange(gateway, try #require(code.string), returned).status == 200)
        // A flow without a code has none to show.
        let plain = try await gateway.flow()
        let wrong = try await gateway.signInNative(flow: plain, "{}")
        #expect(wrong.status == 400 && wrong.document?["session_token_exchange_code"] == nil)
    }

    @Test("Otherwise no flow has a code that nobody asked for, and a browser brings no return_to along")
    func current() async throws {
        let gateway = try Gateway()
        let flow = try #require(try await gateway.send("GET", "/self-service/login/api", query: Self.code).document)
        let id = try #require(flow["id"]?.string)
        let plain = try await gateway.send("GET", "/self-service/login/api").document
        #expect(plain?["session_token_exchange_code"] == nil)
        let query = [(name: "flow", value: id), ("return_to", "http://127.0.0.1/done?from=app")]
        _ = try await gateway.send("GET", "/self-service/login", query: query)
        let form = "flow=\(id)&return_to=http%3A%2F%2F127.0.0.1%2Fdone%3Ffrom%3Dapp&\(Self.credentials)"
        let answer = try await gateway.post("/.sallyport/app", form)
        #expect(answer.value("location")?.hasPrefix("myapp://auth/callback?code=") == true)
    }
}
