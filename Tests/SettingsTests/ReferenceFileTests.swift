import Settings
import Testing

@Suite("The files in Config")
struct ReferenceFileTests {
    @Test("the reference file is valid as it stands")
    func referenceIsValid() throws {
        #expect(SettingsBench().problems(try SettingsBench.config("sallyport.reference.yaml")).map(\.description) == [])
    }

    @Test(
        "the small file and the examples are valid as they stand",
        arguments: ["sallyport.yaml", "sallyport.hosts.yaml"]
    )
    func examplesAreValid(name: String) throws {
        let loaded = try SettingsBench().load(try SettingsBench.config(name)).get()
        #expect(loaded.warnings == [])
    }

    @Test("the reference names every key that the decoder knows, below a comment that says type, default and range")
    func referenceIsComplete() throws {
        let named = try Self.namedKeys()
        for (path, key) in Section.file.allKeys() where !path.hasPrefix("routes[]") && !Self.isRepeated(path) {
            let comment = try #require(named[path], "the reference lacks \(path)")
            #expect(comment == key.summary, "the comment above \(path)")
        }
    }

    @Test("the reference names no key that the decoder does not know")
    func referenceHasNothingElse() throws {
        let known = Set(Section.file.allKeys().map(\.path))
        let own = try Self.namedKeys().keys.filter { !Self.hasOwnName($0) }
        #expect(own.filter { !known.contains($0) } == [])
    }

    @Test("the schema is the table of keys")
    func schemaIsCurrent() throws {
        // When a key changes, JSONSchema.text is the new content of the file.
        #expect(try SettingsBench.config("sallyport.schema.json") == JSONSchema.text)
    }

    @Test("every default that the reference documents is the real one")
    func defaultsAreReal() {
        var checked = 0
        for (path, key) in Section.file.allKeys() where !path.hasPrefix("hosts[]") && !Self.isRepeated(path) {
            guard let fallback = key.fallback, !Self.inWords.contains(path) else { continue }
            let steps = path.split(separator: ".").map(String.init)
            let environment = Self.needed.first { path.hasPrefix($0.path) }?.environment ?? [:]
            let bench = SettingsBench(environment: environment)
            let implied = bench.load(Self.file(steps, value: nil))
            let explicit = bench.load(Self.file(steps, value: Self.text(fallback, key.kind)))
            #expect(throws: Never.self, "\(path)") { _ = try implied.get() }
            #expect(throws: Never.self, "\(path): \(fallback)") { _ = try explicit.get() }
            #expect((try? implied.get().settings) == (try? explicit.get().settings), "\(path): \(fallback)")
            checked += 1
        }
        #expect(checked > 60)
    }

    /// Whether the key is one of `provider` in an element of `providers`.
    static func isRepeated(_ path: String) -> Bool {
        path.hasPrefix("providers[].") && !Self.ofElement.contains(path)
    }

    /// The keys that only an element of `providers` has.
    private static let ofElement = Set(["name", "label", "icon_file", "essential"].map { "providers[].\($0)" })

    /// Whether the last step of the path is a name that the operator chooses.
    private static func hasOwnName(_ path: String) -> Bool {
        path == "upstreams.*" || path.hasPrefix("identity.headers.") || path.hasPrefix("identity.assertion.claims.")
            || path.hasPrefix("telemetry.attributes.")
            || path.hasPrefix("exchange.providers.")
    }

