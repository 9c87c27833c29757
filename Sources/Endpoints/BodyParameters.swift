package import Vocabulary

/// The parameters of a POST: a JSON object or `application/x-www-form-urlencoded`.
///
/// A repeated parameter makes the body malformed (RFC 6749 3.1). An empty parameter is treated as absent (RFC 6749
/// 3.2), and so is `null` in JSON.
package struct BodyParameters: Sendable {
    /// The reason why a body cannot be read.
    package enum Failure: Error, Sendable, Equatable {
        /// The media type is missing or not accepted: 415.
        case mediaType
        /// The body is not a form, or repeats a parameter: 400.
        case malformed
        /// The body is not a JSON object: 400.
        case json(JSONFault)

        /// A sentence that says what is wrong with the body.
        package var sentence: String {
            switch self {
            case .mediaType: "The body must be application/x-www-form-urlencoded or application/json."
            case .malformed: "The body is malformed or repeats a parameter."
            case .json(let fault): "The body \(fault.rawValue)."
            }
        }
    }

    /// The format of the body.
    package enum Encoding: Sendable { case json, form }

    package let encoding: Encoding
    private let members: [String: JSONValue]

    /// - Parameters:
    ///   - accepting: The media types that the endpoint accepts.
    ///   - readsJSONAsForm: Whether to accept JSON with the media type of a form, as auth0-python 6 sends in pushed
    ///     requests. A form never begins with `{`, because forms escape braces.
    package init(
        _ request: EndpointRequest,
        accepting: [Encoding] = [.json, .form],
        readsJSONAsForm: Bool = false
    ) throws(Failure) {
        let mediaType = Self.mediaType(in: request.field("content-type") ?? "")
        let form = "application/x-www-form-urlencoded"
        let isMislabelled = readsJSONAsForm && mediaType == form && request.body.first == UInt8(ascii: "{")
        switch isMislabelled ? "application/json" : mediaType {
        case "application/json" where accepting.contains(.json):
            do throws(JSONFault) {
                self.members = Self.present(try JSONText.object(request.body))
            } catch {
                throw .json(error)
            }
            self.encoding = .json
        case form where accepting.contains(.form):
            guard let members = Self.form(request.body) else { throw .malformed }
            self.encoding = .form
            self.members = Self.present(members)
        default:
            throw .mediaType
        }
    }

    /// The names of all parameters that have a value, sorted.
    package var names: [String] { self.members.keys.sorted() }

    /// The parameter's value: a string in a form, any type except `null` in JSON.
    package subscript(name: String) -> JSONValue? { self.members[name] }

    /// Returns the parameter's text. `nil` if the parameter is absent, empty or not a string.
    package func text(_ name: String) -> String? { self.members[name]?.string }

    /// Returns the media type in a `Content-Type` value, without its parameters and blanks.
    private static func mediaType(in value: String) -> String {
        let bytes = value.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }

    private static func present(_ members: [String: JSONValue]) -> [String: JSONValue] {
        func isAbsent(_ value: JSONValue) -> Bool { value.string?.isEmpty == true }
        return members.values.contains(where: isAbsent) ? members.filter { !isAbsent($0.value) } : members
    }

    private static func form(_ body: [UInt8]) -> [String: JSONValue]? {
        var members: [String: JSONValue] = [:]
        guard let pairs = FormText.strictPairs(body) else { return nil }
        for pair in pairs where members.updateValue(.string(pair.value), forKey: pair.name) != nil { return nil }
        return members
    }
}
