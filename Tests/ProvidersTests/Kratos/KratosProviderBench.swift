import Calls
import Providers
import Sessions
import Settings
import StoreBench
import Vocabulary

/// A Kratos whose answers a test scripts, and the provider in front of it.
struct KratosProviderBench {
    static let url = "http://kratos:4433"
    static let admin = "http://kratos:4434"
    static let whoami = "\(url)/sessions/whoami"
    static let ready = "\(url)/health/ready"
    static let token = "ory_st_MP2YWEMeM8MxjkGKpH4dqOQ4Q4DlSPaj"
    static let cookie = "MTcwMDAwMDAwMHxEWDhFQVFMX2dBQUJFQUVRQUFB_-x="

    let transport = ScriptedTransport()
    let clock = MovableClock()
    let provider: KratosProvider
    let told = NotedWords()

    init(_ change: (inout KratosSettings) -> Void = { _ in }) {
        var settings = KratosSettings(publicURL: PublicURL(isHTTPS: false, host: "kratos", port: 4433))
        change(&settings)
        self.provider = KratosProvider(
            settings,
            transport: self.transport,
            clock: self.clock.clock,
            reportOutage: { [told] in told.add($0) }
        )
        self.transport.on(Self.ready, .json(["status": "ok"]))
    }

    /// A session as Kratos writes it, with these members instead.
    func session(_ changes: [String: JSONValue] = [:]) -> JSONValue {
        let now = self.clock.now
        var members: [String: JSONValue] = [
            "id": "9f425a8d-7efc-4768-8f23-7647a74fdf13", "active": true,
            "expires_at": .string(now.advanced(by: .seconds(3600)).rfc3339),
            "authenticated_at": .string(now.advanced(by: .seconds(-60)).rfc3339),
            "authenticator_assurance_level": "aal1",
            "authentication_methods": [
                ["method": "password", "aal": "aal1"], ["method": "totp", "aal": "aal2"], ["method": "password"],
            ],
            "issued_at": .string(now.advanced(by: .seconds(-60)).rfc3339),
            "identity": [
                "id": "7b9f3e2a-5c1d-4f8e-9a3b-2d6c8e4f7a9b", "schema_id": "person",
                "schema_url": "http://kratos/schemas",
                "state": "active", "traits": ["email": "ada@example.com", "name": ["first": "Ada"]],
                "metadata_public": ["plan": "gold"],
            ],
        ]
        for (name, value) in changes { members[name] = value == "absent" ? nil : value }
        return .object(members)
    }

    /// Kratos's error envelope.
    static func error(_ code: Int, id: String? = nil, page: String? = nil) -> CallAnswer {
        var error: [String: JSONValue] = ["code": .integer(Int64(code)), "status": "Status", "message": "A message"]
        error["id"] = id.map { .string($0) }
        var members: [String: JSONValue] = ["error": .object(error)]
        members["redirect_browser_to"] = page.map { .string($0) }
        return .json(.object(members), status: code)
    }
}
