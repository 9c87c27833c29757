import Vocabulary

/// The type of an operand, known when the rules are loaded.
enum RuleType: String, Sendable {
    case text = "a text"
    case number = "a number"
    case boolean = "true or false"
    /// An IP address.
    case address = "an address"
    case texts = "a list of texts"
    /// A trait of the user. Its type is known only when a user signs in. Values of different types are never equal.
    case any = "a value"
    /// The word `missing`.
    case missing = "missing"
}

/// A field of the event (`RuleFacts.event`).
package struct RuleField: Sendable, Equatable {
    /// The names on the path to the field, without `event`.
    let path: [String]
    let type: RuleType

    /// The name of the field in conditions.
    package var name: String { "event." + self.path.joined(separator: ".") }

    /// The stages at which the field exists.
    package var stages: Set<RuleStage> {
        switch self.path[0] {
        case Self.token: [.consume]
        case Self.session: [.consume, .mint]
        case Self.api, Self.transaction: [.exchange]
        default: Set(RuleStage.allCases)
        }
    }
    /// Whether the field's value comes from the database of places.
    package var isPlace: Bool { self.path.contains("geoip") && !self.isTrait }
    /// Whether the field's value comes from the source of autonomous system numbers.
    package var isSystemNumber: Bool { self.path.last == "asn" && !self.isTrait }

    private var isTrait: Bool { self.path[0] == "user" }

    private static let token = "session_transfer_token"
    private static let session = "session"
    private static let api = "resource_server"
    private static let transaction = "transaction"
    /// The maximum number of names after `event.user`.
    private static let deepestTrait = 8

    private static let ofRequest: [(path: String, type: RuleType)] = [
        ("ip", .address), ("asn", .text), ("user_agent", .text), ("geoip.cityName", .text),
        ("geoip.continentCode", .text), ("geoip.countryCode", .text), ("geoip.countryName", .text),
        ("geoip.latitude", .number), ("geoip.longitude", .number), ("geoip.subdivisionCode", .text),
        ("geoip.subdivisionName", .text), ("geoip.timeZone", .text),
    ]

    /// Every field except the user's traits.
    package static let known: [RuleField] =
        [
            RuleField("client.client_id", .text), RuleField("user.user_id", .text),
            RuleField("connection.name", .text),
            RuleField("request.hostname", .text), RuleField("\(Self.token).client_id", .text),
            RuleField("\(Self.token).scope", .texts), RuleField("\(Self.session).actor.sub", .text),
            RuleField("\(Self.api).identifier", .text), RuleField("\(Self.transaction).requested_scopes", .texts),
            RuleField("request.client_certificate.san", .texts),
        ]
        + ["sha256", "subject", "issuer", "serial"].map { RuleField("request.client_certificate.\($0)", .text) }
        + Self.ofRequest.flatMap { field in
            [
                RuleField("request.\(field.path)", field.type),
                RuleField("\(Self.token).request.\(field.path)", field.type),
            ]
        }

    private init(_ path: String, _ type: RuleType) {
        self.path = path.split(separator: ".").map(String.init)
        self.type = type
    }

    /// Finds the field with this name: a known field, or `event.user.` and the path to a trait. `nil` if none exists.
    init?(named name: String) {
        if let field = Self.known.first(where: { $0.name == name }) {
            self = field
            return
        }
        let steps = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard steps.count > 2, steps.count <= 2 + Self.deepestTrait, steps[0] == "event", steps[1] == "user",
            steps.allSatisfy({ (1...64).contains($0.utf8.count) })
        else { return nil }
        self.path = Array(steps.dropFirst())
        self.type = .any
    }

    /// Returns advice on what to write instead of an unknown name.
    static func fix(of name: String) -> String {
        if name == "event.user" { return "add the name of a trait, e.g. event.user.email" }
        if !name.hasPrefix("event.") { return "put a text in quotes; the name of a field begins with event." }
        let nearest = Spelling.nearest(to: name, in: Self.known.map(\.name))
        return nearest.map { "did you mean \($0)?" } ?? "write one of \(Self.known.map(\.name).joined(separator: ", "))"
    }

    /// Returns the field's value in an event. `null` if the field is missing.
    func value(in event: JSONValue) -> JSONValue {
        var value = event
        for name in self.path {
            guard let member = value[name] else { return .null }
            value = member
        }
        return value
    }
}
