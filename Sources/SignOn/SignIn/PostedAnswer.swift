import Cryptography
import Vocabulary

/// A provider's answer that a browser posts to the callback (OAuth 2.0 Form Post Response Mode 1.0).
///
/// Browsers send no `SameSite=Lax` cookies with the provider's cross-site post, so the gateway cannot find the sign-in.
/// It therefore redirects the browser to the callback with the sealed answer in the URL. The redirected request has the
/// cookies. The seal keeps the code and the user's name out of histories and logs.
///
/// The seal does not authenticate the answer, because anyone may post a form. Completing the sign-in still needs the
/// browser's cookie.
package struct PostedAnswer: Sendable, Equatable {
    /// The form's parameters that the gateway uses, each once.
    package let parameters: [Parameter]

    /// A parameter of the form.
    package struct Parameter: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    private static let version: UInt8 = 1
    /// The parameters that are passed on (RFC 6749 4.1.2, RFC 9207 2, Apple's `user`), without an `id_token`.
    private static let names = ["state", "code", "error", "iss", "user"]
    /// The maximum length of a value in bytes, sufficient for a code.
    private static let longestValue = 4096
    /// The maximum length of `user` in bytes, to keep the URL short. A longer value is left out, because sign-ins do
    /// not need it.
    private static let longestUser = 1024
    /// The maximum length of the sealed text in bytes.
    private static let longest = 16_384

    /// - Parameter value: Returns the value of a parameter of the form. `nil` if the form does not have it.
    /// - Returns: `nil` if a value other than `user` is longer than 4096 bytes.
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
