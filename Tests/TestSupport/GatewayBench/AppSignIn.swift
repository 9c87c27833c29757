/// What a native app has after it began a sign-in with the browser: the flow's id, and the code that it keeps.
package struct AppSignIn: Sendable {
    package let flow: String
    package let code: String

    /// The code in the URL with which a browser comes back to the app.
    package static func code(in url: String) throws -> String {
        guard let code = url.firstMatch(of: /[?&]code=([^&]+)/) else { throw BenchFailure("no code: \(url)") }
        return String(code.1)
    }
}

/// The two-code exchange, step by step, so that each step can reach another gateway.
extension Gateway {
    /// The app begins a flow with a code.
    package func beginAppSignIn(_ kind: String = "login", fields: [String] = []) throws -> AppSignIn {
        let query = "return_session_token_exchange_code=true&return_to=myapp%3A%2F%2Fauth%2Fcallback"
        let answer = try self.get("/self-service/\(kind)/api?\(query)", fields)
        guard let id = answer.text.firstMatch(of: /"id":"([0-9a-f-]{36})"/),
            let code = answer.text.firstMatch(of: /"session_token_exchange_code":"([^"]+)"/)
        else { throw BenchFailure("no flow: \(answer.lines) \(answer.text)") }
        return AppSignIn(flow: String(id.1), code: String(code.1))
    }

    /// The browser fills the gateway's form in. Returns the URL of the app to which it is sent.
    package func signIn(for app: AppSignIn, as user: User = .ada, fields: [String] = []) throws -> String {
        let sent = try self.request(
            Request.post(
                "/self-service/login?flow=\(app.flow)",
                ["Content-Type: application/json"] + fields,
                body: #"{"method":"oidc","provider":"static"}"#
            )
        )
        guard sent.status == 422, sent.text.contains("redirect_browser_to") else {
            throw BenchFailure("no way to the browser: \(sent.lines) \(sent.text)")
        }
        let answer = try self.request(
            Request.post(
                "/.sallyport/app",
                ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"] + fields,
                body: "flow=\(app.flow)&identifier=\(user.identifier)&password=\(user.password)"
            )
        )
        guard let location = answer.value("location") else {
            throw BenchFailure("no way back to the app: \(answer.lines) \(answer.text)")
        }
        return location
    }

    /// The app exchanges its code and the one that the browser brought back.
    package func exchange(
        _ app: AppSignIn,
        _ returned: String,
        fields: [String] = [],
        from source: String? = nil
    ) throws -> Answer {
        let target = "/sessions/token-exchange?init_code=\(app.code)&return_to_code=\(returned)"
        return try self.get(target, fields, from: source)
    }
}
