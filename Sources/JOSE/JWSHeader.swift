import Cryptography
package import Vocabulary

/// The header of a token in compact form (RFC 7515 4).
package final class JWSHeader: Sendable {
    package let algorithm: JWSAlgorithm
    /// `kid`.
    package let keyID: String?
    /// `typ`, unchanged.
    package let type: String?
    package let value: JSONValue

    /// Reads the base64url text of a header.
    ///
    /// `jku`, `x5u` and `jwk` are rejected, because only the issuer's published keys are trusted. `crit` and `b64` are
    /// rejected, because no extension is supported (RFC 7515 4.1.11, RFC 7797). `x5c` and `x5t` are ignored.
    ///
    /// - Parameter allowingKey: True if `jwk` is allowed (RFC 9449 4.2).
    init(_ text: ArraySlice<UInt8>, allowingKey: Bool = false) throws(JOSEError) {
        guard let bytes = Base64URL.decoded(text), let value = JSONText.decode(bytes, maxDepth: JOSELimits.depth),
            case .object(let written) = value, let members = value.members
        else { throw JOSEError("the header is not a JSON object in base64url") }
        // A null member counts as missing elsewhere, but these members are rejected even if they are null.
        for name in ["crit", "b64"] where written[name] != nil { throw JOSEError("the header has \(name)") }
        for name in ["jku", "x5u"] where members[name] != nil { throw JOSEError("the header has \(name)") }
        if !allowingKey, members["jwk"] != nil { throw JOSEError("the header has jwk") }
        for name in ["alg", "kid", "typ"] {
            guard members[name].map({ $0.string != nil }) ?? true else {
                throw JOSEError("\(name) in the header is not a string")
            }
        }
        guard let name = members["alg"]?.string else { throw JOSEError("alg is missing in the header") }
        guard let algorithm = JWSAlgorithm(rawValue: name) else { throw JOSEError("alg is not supported") }
        self.algorithm = algorithm
        self.keyID = members["kid"]?.string
        self.type = members["typ"]?.string
        self.value = value
    }

    /// Returns whether `typ` is this media type, ignoring case and a prefix `application/` (RFC 7515 4.1.9).
    package func isType(_ name: String) -> Bool {
        // Nearly every token has the usual spelling.
        if self.type == name { return true }
        guard let type = self.type?.lowercased() else { return false }
        let wanted = name.lowercased()
        return type == wanted || type == "application/" + wanted
    }
}
