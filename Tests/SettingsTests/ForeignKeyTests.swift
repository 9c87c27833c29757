import Settings
import Testing

/// Keys that people write as in other products.
@Suite struct ForeignKeyTests {
    private static let bench = SettingsBench()

    @Test(
        "A key of another product is answered with the key that is meant there, or with what to do instead",
        arguments: [
            ("routes: [{path: /a, groups: [x]}]", "routes[0].groups", "write require: {groups_any: [...]}"),
            ("routes: [{path: /a, role: x}]", "routes[0].role", "write require: {groups_any: [...]}"),
            ("routes: [{path: /a, allowed_users: [x]}]", "routes[0].allowed_users", "routes ask for groups: write "),
            ("routes: [{path: /a, public: true}]", "routes[0].public", "write auth: public"),
            ("routes: [{path: /a, policy: bypass}]", "routes[0].policy", "write auth: public, auth: optional, or "),
            ("routes: [{path: /a, headers: {}}]", "routes[0].headers", "write request_headers or response_headers"),
            ("routes: [{path: /a, proxy_pass: x}]", "routes[0].proxy_pass", "write upstream"),
            ("routes: [{path: /a, websocket: true}]", "routes[0].websocket", "remove it: WebSockets pass"),
            ("headers: {X-User: email}", "headers", "write identity.headers"),
            ("session: {lifetime: 1h}", "session.lifetime", "write absolute"),
            ("session: {inactivity: 5m}", "session.inactivity", "write idle"),
            ("session: {domain: example.com}", "session.domain", "remove it: a cookie is for one host"),
            ("session: {redis: {}}", "session.redis", "write store.redis"),
            ("cookie_domain: example.com", "cookie_domain", "remove it: a cookie is for one host"),
            ("cookie_secure: true", "cookie_secure", "remove it: the cookie is always HttpOnly"),
            ("cookie_expire: 1h", "cookie_expire", "write session.absolute"),
            ("redirect_url: https://x", "redirect_url", "remove it: register the URL /.sallyport/callback"),
            ("clients: [{client_id: a, redirect_uris: [x]}]", "clients[0].redirect_uris", "write callbacks"),
            ("oidc_issuer_url: https://x", "oidc_issuer_url", "write provider.oidc with issuer and client_id"),
            ("forward_auth: true", "forward_auth", "write authorization.listen and authorization.peers"),
            ("auth_request: true", "auth_request", "write authorization.listen and authorization.peers"),
            ("wildcard: true", "wildcard", "write an element of hosts for each name, or one for all of a"),
            ("email_domains: [example.com]", "email_domains", "write provider.oidc.allow with groups, emails or "),
            ("skip_auth_routes: [/a]", "skip_auth_routes", "write an element of routes for each path"),
            ("access_control: {}", "access_control", "write routes, with auth or require for each path"),
            ("metrics: true", "metrics", "write admin.listen, which has /metrics"),
            ("port: 80", "port", "write listen"), ("ldap: {}", "ldap", "remove it: use an OpenID provider"),
            ("tls_cert_file: x", "tls_cert_file", "write tls.certificate_file"),
        ]
    )
    func answers(line: String, key: String, fix: String) {
        let problem = Self.bench.problems(SettingsBench.base + line + "\n").first { $0.key == key }
        #expect(problem?.fix.hasPrefix(fix) == true, "\(String(describing: problem))")
    }

    @Test("The names that are allowed are listed only where nothing better is known")
    func listsNamesOnlyWithoutAHint() {
        let lines = ["upsteam: x", "groups: [x]", "limits: {max_sessions: 5}", "redis: {}", "secret: x"]
        for line in lines {
            let problems = Self.bench.problems(SettingsBench.base + line + "\n")
            #expect(!problems.isEmpty && problems.allSatisfy { !$0.description.contains("allowed: ") }, "\(problems)")
        }
        let spelled = Self.bench.problems(SettingsBench.base + "upsteam: x\n").first?.description
        #expect(spelled?.hasSuffix(": upsteam: found an unknown key; did you mean upstream?") == true)
        for line in ["zzzzzz: x", "routes: [{path: /b, require: {zzzzzz: [x]}}]"] {
            let problems = Self.bench.problems(SettingsBench.base + line + "\n")
            #expect(problems.contains { $0.description.contains("an unknown key; allowed: ") }, "\(problems)")
        }
    }

    @Test("The place counts: below a host as at the top, and elsewhere the table's own key of that name")
    func places() {
        let groups = "write require: {groups_any: [...]}"
        #expect(ForeignKeys.sentence(for: "groups", at: "hosts[1].routes[2].groups") == groups)
        #expect(ForeignKeys.sentence(for: "issuer_url", at: "providers[0].oidc.issuer_url") == "write issuer")
        #expect(ForeignKeys.sentence(for: "groups", at: "limits.groups") == nil)
        #expect(
            ForeignKeys.sentence(for: "groups", at: "hosts[0].routes[0].require.groups")?.hasPrefix("write groups_any")
                == true
        )
        #expect(ForeignKeys.sentence(for: "upstream", at: "session.upstream") == nil)
    }

    @Test("Every key that a sentence names exists, and no name is a key at its own place")
    func targets() {
        let paths = Set(Section.file.allKeys().map(\.path))
        for advice in ForeignKeys.all {
            #expect(!advice.names.isEmpty && (!advice.keys.isEmpty || advice.sentence.hasPrefix("remove it: ")))
            for key in advice.keys { #expect(paths.contains(key), "\(key)") }
            for section in advice.sections ?? [""] {
                for name in advice.names {
                    let place = section.isEmpty ? name : "\(section).\(name)"
                    let isKey = paths.contains { $0.replacing("[]", with: "") == place }
                    #expect(!isKey, "\(place)")
                }
            }
        }
    }

    @Test("No name has two meanings at one place")
    func isUnambiguous() {
        for advice in ForeignKeys.all {
            for section in advice.sections ?? [] {
                for name in advice.names {
                    let path = section.isEmpty ? name : "\(section).\(name)"
                    #expect(ForeignKeys.sentence(for: name, at: path) == advice.sentence, "\(path)")
                }
            }
        }
    }
}
