import Calls
import Cryptography
import Providers
import Vocabulary

/// The demo's native app. It makes the HTTP requests that a real native app makes.
struct DemoNativeApp: Sendable {
    /// A call had no usable answer.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The gateway's origin, e.g. `http://127.0.0.1:8080`, and its host name.
    let gateway: String
    let host: String
    let transport: any CallTransport

    /// Signs the user in and mints a session-transfer token.
    func transferToken(for user: DemoUser) async throws -> String {
        let flow = try await self.value(of: "id", in: OutgoingCall("GET", "\(self.gateway)/self-service/login/api"))
        let signIn: JSONValue = [
            "method": "password", "identifier": .string(user.identifier), "password": .string(user.password),
        ]
        let session = try await self.value(
            of: "session_token",
            in: OutgoingCall(
                "POST",
                "\(self.gateway)/self-service/login?flow=\(flow)",
                fields: [("content-type", "application/json")],
                body: JSONText.encode(signIn)
            )
        )
        return try await self.accessToken(for: [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("client_id", DemoSettings.nativeClient),
            ("subject_token", session),
            ("subject_token_type", "urn:sallyport:params:oauth:token-type:session_token"),
            ("requested_token_type", "urn:auth0:params:oauth:token-type:session_transfer_token"),
            ("audience", "urn:\(self.host):session_transfer"),
        ])
    }

    // MARK: Sign-in in the browser

    /// Begins an OAuth sign-in in the browser (PKCE, RFC 7636).
    ///
    /// - Returns: The path to open in the browser, the `state`, and the code verifier.
    func beginInBrowser(returningTo url: String) -> (path: String, state: String, verifier: String) {
        let (state, verifier) = (Random.base64URL(16), Random.base64URL(32))
        let query = FormText.encoded([
            ("response_type", "code"), ("client_id", DemoSettings.nativeClient), ("redirect_uri", url),
            ("scope", "openid offline_access \(DemoSettings.apiScope)"), ("state", state),
            ("code_challenge", Base64URL.encode(SHA256.digest(Array(verifier.utf8)).bytes)),
            ("code_challenge_method", "S256"),
        ])
        return ("/authorize?\(query)", state, verifier)
    }

    /// Redeems an authorization code for an access token.
    func accessToken(code: String, verifier: String, returnedTo url: String) async throws -> String {
        try await self.accessToken(for: [
            ("grant_type", "authorization_code"), ("client_id", DemoSettings.nativeClient), ("redirect_uri", url),
            ("code", code), ("code_verifier", verifier),
        ])
    }

    private func accessToken(for grant: [(name: String, value: String)]) async throws -> String {
        try await self.value(
            of: "access_token",
            in: OutgoingCall(
                "POST",
                "\(self.gateway)/oauth/token",
                fields: [("content-type", "application/x-www-form-urlencoded")],
                body: Array(FormText.encoded(grant).utf8)
            )
        )
    }

    /// Calls the API behind the gateway, and returns the answer.
    func order(with accessToken: String) async throws -> String {
        let fields = [(name: "authorization", value: "Bearer \(accessToken)")]
        let answer = try await self.transport.send(OutgoingCall("GET", "\(self.gateway)/orders/1", fields: fields))
        guard answer.status == 200, let text = String(validating: answer.body, as: UTF8.self) else {
            throw Failure(description: "status \(answer.status) for its access token")
        }
        return text
    }

    /// Sends a call, and returns a text member of the answer.
    private func value(of member: String, in call: OutgoingCall) async throws -> String {
        guard let value = try await self.document(call)[member]?.string else {
            throw Failure(description: "an answer without \(member)")
        }
        return value
    }

    private func document(_ call: OutgoingCall) async throws -> JSONValue {
        var call = call
        // Shown to users in the list of their sessions.
        call.fields.append(("user-agent", "DemoApp/1.0 (iPhone)"))
        let answer = try await self.transport.send(call)
        guard answer.status == 200, let document = JSONText.decode(answer.body) else {
            throw Failure(description: "status \(answer.status)")
        }
        return document
    }
}
