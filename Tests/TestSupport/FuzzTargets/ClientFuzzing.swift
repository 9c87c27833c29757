import Settings
import SignOn
import TestSupport
import Vocabulary

/// A client's metadata, as operators send them and as the store has them: they make a client or name a fault.
enum ClientFuzzing {
    private static let members: [ArbitraryJSON.Member] = [
        ("client_id", #""web""#), ("client_secret", #""a secret of the tests""#), ("app_type", #""regular_web""#),
        ("name", #""An app""#), ("callbacks", #"["https://app.example.com/callback"]"#),
        ("allowed_origins", #"["https://app.example.com"]"#), ("allowed_logout_urls", #"["https://app.example.com/"]"#),
        ("token_endpoint_auth_method", #""client_secret_post""#), ("grant_types", #"["authorization_code"]"#),
        ("refresh_token", #"{"token_lifetime":3600,"idle_token_lifetime":60,"leeway":0,"rotation_type":"rotating"}"#),
        ("jwks", #"{"keys":[{"kty":"EC","crv":"P-256","x":"","y":""}]}"#), ("client_metadata", #"{"a":"b"}"#),
        (
            "session_transfer",
            #"{"allowed_authentication_methods":["cookie"],"enforce_device_binding":"ip","allow_refresh_token":false}"#
        ), ("is_token_endpoint_ip_header_trusted", "true"), ("client_secret_file", #""x""#), ("calbacks", "[]"),
    ]

    /// Metadata as chance has them.
    static func sample(_ chance: inout ArbitraryJSON) -> [UInt8] {
        chance.bytes(of: chance.object(like: self.members))
    }

    /// The clients of a file, judged as the gateway judges them.
    private static let registry: (clients: [ClientSettings], base: ClientBase)? = {
        let file = """
            public_url: http://127.0.0.1:8080
            upstream: http://127.0.0.1:3000
            provider: {kratos: {public_url: "http://127.0.0.1:4433"}}
            asn: {csv: /asn.csv}
            clients:
              - client_id: native
                app_type: native
                session_transfer: {can_create_session_transfer_token: true}
              - client_id: web
                client_secret_file: web.secret
            """
        let files = [
            "/sallyport.yaml": file, "/asn.csv": "192.0.2.0/24,64496\n", "/web.secret": "a secret of the tests\n",
        ]
        let source = SettingsFiles(
            read: { path, _ throws(SettingsFiles.Fault) in
                guard let text = files[path] else { throw SettingsFiles.Fault("no such file") }
                return Array(text.utf8)
            },
            isReadable: { files[$0] != nil }
        )
        let loaded = try? SettingsLoader.load(
            file: "/sallyport.yaml",
            environment: [:],
            flags: InsecureFlags(http: true),
            files: source
        )
        return loaded.map { ($0.settings.clients, $0.clients) }
    }()

    static func metadata(_ bytes: [UInt8]) -> String? {
        guard let (clients, base) = self.registry else { return "the clients of the file are no settings" }
        guard let members = JSONText.decode(bytes) else { return nil }
        let registry = ClientRegistry(clients, base: base)
        do throws(ClientFault) {
            let normalised = try base.normalised(members)
            _ = registry.catalogue.complete(normalised, id: "web", hasSecret: false)
            _ = base.defaults.patch(to: normalised).leaves()
            _ = normalised.without(defaultsOf: base.defaults)
        } catch {
            if error.sentence.isEmpty { return "a fault without words" }
        }
        let secret = members["client_secret"]?.string.map { Secret($0) }
        registry.adopt([
            "web": RuntimeClient(patch: members, isDeleted: false, secret: secret, marks: []),
            "other": RuntimeClient(patch: members, isDeleted: false, secret: nil, marks: []),
        ])
        // A change alone makes no client.
        let isThere = Set(registry.catalogue.clients.map(\.id)).isSuperset(of: ["native", "web"])
        return isThere ? nil : "a client is lost"
    }
}
