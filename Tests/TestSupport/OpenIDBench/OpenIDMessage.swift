import Cryptography
import Vocabulary

/// A request as the provider received it.
package struct OpenIDCall: Sendable {
    package let endpoint: OpenIDEndpoint?
    package let method: String
    package let target: String
    /// Names in lower case.
    package let fields: [(name: String, value: String)]
    package let body: [UInt8]
    /// Those of the query and of a form.
    package let parameters: [String: String]

    package init(_ method: String, _ target: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.endpoint = OpenIDEndpoint(rawValue: String(parts[0]))
        var pairs = FormText.pairs(parts.count > 1 ? Array(parts[1].utf8) : [])
        if fields.contains(where: {
            $0.name == "content-type" && $0.value.hasPrefix("application/x-www-form-urlencoded")
        }) {
            pairs += FormText.pairs(body)
        }
        self.parameters = Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { "\($0) and \($1)" })
    }

    package subscript(name: String) -> String? { self.parameters[name] }

    /// The first field of this name (lower case).
    package func field(_ name: String) -> String? { self.fields.first { $0.name == name }?.value }

    /// The credentials of HTTP Basic, whose parts are form-encoded (RFC 6749 2.3.1).
    var basic: (id: String, secret: String)? {
        guard let value = self.field("authorization"), value.hasPrefix("Basic "),
            let bytes = Base64.decoded(Array(value.utf8.dropFirst(6)))
        else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false).map {
            String(decoding: PercentCoding.leniently($0, plusIsSpace: true), as: UTF8.self)
        }
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
}

/// An answer of the provider.
package struct OpenIDAnswer: Sendable {
    package var status: Int
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(_ status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The first field of this name (lower case).
    package func field(_ name: String) -> String? { self.fields.first { $0.name == name }?.value }

    static func json(_ status: Int, _ members: [String: JSONValue], fields: [(name: String, value: String)] = [])
        -> Self
    {
        let own = [(name: "content-type", value: "application/json"), (name: "cache-control", value: "no-store")]
        return Self(status, fields: own + fields, body: JSONText.encode(.object(members)))
    }

    /// An OAuth error (RFC 6749 5.2).
    static func refusal(_ error: String, status: Int = 400, fields: [(name: String, value: String)] = []) -> Self {
        self.json(status, ["error": .string(error), "error_description": "as scripted"], fields: fields)
    }

    static func redirect(to url: String) -> Self {
        Self(302, fields: [(name: "location", value: url)])
    }
}