    /// Defaults that are written in words, because they depend on other keys or on the machine.
    private static let inWords = Set<String>([
        "routes", "routes[].name", "routes[].identity_encoding", "routes[].methods", "routes[].upstream",
        "routes[].handoff",
        "routes[].max_body", "routes[].timeouts.response", "event_loops", "secret_file",
        "listen[].tls", "tls.certificates[].default", "listen[].protocols", "listen[].client_certificates",
        "upstreams.*.ca_file", "upstreams.*.server_name", "upstreams.*.servers[].server_name",
        "upstreams.*.health.status", "upstreams.*.health.host", "upstreams.*.client_share",
        "clients[].client_secret_file", "clients[].jwks_file",
        "clients[].provider", "clients[].providers", "providers[].label", "providers[].icon_file",
        "providers[].essential",
        "clients[].token_endpoint_auth_method", "provider.static.users[].id",
        "provider.oidc.acr_values", "provider.oidc.introspection.url", "provider.oidc.introspection.client_id",
        "identity.headers", "limits.connections_per_address", "signing_key_file", "routes[].audience",
        "identity.assertion.claims", "clients[].refresh_token.token_lifetime",
        "clients[].mobile.ios.app_bundle_identifier", "clients[].initiate_login_uri",
        "clients[].backchannel_logout_uri",
        "clients[].refresh_token.idle_token_lifetime", "clients[].session_transfer.lifetimes.idle",
        "clients[].session_transfer.lifetimes.absolute", "session.max_per_user.browser", "session.max_per_user.native",
        "provider.kratos.admin_url", "provider.kratos.ca_file",
        "exchange.providers", "admin.tokens_file", "admin.scim.provider", "admin.scim.match", "rules[].text",
        "telemetry.ca_file", "telemetry.attributes",
        "pages.name", "pages.logo", "pages.icon", "pages.colour", "pages.support_url", "pages.change_password_url",
        "pages.templates_dir",
    ]).union(
        ["oidc", "oidc.introspection", "oauth2", "introspection"].flatMap { provider in
            ["client_secret_file", "client_key_file", "client_authentication", "ca_file", "claims.traits"]
                .map { "provider.\(provider).\($0)" }
        }
    )

    /// Variables with what else the keys below a path need.
    static let needed: [(path: String, environment: [String: String])] = [
        (
            "store.redis.",
            ["SALLYPORT_REDIS_URL": "redis://127.0.0.1", "SALLYPORT_SECRET_FILE": "/etc/sallyport/secret"]
        ),
        (
            "tls.",
            [
                "SALLYPORT_TLS_CERTIFICATE_FILE": "/etc/sallyport/client.pem",
                "SALLYPORT_TLS_KEY_FILE": "/etc/sallyport/client.key",
            ]
        ), ("provider.introspection.", ["SALLYPORT_PROVIDER_INTROSPECTION_CLIENT_AUTHENTICATION": "none"]),
    ]

    /// What else a mapping needs when one of its keys is written.
    private static let required: [String: String] = [
        "public_url": "https://app.example.com", "origins": "[\"https://b.example.com\"]",
        "url": "http://127.0.0.1:3001",
        "client_id": "app", "identifier": "ada", "password_hash": passwordHash, "username": "subject",
        "password_file": "/etc/sallyport/app-password", "issuer": "https://id.example.com", "name": "id",
        "authorization_url": "https://id.example.com/a", "token_url": "https://id.example.com/t",
        "userinfo_url": "https://id.example.com/u", "claims": "{subject: id}", "subject": "id", "audiences": "[api]",
        "audience": "https://api.example.com",
        "bundle_ids": "[com.example.app]", "team_id": "TTTTTTTTTT", "key_id": "KKKKKKKKKK",
        "private_key_file": "/etc/sallyport/apple.p8", "app_id": "\"1\"",
        "app_secret_file": "/etc/sallyport/facebook.secret", "when": "\"true\"", "then": "deny",
        "listen": "127.0.0.1:9092", "peers": "[127.0.0.1]", "address": "127.0.0.1:8081", "from": "[127.0.0.1]",
        "max_age": "1d",
    ]

    /// A file with `value` at a path, or only with what leads to that path.
    static func file(_ steps: [String], value: String?) -> String {
        var members = ["public_url: https://app.example.com", "upstream: http://127.0.0.1:3000"]
        let needsUsers = steps.first != "provider"
        if needsUsers {
            members.append("provider: {static: {users: [{identifier: ada, password_hash: \"\(passwordHash)\"}]}}")
        }
        if let name = steps.first, steps.count > 1 || value != nil {
            members.append(self.member(name, steps.dropFirst(), .file, value))
        }
        return members.joined(separator: "\n") + "\n"
    }

