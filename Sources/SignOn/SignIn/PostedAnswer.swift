import Cryptography
import Vocabulary

/// The answer of a provider that a browser posts to the callback (OAuth 2.0 Form Post Response Mode 1.0).
///
/// The form comes from the provider's site, so the browser sends no `SameSite=Lax` cookie along, and nothing tells which
/// sign-in it has begun. The answer therefore goes back to the browser, which loads the callback again by GET and then
/// shows its cookies. On that way the answer is sealed: neither the code nor the user's name gets into a history or a log.
///
/// The seal proves no more than that the form was posted here. Anybody may post one. What completes a sign-in is the
/// browser's own cookie, as it is for an answer in the query.
package struct PostedAnswer: Sendable, Equatable {
    /// The form's parameters that mean something to the gateway, each once.
    package let parameters: [Parameter]

    /// A parameter of the form.
    package struct Parameter: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    private static let version: UInt8 = 1
    /// What is passed on (RFC 6749 4.1.2, RFC 9207 2, and the user as Apple posts it). An `id_token` beside the code is not.
    private static let names = ["state", "code", "error", "iss", "user"]
    /// The longest value in bytes: that of a code.
    private static let longestValue = 4096
    /// The longest `user` in bytes, so that the URL stays short. A longer one is left out, since a sign-in needs none.
    private static let longestUser = 1024
    /// The longest sealed text in bytes.
    private static let longest = 16_384

    /// - Parameter value: The value of a parameter of the form; `nil` if the form does not have it.
    /// - Returns: `nil` if a value is longer than any provider's.
    package init?(_ value: (_ name: String) -> String?) {
        var parameters: [Parameter] = []
        for name in Self.names {
            guard let value = value(name) else { continue }
            if name == "user", value.utf8.count > Self.longestUser { continue }
            guard value.utf8.count <= Self.longestValue else { return nil }
            parameters.append(Parameter(name: name, value: value))
        }
        self.parameters = parameters
    }

    init?(_ text: Secret, by keys: SealingKeyRing, for path: String, on authority: String) {
        let parameters = keys.openText(
            text.bytes,
            longest: Self.longest,
            versions: Self.version...Self.version,
            for: Self.place(path, authority)
        ) { (reader, _) throws(CompactFormatError) in
            var parameters: [Parameter] = []
            for _ in 0..<(try reader.byte()) {
                parameters.append(Parameter(name: try reader.text(), value: try reader.text()))
            }
            return parameters
        }
        guard let parameters else { return nil }
        self.parameters = parameters
    }

    func sealed(by keys: SealingKeyRing, for path: String, on authority: String) -> Secret {
        Secret(
            keys.sealText(version: Self.version, for: Self.place(path, authority)) { writer in
                writer.write(byte: UInt8(self.parameters.count))
                for parameter in self.parameters {
                    writer.write(parameter.name)
                    writer.write(parameter.value)
                }
            }
        )
    }

    private static func place(_ path: String, _ authority: String) -> String { "posted answer \(authority) \(path)" }
}
