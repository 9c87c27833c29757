import Providers
import Vocabulary

/// The demo's native app, for those who have none: it makes the calls that a real one makes.
struct DemoNativeApp: Sendable {
    /// A call that gave nothing.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The gateway's origin, e.g. `http://127.0.0.1:8080`, and the host in it.
    let gateway: String
    let host: String
    let transport: any ProviderTransport

    /// Signs the user in, and mints a session-transfer token.
    func transferToken(for user: DemoUser) async throws -> String {
        let flow = try await self.value(of: "id", in: ProviderCall("GET", "\(self.gateway)/self-service/login/api"))
        let signIn: JSONValue = [
            "method": "password", "identifier": .string(user.identifier), "password": .string(user.password),
        ]
        let session = try await self.value(
            of: "session_token",
            in: ProviderCall(
                "POST",
                "\(self.gateway)/self-service/login?flow=\(flow)",
                fields: [("content-type", "application/json")],
                body: JSONText.encode(signIn)
            )
        )
        let exchange = FormText.encoded([
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("client_id", DemoSettings.nativeClient),
            ("subject_token", session),
            ("subject_token_type", "urn:sallyport:params:oauth:token-type:session_token"),
            ("requested_token_type", "urn:auth0:params:oauth:token-type:session_transfer_token"),
            ("audience", "urn:\(self.host):session_transfer"),
        ])
        return try await self.value(
            of: "access_token",
            in: ProviderCall(
                "POST",
                "\(self.gateway)/oauth/token",
                fields: [("content-type", "application/x-www-form-urlencoded")],
                body: Array(exchange.utf8)
            )
        )
    }

    // MARK: Sign-in in the browser

    /// Begins a sign-in in the browser. The path of the page that the browser opens, and what the app keeps.
    func beginInBrowser(returningTo url: String) async throws -> (path: String, flow: String, code: String) {
        let query = FormText.encoded([("return_session_token_exchange_code", "true"), ("return_to", url)])
        let begun = try await self.document(ProviderCall("GET", "\(self.gateway)/self-service/login/api?\(query)"))
        guard let flow = begun["id"]?.string, let code = begun["session_token_exchange_code"]?.string else {
            throw Failure(description: "a flow without a code")
        }
        let choice: JSONValue = ["method": "oidc", "provider": "static"]
        let page = try await self.value(
            of: "redirect_browser_to",
            in: ProviderCall(
                "POST",
                "\(self.gateway)/self-service/login?flow=\(flow)",
                fields: [("content-type", "application/json")],
                body: JSONText.encode(choice)
            ),
            status: 422
        )
        // The same page by the name that the browser uses.
        guard page.hasPrefix("\(self.gateway)/") else { throw Failure(description: "a page elsewhere") }
        return (String(page.dropFirst(self.gateway.count)), flow, code)
    }

    /// The session token for the code that the app kept and the one that the browser has brought back.
    func sessionToken(kept: String, brought: String) async throws -> String {
        let codes = FormText.encoded([("init_code", kept), ("return_to_code", brought)])
        let call = ProviderCall("GET", "\(self.gateway)/sessions/token-exchange?\(codes)")
        return try await self.value(of: "session_token", in: call)
    }

    /// What the app behind the gateway answers to the native app.
    func hello(with sessionToken: String) async throws -> String {
        let call = ProviderCall("GET", "\(self.gateway)/hello", fields: [("x-session-token", sessionToken)])
        let answer = try await self.transport.send(call)
        guard answer.status == 200, let text = String(validating: answer.body, as: UTF8.self) else {
            throw Failure(description: "status \(answer.status) for its session")
        }
        return text
    }

    /// A text in the document that answers the call.
    private func value(of member: String, in call: ProviderCall, status: Int = 200) async throws -> String {
        guard let value = try await self.document(call, status: status)[member]?.string else {
            throw Failure(description: "an answer without \(member)")
        }
        return value
    }

    private func document(_ call: ProviderCall, status: Int = 200) async throws -> JSONValue {
        var call = call
        // By it users tell the app from others in the list of their sessions.
        call.fields.append(("user-agent", "DemoApp/1.0 (iPhone)"))
        let answer = try await self.transport.send(call)
        guard answer.status == status, let document = JSONText.decode(answer.body) else {
            throw Failure(description: "status \(answer.status)")
        }
        return document
    }
}
