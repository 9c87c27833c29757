import Rules
import TestSupport
import Testing
import Vocabulary

/// What holds in which event.
@Suite("Conditions of rules")
struct RuleConditionTests {
    /// A token minted in Germany and used in France, with a user whose traits are of every kind.
    static let event: JSONValue = [
        "session_transfer_token": [
            "client_id": "native", "scope": ["openid", "orders:read"],
            "request": [
                "ip": "192.0.2.7", "asn": "3320", "user_agent": "App/1",
                "geoip": ["countryCode": "DE", "cityName": "Köln", "latitude": .number(50.9)],
            ],
        ],
        "request": [
            "ip": "2001:db8::1", "hostname": "app.example.com", "user_agent": "Browser/1",
            "geoip": ["countryCode": "FR"],
        ],
        "user": [
            "user_id": "ada", "email": "ada@example.com", "email_verified": true, "level": 3, "score": .number(0.5),
            "groups": ["staff", "admins"], "nothing": .null, "address": ["country": "DE"],
        ],
        "client": ["client_id": "web"],
    ]

    static let holding = [
        "event.session_transfer_token.request.geoip.countryCode != event.request.geoip.countryCode",
        #"event.request.geoip.countryCode == "FR""#,
        "event.request.geoip.countryCode == 'FR'",
        #""FR" == event.request.geoip.countryCode"#,
        #"event.session_transfer_token.client_id == "native" and event.client.client_id == "web""#,
        #"event.request.ip in ["10.0.0.0/8", "2001:db8::/32"]"#,
        #"event.request.ip == "2001:DB8:0::1""#,
        #"event.session_transfer_token.request.ip in ["192.0.2.7"]"#,
        #"event.session_transfer_token.request.ip == "::ffff:192.0.2.7""#,
        "event.session_transfer_token.request.ip != event.request.ip",
        #"event.session_transfer_token.request.asn in ["3320", "7018"]"#,
        #""orders:read" in event.session_transfer_token.scope"#,
        #"not ("orders:write" in event.session_transfer_token.scope)"#,
        #"not "orders:write" in event.session_transfer_token.scope"#,
        #""admins" in event.user.groups"#,
        "event.user.email_verified == true", "event.user.level == 3", "event.user.level == 3.0",
        "event.user.score != 1", "event.user.level in [1, 2, 3]", #"event.user.address.country == "DE""#,
        #"event.user.email in ["x@example.com", "ada@example.com"]"#,
        #"event.user.user_id == "ada" or event.user.user_id == "bob""#,
        #"event.session_transfer_token.request.geoip.cityName == "Köln""#,
        "event.session_transfer_token.request.geoip.latitude == 50.9",
        "true", "not false", "not not true", "(true)", "true or false and false", "not (true and false)",
        #"event.user.quoted != "a \"quote\" and a \\""#,
        // What is missing equals what is missing, and differs from every value.
        "event.request.asn == missing", "event.request.asn != event.session_transfer_token.request.asn",
        #"event.request.asn != "3320""#, "event.user.unknown == event.request.asn", "event.user.nothing == missing",
        "event.user.unknown.deeper == missing", "event.user.email.deeper == missing",
        "event.session_transfer_token.request.ip != missing", "missing != event.user.email",
    ]

    static let failing = [
        #"event.request.geoip.countryCode == "fr""#, #"event.request.ip in ["192.0.2.0/24"]"#,
        "event.request.asn != missing", "event.request.asn != event.user.unknown",
        #"event.request.asn in ["3320"]"#, #"event.user.email_verified == "true""#, #"event.user.level == "3""#,
        #""staff" in event.user.email"#, #""staff" in event.user.unknown"#, "event.user.unknown in event.user.groups",
        "false", "true and false", "(true or true) and false", "not true or false",
        #"event.user.address == "DE""#, #"event.user.groups == "staff""#,
        // The same letters, composed in another way.
        "event.session_transfer_token.request.geoip.cityName == \"Ko\u{308}ln\"",
    ]

    @Test("A condition holds", arguments: Self.holding)
    func holds(text: String) throws {
        #expect(try RuleCondition(text).applies(to: Self.event))
    }

