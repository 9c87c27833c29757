import AddressIntelligence
import Rules
import TestSupport
import Vocabulary

/// The operator's rules: any event has a judgement, and any text is a condition or a fault that can be shown.
enum RuleFuzzing {
    private static let book = RuleBook(
        [
            #"event.user.groups in ["a"] or "staff" in event.user.groups"#,
            "event.user.a.b.c == event.user.email and not (event.user.amr == missing)",
            #"event.request.ip in ["10.0.0.0/8", "2001:db8::/32"] or event.request.ip == event.session_transfer_token.request.ip"#,
            #"event.session_transfer_token.client_id != missing and "read" in event.session_transfer_token.scope"#,
            "event.user.auth_time == 1799999000 or event.request.geoip.latitude == 0.5",
            #"event.client.client_id == "web" or event.session.actor.sub != missing"#,
        ].compactMap { try? RuleCondition($0) }.enumerated().map { index, condition in
            Rule(
                name: "r\(index)",
                stages: Set(RuleStage.allCases),
                condition: condition,
                effect: .deny,
                isDryRun: true
            )
        }
    )
    private static let request: [ArbitraryJSON.Member] = [
        ("ip", #""192.0.2.1""#), ("asn", #""64496""#), ("user_agent", #""x""#), ("hostname", #""app.example.com""#),
        ("geoip", #"{"latitude":0.5,"countryCode":"DE"}"#),
        ("client_certificate", #"{"sha256":"00","subject":"CN=x","san":["x.example",""]}"#),
    ]
    private static let user: [ArbitraryJSON.Member] = [
        ("user_id", #""user-1""#), ("email", #""ada@example.com""#), ("groups", #"["staff",""]"#),
        ("auth_time", "1799999000"),
        ("a", #"{"b":{"c":"x"}}"#),
    ]
    private static let words = [
        "event.user.email", "event.request.ip", "event.request.asn", "event.user.groups", "event.session.actor.sub",
        "event.nobody", "event.", "==", "!=", "in", "and", "or", "not", "(", ")", "[", "]", ",", "true", "missing", "1",
        "-0.5",
        "1e400", #""10.0.0.0/8""#, #""staff""#, "\"", "'a'", "\\", "&&", "\u{E9}", "(((((((((((((((((",
        "not not not not not",
    ]

    /// The first byte says whether the others are an event or a condition.
    static func sample(_ chance: inout ArbitraryJSON) -> [UInt8] {
        guard !chance.happens(in: 3) else {
            let words = (0..<chance.number(below: 24)).map { _ in chance.element(of: self.words) }
            return [1] + chance.bytes(of: words.joined(separator: " "))
        }
        let token: [ArbitraryJSON.Member] = [
            ("client_id", #""native""#), ("scope", #"["read",""]"#), ("request", chance.object(like: self.request)),
        ]
        let event = chance.object(like: [
            ("request", chance.object(like: self.request)), ("user", chance.object(like: self.user)),
            ("session_transfer_token", chance.object(like: token)), ("client", #"{"client_id":"web"}"#),
            ("session", #"{"actor":{"sub":"user-2"}}"#),
        ])
        return [0] + chance.bytes(of: event)
    }

    static func rules(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let rest = Array(bytes.dropFirst())
        guard first & 1 == 0 else { return self.condition(String(decoding: rest, as: UTF8.self)) }
        guard let event = JSONText.decode(rest) else { return nil }
        let facts = RuleFacts(
            request: RuleFacts.Request(
                address: IPAddress(v4: 1),
                asn: .max,
                userAgent: event["user"]?["email"]?.string
            ),
            authority: event["request"]?["hostname"]?.string,
            userID: "user-1",
            traits: event["user"] ?? .null,
            clientID: nil
        )
        for stage in RuleStage.allCases {
            for judgement in [event, facts.event(nil)].map({ self.book.judge(stage, event: $0) }) {
                guard judgement.findings.count == 6, judgement.objection == nil else { return "a rule has no finding" }
            }
        }
        return nil
    }

    private static func condition(_ text: String) -> String? {
        do throws(RuleFault) {
            let condition = try RuleCondition(text)
            _ = condition.applies(to: [:])
            return nil
        } catch {
            let isShown = (0...text.unicodeScalars.count).contains(error.offset) && !error.found.isEmpty
            return isShown ? nil : "a fault that cannot be shown"
        }
    }
}
