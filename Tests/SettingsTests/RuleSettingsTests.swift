import Rules
import Settings
import Testing

@Suite("Rules in the settings")
struct RuleSettingsTests {
    private static let geo = "geo: {database: /var/lib/sallyport/GeoLite2-City.mmdb}\n"

    @Test("A rule has defaults for its stage, text and dry run, and rules keep their order")
    func defaults() throws {
        let settings = try #require(
            SettingsBench().settings(
                adding: """
                    rules:
                      - {name: b, when: "true", then: deny}
                      - {name: a, when: "false", then: deny, at: [mint, sign_in], text: No, dry_run: true}
                    """
            )
        )
        #expect(settings.rules.map(\.name) == ["b", "a"])
        #expect(settings.rules[0].stages == [.consume] && settings.rules[0].text == nil && !settings.rules[0].isDryRun)
        #expect(settings.rules[1].stages == [.mint, .signIn] && settings.rules[1].isDryRun)
        #expect(settings.geo == nil)
    }

    @Test("A rule about scopes says what is left of them, only where a client gets some")
    func scopes() throws {
        func text(_ more: String) -> String { "rules: [{name: a, when: \"true\", \(more)}]\n" }
        for (more, expected) in [
            ("scopes: {only: [openid, orders:read]}", Rule.Scopes(only: ["openid", "orders:read"])),
            ("scopes: {remove: offline_access}", Rule.Scopes(remove: ["offline_access"])),
            ("scopes: {only: [], remove: [a]}", Rule.Scopes(only: [], remove: ["a"])),
        ] {
            let settings = try #require(SettingsBench().settings(adding: text("at: exchange, then: scopes, \(more)")))
            #expect(settings.rules[0].effect == .scopes && settings.rules[0].scopes == expected)
            #expect(settings.rules[0].stages == [.exchange])
        }
        let scopes = "scopes: {remove: [a]}"
        for (more, key) in [
            ("at: [exchange, mint], then: scopes, \(scopes)", "then"), ("then: scopes, \(scopes)", "then"),
            ("at: exchange, then: deny, \(scopes)", "scopes"),
            ("at: exchange, then: scopes, text: x, \(scopes)", "text"),
            ("at: exchange, then: scopes, scopes: {remove: [\"a b\"]}", "scopes.remove[0]"),
        ] {
            #expect(SettingsBench().problems(adding: text(more)).map(\.key) == ["rules[0].\(key)"], "\(more)")
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let key: String
        /// The text at the place of the problem; nil: the value of the key.
        let place: String?
        let found: String

        init(_ text: String, _ key: String, at place: String? = nil, _ found: String) {
            (self.text, self.key, self.place, self.found) = (text, key, place, found)
        }

        var testDescription: String { self.text }
    }

    static let rows = [
        Row("when: event.request.user_agent == 7, then: deny", "when", at: "7", "a text compared with a number"),
        Row(#"when: 'event.request.user_agent == "it''s" and x', then: deny"#, "when", at: "x'", "the unknown field x"),
        Row(#"when: "event.request.hostname == \"a\" and x", then: deny"#, "when", at: "x\"", "the unknown field x"),
        Row(#"when: event.request.ip in ["10.0.0.1/8"], then: deny"#, "when", at: "\"10.0", "a text that is no block"),
        Row("when: (true, then: deny", "when", "the end"),
        Row(#"when: event.request.asn == "1", then: deny"#, "when", "event.request.asn"),
        Row(#"when: event.request.geoip.cityName == "Köln", then: deny"#, "when", "event.request.geoip.cityName"),
        Row(
            "when: event.session_transfer_token.client_id == event.client.client_id, then: deny, at: [consume, mint]",
            "when",
            "event.session_transfer_token.client_id"
        ),
        Row(
            "when: event.session.actor.sub != missing, then: deny, at: [mint, sign_in]",
            "when",
            "event.session.actor.sub"
        ),
        Row("when: event.session.actor.name == missing, then: deny", "when", at: "event", "the unknown field"),
        Row("when: true, then: sign_in, at: mint", "then", "sign_in in a rule that is not only for consume"),
        Row("when: true, then: sign_in, text: No", "text", "a text in a rule with then: sign_in"),
        Row("when: true, then: sign_in, at: exchange", "then", "sign_in in a rule that is not only for consume"),
        Row("when: true, then: scopes, at: exchange", "then", "scopes without scopes.only or scopes.remove"),
        Row("when: true, then: allow", "then", "\"allow\""),
        Row("when: true, then: deny, at: []", "at", "an empty list"),
        Row("when: true, then: deny, at: [login]", "at[0]", "\"login\""),
        Row("when: true", "then", "nothing"),
        Row("then: deny", "when", "nothing"),
    ]

    @Test("What is wrong with a rule is said with line and column", arguments: Self.rows)
    func faulty(row: Row) throws {
        // One key a line, as the commas within a condition are its own.
        let lines = row.text.split(separator: ", ").reduce(into: [String]()) { lines, part in
            if part.firstMatch(of: /^(when|then|at|text):/) != nil {
                lines.append("    " + part)
            } else {
                lines[lines.count - 1] += ", " + part
            }
        }
        let text = "rules:\n  - name: rule\n" + lines.joined(separator: "\n") + "\n"
        let problems = SettingsBench().problems(adding: text)
        let problem = try #require(problems.first, "\(problems)")
        #expect(problems.count == 1, "\(problems)")
        #expect(problem.key == "rules[0].\(row.key)")
        #expect(problem.found.hasPrefix(row.found), "\(problem)")
        guard let place = row.place else { return }
        let all = (SettingsBench.base + text).split(separator: "\n", omittingEmptySubsequences: false)
        let line = all[try #require(problem.line) - 1].unicodeScalars
        let rest = String(String.UnicodeScalarView(line.dropFirst(try #require(problem.column) - 1)))
        #expect(rest.hasPrefix(place), "\(problem): \(rest)")
    }

    @Test("A name twice, a database that is not there")
    func rest() {
        let twice = "rules:\n  - {name: a, when: \"true\", then: deny}\n  - {name: a, when: \"true\", then: deny}\n"
        #expect(SettingsBench().problems(adding: twice).map(\.key) == ["rules[1].name"])
        #expect(SettingsBench().problems(adding: "geo: {database: /nowhere}\n").map(\.key) == ["geo.database"])
        #expect(SettingsBench().problems(adding: "geo: {}\n").map(\.key) == ["geo.database"])
        let seed = """
            rules:
              - name: other-country
                when: event.session_transfer_token.request.geoip.countryCode != event.request.geoip.countryCode
                then: deny
            """
        #expect(SettingsBench().problems(adding: Self.geo + seed).map(\.description) == [])
        #expect(SettingsBench().problems(adding: seed).map(\.key) == ["rules[0].when", "rules[0].when"])
    }
}