    @Test("A condition does not hold", arguments: Self.failing)
    func fails(text: String) throws {
        #expect(try !RuleCondition(text).applies(to: Self.event))
    }

    @Test(
        "An event without anything has nothing but missing fields",
        arguments: [JSONValue.null, [:], ["user": "ada"]]
    )
    func empty(event: JSONValue) throws {
        let countries = "event.session_transfer_token.request.geoip.countryCode != event.request.geoip.countryCode"
        #expect(try !RuleCondition(countries).applies(to: event))
        #expect(try RuleCondition(#"event.request.ip != "192.0.2.1""#).applies(to: event))
        #expect(try !RuleCondition(#"event.request.ip in ["0.0.0.0/0", "::/0"]"#).applies(to: event))
        #expect(try RuleCondition("event.request.ip == event.session_transfer_token.request.ip").applies(to: event))
    }

    @Test("A text that is no address differs from a missing address")
    func texts() throws {
        let condition = try RuleCondition("event.request.ip == event.user.office")
        #expect(!condition.applies(to: ["user": ["office": "north"]]))
        #expect(condition.applies(to: ["user": ["office": "::ffff:192.0.2.1"], "request": ["ip": "192.0.2.1"]]))
        #expect(condition.applies(to: ["user": [:]]))
    }

    struct Fault: CustomTestStringConvertible, Sendable {
        let text: String
        /// What the operator wrote there begins with this.
        let place: String
        let fix: String

        init(_ text: String, at place: String, _ fix: String) {
            self.text = text
            self.place = place
            self.fix = fix
        }

        var testDescription: String { self.text }
    }

