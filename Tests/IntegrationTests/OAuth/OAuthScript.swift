import Foundation
import GatewayBench
import Testing

/// Runs Python scripts that use OAuth clients which nobody here wrote against the binary. A script gets the gateway's origin
/// the secret of the client `server`, the private key of the client `signer` as a JWK, and further arguments, and prints
/// `done`.
enum OAuthScript {
    static let secret = "a client's secret of the tests"

    /// Prints a JWK set of one public key, and below it the private key.
    private static let keys = """
        import json
        from joserfc.jwk import RSAKey
        key = RSAKey.generate_key(2048)
        print(json.dumps({'keys': [key.as_dict(private=False)]}))
        print(json.dumps(key.as_dict(private=True)))
        """

    /// Runs a script; a failed assertion in it fails the test.
    ///
    /// - Parameters:
    ///   - port: The gateway's; nil: a free one.
    ///   - clients: Further clients of the settings.
    static func run(_ script: String, port: Int? = nil, clients: String = "", _ arguments: [String] = []) throws {
        let python = try #require(OryClient.python)
        let keys = try Servers.run(python, ["-c", Self.keys]).output.split(separator: "\n").map(String.init)
        try #require(keys.count == 2)
        let app = try FakeUpstream()
        defer { app.stop() }
        let port = try port ?? ServerPorts.take()
        let origin = "http://127.0.0.1:\(port)"
        let settings = Config.file(
            upstream: app.port,
            routes: """
                  - {path: /**}
                  - {path: /orders/**, name: orders, require: {scopes: ["orders:read"]}}
                """,
            clients: """
                  - client_id: app
                    callbacks: ["http://127.0.0.1/callback"]
                    session_transfer: {can_create_session_transfer_token: true}
                  - client_id: server
                    client_secret_file: server.secret
                    callbacks: ["http://127.0.0.1/callback"]
                    allowed_logout_urls: ["http://127.0.0.1:1/bye"]
                    session_transfer: {allowed_authentication_methods: [cookie, query], enforce_device_binding: ip}
                  - client_id: signer
                    jwks_file: signer.jwks.json
                    token_endpoint_auth_method: private_key_jwt
                    callbacks: ["http://127.0.0.1/callback"]
                  - client_id: express
                    callbacks: ["http://127.0.0.1/callback"]
                    allowed_logout_urls: ["http://127.0.0.1:1/bye"]
                    grant_types: [implicit]
                \(clients)
                """,
            publicURL: origin,
            listen: "127.0.0.1:\(port)",
            more: """
                apis:
                  - audience: https://api.example.com
                    scopes: ["orders:read", "orders:write"]
                    routes: [orders]
                    resource_servers: [server]
                  - {audience: "https://other.example.com", scopes: ["orders:read"]}
                """
        )
        let files = ["server.secret": Self.secret + "\n", "signer.jwks.json": keys[0]]
        try Gateway.with(settings, files: files) { gateway throws in
            let run = try Servers.run(python, ["-c", script, origin, Self.secret, keys[1]] + arguments)
            #expect(run.status == 0 && run.output == "done\n", "\(run.output)")
            for prefix in ["spr_", "spa_", "spc_", "spt_", "spq_"] { #expect(!gateway.output.contains(prefix)) }
        }
    }
}
