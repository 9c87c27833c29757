import SignOn
import Vocabulary

/// An operator's query for clients and their members, in Auth0's parameters.
struct ClientQuery {
    /// The reason why a query cannot be answered.
    struct Fault: Error {
        let sentence: String
    }

    /// The maximum number of clients in a page, as in Auth0.
    private static let largestPage = 100

    private let page: Int
    private let perPage: Int
    private let includesTotals: Bool
    private let fields: Set<String>
    private let includesFields: Bool
    private let types: Set<String>

    /// Reads the query. An unsupported parameter is refused, because its caller may take it for a filter.
    init(_ request: EndpointRequest, ofList isList: Bool) throws(Fault) {
        let known = ["fields", "include_fields"] + (isList ? ["page", "per_page", "include_totals", "app_type"] : [])
        // The gateway has no global and no third-party clients, so only these values are accepted.
        let constant = isList ? ["is_global": "false", "is_first_party": "true"] : [:]
        var values: [String: String] = [:]
        for (name, value) in request.query {
            guard known.contains(name) || constant[name] == value else {
                throw Fault(sentence: "Query validation error: the parameter \(Self.shown(name)) is not known here")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Fault(sentence: "Query validation error: the parameter \(name) is repeated")
            }
        }
        self.page = try Self.number(values["page"], "page", 0...1_000_000) ?? 0
        self.perPage = try Self.number(values["per_page"], "per_page", 0...Self.largestPage) ?? 50
        self.includesTotals = try Self.flag(values["include_totals"], "include_totals") ?? false
        self.includesFields = try Self.flag(values["include_fields"], "include_fields") ?? true
        self.fields = Self.list(values["fields"])
        self.types = Self.list(values["app_type"])
    }

    /// Returns a page of the clients, as a list or with the total number.
    func answer(_ clients: [ListedClient], _ show: (ListedClient) -> JSONValue) -> JSONValue {
        let found = clients.filter { self.types.isEmpty || self.types.contains($0.written["app_type"]?.string ?? "") }
        let start = self.page * self.perPage
        let shown = JSONValue.array(found.dropFirst(start).prefix(self.perPage).map { self.selected(show($0)) })
        guard self.includesTotals else { return shown }
        return [
            "start": .integer(Int64(start)), "limit": .integer(Int64(self.perPage)),
            "length": .integer(Int64(shown.count)),
            "total": .integer(Int64(found.count)), "clients": shown,
        ]
    }

    /// Returns the requested members of a client.
    func selected(_ client: JSONValue) -> JSONValue {
        guard !self.fields.isEmpty, case .object(let members) = client else { return client }
        return .object(members.filter { self.fields.contains($0.key) == self.includesFields })
    }

    private static func list(_ text: String?) -> Set<String> {
        Set((text ?? "").split(separator: ",").map(String.init))
    }

    private static func number(_ text: String?, _ name: String, _ range: ClosedRange<Int>) throws(Fault) -> Int? {
        guard let text else { return nil }
        guard let number = Int(text), range.contains(number), !text.hasPrefix("+") else {
            throw Fault(
                sentence:
                    "Query validation error: \(name) must be a number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }

    private static func flag(_ text: String?, _ name: String) throws(Fault) -> Bool? {
        switch text {
        case nil: nil
        case "true"?: true
        case "false"?: false
        default: throw Fault(sentence: "Query validation error: \(name) must be true or false")
        }
    }

    private static func shown(_ name: String) -> String {
        name.utf8.count <= 40 && name.utf8.allSatisfy { (0x30...0x7A).contains($0) } ? name : "(not shown)"
    }
}

extension JSONValue {
    fileprivate var count: Int {
        guard case .array(let elements) = self else { return 0 }
        return elements.count
    }
}