    private static func member(_ step: String, _ rest: ArraySlice<String>, _ section: Section, _ value: String?)
        -> String
    {
        let isList = step.hasSuffix("[]")
        let name = isList ? String(step.dropLast(2)) : step
        var rest = rest
        guard let key = section[name] else { return "" }
        let below = key.kind.section?.section
        guard let below, let next = rest.first else { return "\(name): \(value ?? "")" }
        let isNamed = next == "*"
        if isNamed { rest = rest.dropFirst() }
        guard let child = rest.first else { return "" }
        let childName = child.hasSuffix("[]") ? String(child.dropLast(2)) : child
        var members = below.keys.filter { $0.isRequired && $0.name != childName }.map {
            "\($0.name): \(self.required[$0.name] ?? "")"
        }
        if name == "upstreams", childName != "url", childName != "servers" {
            // One server alone is never left out.
            members.append("servers: [http://127.0.0.1:3001, http://127.0.0.1:3002]")
        }
        // An empty mapping below stands as `{}`.
        if value != nil || rest.count > 1 { members.append(self.member(child, rest.dropFirst(), below, value)) }
        let text = "{\(members.joined(separator: ", "))}"
        if isNamed { return "\(name): {x: \(text)}" }
        return isList ? "\(name): [\(text)]" : "\(name): \(text)"
    }

    /// A documented default as YAML.
    private static func text(_ fallback: String, _ kind: SettingKind) -> String {
        switch kind {
        case .list:
            fallback == "none"
                ? "[]" : "[\(fallback.split(separator: ", ").map { "\"\($0)\"" }.joined(separator: ", "))]"
        case .text, .choice, .path: "\"\(fallback)\""
        default: fallback
        }
    }

    /// The keys in the reference, commented-out ones included, each with the comment above its first appearance.
    private static func namedKeys() throws -> [String: String] {
        var named: [String: String] = [:]
        var comment: [String] = []
        var above: [(indent: Int, path: String)] = []
        for line in try SettingsBench.config("sallyport.reference.yaml").split(
            separator: "\n",
            omittingEmptySubsequences: false
        ) {
            let indent = line.prefix { $0 == " " }.count
            var body = line.dropFirst(indent)
            if body.hasPrefix("# ") {
                comment.append(String(body.dropFirst(2)))
                continue
            }
            defer { comment = [] }
            if body.hasPrefix("#") { body = body.dropFirst() }
            let isElement = body.hasPrefix("- ")
            if isElement { body = body.dropFirst(2) }
            let name = body.prefix { $0 != ":" }
            guard !name.isEmpty, name.endIndex < body.endIndex else { continue }
            if isElement {
                while let last = above.last, last.indent >= indent { above.removeLast() }
                above.append((indent, (above.last?.path ?? "") + "[]"))
            }
            let depth = indent + (isElement ? 2 : 0)
            while let last = above.last, last.indent >= depth { above.removeLast() }
            let parent = above.last?.path ?? ""
            let path = parent == "upstreams" ? "upstreams.*" : parent.isEmpty ? String(name) : "\(parent).\(name)"
            above.append((depth, path))
            if named[path] == nil { named[path] = comment.joined(separator: " ") }
        }
        return named
    }
}

extension SettingsKey {
    /// `duration, default: 30m, range: 1m to 30d. Why.`: the comment above the key in the reference file.
    var summary: String {
        var words = [self.kind.name]
        if self.isRequired { words.append("required") }
        if let fallback = self.fallback { words.append("default: \(fallback)") }
        if let range = self.kind.range { words.append("range: \(range)") }
        return words.joined(separator: ", ") + ". " + self.purpose
    }
}
