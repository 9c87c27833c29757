import AddressIntelligence
import Rules
import Vocabulary

/// Applies the rules to an event, for `explain --event`.
struct RuleTrial {
    let rules: [Rule]
    let places: GeoDirectory?
    let numbers: ASNDirectory?

    /// Returns a title and lines for each stage.
    ///
    /// An event with a session-transfer token is judged at the consume stage, any other event at all other stages.
    /// Missing `geoip` and `asn` values are looked up by the request's address.
    ///
    /// - Throws: Why `document` is not a JSON object.
    func steps(of document: [UInt8]) throws(JSONFault) -> [(title: String, lines: [String])] {
        var event = try JSONText.object(document)
        event["request"] = self.completed(event["request"])
        if var token = event["session_transfer_token"]?.members {
            token["request"] = self.completed(token["request"])
            event["session_transfer_token"] = .object(token)
        }
        let stages: [RuleStage] = event["session_transfer_token"] == nil ? [.mint, .signIn, .exchange] : [.consume]
        let text = String(decoding: JSONText.encode(.object(event)), as: UTF8.self)
        return [("event", [text])]
            + stages.map { ("rules at \($0.rawValue)", self.lines(at: $0, .object(event))) }
    }

    private func completed(_ request: JSONValue?) -> JSONValue? {
        guard var members = request?.members, let address = members["ip"]?.string.flatMap({ IPAddress($0) }) else {
            return request
        }
        if members["geoip"] == nil { members["geoip"] = self.places?.place(of: address)?.event }
        if members["asn"] == nil { members["asn"] = self.numbers?.asn(of: address).map { .string(String($0)) } }
        return .object(members)
    }

    private func lines(at stage: RuleStage, _ event: JSONValue) -> [String] {
        let rules = self.rules.filter { $0.stages.contains(stage) }
        let objection = RuleBook(rules).judge(stage, event: event).objection
        let deciding = objection.flatMap { objection in rules.firstIndex { $0.name == objection.rule } }
        let lines = rules.enumerated().map { index, rule in
            guard rule.condition.applies(to: event) else { return "\(rule.name): does not apply" }
            if rule.isDryRun { return "\(rule.name): applies as a dry run, otherwise \(Self.words(rule))" }
            guard index == deciding || rule.effect == .scopes && index < deciding ?? rules.count else {
                return "\(rule.name): applies; an earlier rule decides"
            }
            return "\(rule.name): applies; \(Self.words(rule))"
        }
        return lines + [objection.map { "refused, \($0.reason.rawValue)" } ?? "not refused"]
    }

    private static func words(_ rule: Rule) -> String {
        switch rule.effect {
        case .deny: rule.text.map { "denies: \($0)" } ?? "denies"
        case .signIn: "asks the user to sign in"
        case .scopes:
            "removes scopes: " + Self.words(rule.scopes)
        }
    }

    private static func words(_ scopes: Rule.Scopes) -> String {
        var words: [String] = []
        if let only = scopes.only { words.append(only.isEmpty ? "all" : "all but \(only.joined(separator: " "))") }
        if !scopes.remove.isEmpty { words.append(scopes.remove.joined(separator: " ")) }
        return words.joined(separator: ", and ")
    }
}