    static let faults = [
        Fault(
            #"event.request.geoip.countrycode == "DE""#,
            at: "event.request.geoip",
            "event.request.geoip.countryCode?"
        ),
        Fault(#"event.request.country == "DE""#, at: "event.request", "event.request"),
        Fault(#"DE == event.request.geoip.countryCode"#, at: "DE", "quotes"),
        Fault(#"event.user == "ada""#, at: "event.user", "event.user.email"),
        Fault(#"event.user. == "ada""#, at: "event.user.", "event.user.user_id?"),
        Fault("event.request.asn == 3320", at: "3320", "quotes"),
        Fault("event.request.asn in [3320]", at: "3320", "quotes"),
        Fault(#"event.request.ip == "10.0.0.0/8""#, at: "\"10", "in ["),
        Fault(#"event.request.ip == "somewhere""#, at: "\"some", "correct"),
        Fault(#"event.request.ip in ["10.0.0.1/8"]"#, at: "\"10.0.0.1/8", "must be 0"),
        Fault(#"event.request.ip in ["192.0.2.1", 7]"#, at: "7", "check the address"),
        Fault(#"event.request.ip == event.request.hostname"#, at: "event.request.hostname", "another value"),
        Fault(#"event.request.ip in "10.0.0.0/8""#, at: "\"10", "[ and ]"),
        Fault(#""a" == "b""#, at: "\"a", "without quotes"),
        Fault(#""a" in ["a"]"#, at: "\"a", "without quotes"),
        Fault("missing == missing", at: "missing", "without quotes"),
        Fault(#"event.session_transfer_token.scope == "openid""#, at: "event.session", "in and then the list"),
        Fault(#"missing in event.user.groups"#, at: "missing", "another value"),
        Fault(#"event.user.groups in [missing]"#, at: "missing]", "quotes"),
        Fault("event.request.ip in []", at: "]", "quotes"),
        Fault(#"event.request.asn in ["1""#, at: "", "add ]"),
        Fault("event.user.email_verified", at: "", "== true"),
        Fault("event.request.ip", at: "", "compare it"),
        Fault("", at: "", "write e.g."),
        Fault("true and", at: "", "write e.g."),
        Fault("true true", at: "true", "join"),
        Fault("(true", at: "", "add )"),
        Fault("true)", at: ")", "join"),
        Fault(#"event.user.email = "a""#, at: "= ", "write =="),
        Fault(#"event.user.email === "a""#, at: "===", "write =="),
        Fault(#"event.user.email !== "a""#, at: "!==", "write !="),
        Fault("true && false", at: "&&", "write and"),
        Fault("true || false", at: "||", "write or"),
        Fault("!true", at: "!", "write not"),
        Fault(#"event.user.email == "a"#, at: "\"a", "add \""),
        Fault(#"event.user.email == "a\n""#, at: "\\n", "write \\\\"),
        Fault("event.user.level == 1.2.3", at: "1.2.3", "quotes"),
        Fault("event.user.level == 1e999", at: "1e999", "quotes"),
        Fault("event.user.level > 3", at: ">", "quotes"),
        Fault(
            "event.user.\(Array(repeating: "a", count: 9).joined(separator: ".")) == 1",
            at: "event.user",
            "write one"
        ),
    ]

    @Test("What is wrong is said with its place and how to mend it", arguments: Self.faults)
    func faulty(fault: Fault) throws {
        let error = try #require(throws: RuleFault.self) { try RuleCondition(fault.text) }
        let rest = String(String.UnicodeScalarView(fault.text.unicodeScalars.dropFirst(error.offset)))
        #expect(fault.place.isEmpty ? rest.isEmpty : rest.hasPrefix(fault.place), "at \(rest)")
        #expect(error.fix.contains(fault.fix), "\(error.fix)")
        #expect(!error.found.isEmpty && !error.allowed.isEmpty)
    }

    @Test("Depth and length are bounded")
    func bounds() throws {
        let deep = String(repeating: "(", count: 32) + "true" + String(repeating: ")", count: 32)
        #expect(try RuleCondition(deep).applies(to: [:]))
        let fault = try #require(throws: RuleFault.self) { try RuleCondition("(\(deep))") }
        #expect(fault.allowed == "at most 32 levels of not and parentheses")
        #expect(throws: RuleFault.self) { try RuleCondition(String(repeating: "not ", count: 500) + "true") }
        #expect(throws: RuleFault.self) { try RuleCondition(String(repeating: "(", count: 2000)) }
        let long = Array(repeating: "true", count: 256).joined(separator: " and ")
        #expect(throws: RuleFault.self) { try RuleCondition(long) }
        let most = Array(repeating: "true", count: 220).joined(separator: " and ")
        #expect(try RuleCondition(most).applies(to: [:]))
    }

    @Test("No garbage ends the process, and what is read has an answer")
    func garbage() throws {
        let words = [
            "event.request.ip", "event.user.email", "event.session_transfer_token.scope", "event.", ".", "\"a\"", "'",
            "\"", "\\", "7", "-", "-1", "1.5", "and", "or", "not", "in", "==", "!=", "=", "(", ")", "[", "]", ",",
            "missing", "true", "false", " ", "\t", "\u{0}", "é", "🏰", "\u{301}", "\r\n", "\"10.0.0.0/8\"",
        ]
        var numbers = SeededNumbers(seed: 7)
        var read = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 1...12, using: &numbers)
            let text = (0..<count).map { _ in words[Int.random(in: words.indices, using: &numbers)] }
                .joined(separator: Bool.random(using: &numbers) ? " " : "")
            do throws(RuleFault) {
                _ = try RuleCondition(text).applies(to: Self.event)
                read += 1
            } catch {
                #expect((0...text.unicodeScalars.count).contains(error.offset))
            }
        }
        #expect(read > 0)
    }

    @Test("A condition's fields are known with their places")
    func fields() throws {
        let condition = try RuleCondition(#"true and (event.request.asn == "1" or event.user.asn == "1")"#)
        #expect(condition.fields.map(\.field.name) == ["event.request.asn", "event.user.asn"])
        #expect(condition.fields.map(\.offset) == [10, 38])
        #expect(condition.fields.map(\.field.isSystemNumber) == [true, false])
        let places = try RuleCondition(
            "event.request.geoip.countryCode == event.user.geoip.countryCode or event.request.ip == missing"
        )
        #expect(places.fields.map(\.field.isPlace) == [true, false, false])
    }
}
