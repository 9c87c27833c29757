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

    /// A text in the document that answers the call.
    private func value(of member: String, in call: ProviderCall) async throws -> String {
        let answer = try await self.transport.send(call)
        guard answer.status == 200, let value = JSONText.decode(answer.body)?[member]?.string else {
            throw Failure(description: "status \(answer.status) without \(member)")
        }
        return value
    }
}
