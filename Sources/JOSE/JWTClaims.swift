package import Vocabulary

/// The claims of a JWT (RFC 7519 4). They prove nothing before the signature is verified.
package final class JWTClaims: Sendable {
    package let value: JSONValue
    /// `iss`
    package let issuer: String?
    /// `sub`
    package let subject: String?
    /// `aud`, written as a string or as an array; empty if it is missing.
    package let audience: [String]
    /// `exp`
    package let expiresAt: UnixTime?
    /// `iat`
    package let issuedAt: UnixTime?
    /// `nbf`
    package let notBefore: UnixTime?
    /// `jti`
    package let id: String?
    package let nonce: String?
    /// `sid` (OpenID Connect Front-Channel Logout 1.0, section 3)
    package let sessionID: String?

    /// Reads a JSON object. A claim that is null is treated as missing. A claim of the wrong type is rejected, and so
    /// is a time that is negative or after the year 9999.
    ///
    /// - Parameter loneSurrogates: If lone surrogates are replaced by U+FFFD, a token with U+FFFD in `iss`, `sub`,
    ///   `aud`, `jti`, `nonce` or `sid` is rejected.
    package init(_ payload: [UInt8], loneSurrogates: JSONText.LoneSurrogates = .refused) throws(JOSEError) {
        guard
            let value = JSONText.decode(payload, maxDepth: JOSELimits.depth, loneSurrogates: loneSurrogates),
            let members = value.members
        else { throw JOSEError("the payload is not a JSON object") }
        self.value = value
        self.issuer = try Self.text("iss", members)
        self.subject = try Self.text("sub", members)
        self.id = try Self.text("jti", members)
        self.nonce = try Self.text("nonce", members)
        self.sessionID = try Self.text("sid", members)
        self.expiresAt = try Self.time("exp", members)
        self.issuedAt = try Self.time("iat", members)
        self.notBefore = try Self.time("nbf", members)
        self.audience = try Self.audience(members)
        guard loneSurrogates == .replaced else { return }
        let names = [self.issuer, self.subject, self.id, self.nonce, self.sessionID].compactMap(\.self) + self.audience
        guard !names.contains(where: \.isDamaged) else {
            throw JOSEError("iss, sub, aud, jti, nonce or sid has half a surrogate pair")
        }
    }

    /// Returns any claim; `nil` if it is missing or null.
    package subscript(name: String) -> JSONValue? { self.value[name] }

    /// Rejects the token unless it is from `issuer`, for at least one of `audience`, and valid now. `iss`, `aud` and
    /// `exp` are required.
    ///
    /// - Parameter leeway: The tolerated difference between the clocks of issuer and gateway.
    package func check(
        issuer: String,
        audience: Set<String>,
        now: UnixTime,
        leeway: Duration = .seconds(60)
    ) throws(JOSEError) {
        guard self.issuer == issuer else { throw JOSEError("iss is not the issuer", kind: .issuer) }
        guard !audience.isDisjoint(with: self.audience) else {
            throw JOSEError("aud does not name this audience", kind: .audience)
        }
        try self.checkTimes(now: now, leeway: leeway)
    }

    /// Rejects the token unless it is valid now. `exp` is required.
    package func checkTimes(now: UnixTime, leeway: Duration = .seconds(60)) throws(JOSEError) {
        guard let expiresAt else { throw JOSEError("exp is missing") }
        guard now < expiresAt.advanced(by: leeway) else { throw JOSEError("exp has passed", kind: .expired) }
        let latest = now.advanced(by: leeway)
        if let notBefore, notBefore > latest { throw JOSEError("nbf is in the future") }
        if let issuedAt, issuedAt > latest { throw JOSEError("iat is in the future") }
    }

    private static func text(_ name: String, _ members: [String: JSONValue]) throws(JOSEError) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string else { throw JOSEError("\(name) is not a string") }
        return text
    }

    /// The end of the year 9999, in seconds.
    private static let lastSecond = 253_402_300_799.0

    /// Reads a NumericDate, which may have a fraction (RFC 7519 2).
    private static func time(_ name: String, _ members: [String: JSONValue]) throws(JOSEError) -> UnixTime? {
        let seconds: Double
        switch members[name] {
        case nil: return nil
        case .integer(let value): seconds = Double(value)
        case .number(let value): seconds = value
        default: throw JOSEError("\(name) is not a number")
        }
        guard (0...Self.lastSecond).contains(seconds) else { throw JOSEError("\(name) is out of range") }
        return UnixTime(milliseconds: Int64(seconds * 1000))
    }

    private static func audience(_ members: [String: JSONValue]) throws(JOSEError) -> [String] {
        switch members["aud"] {
        case nil: return []
        case .string(let name): return [name]
        case .array(let values):
            let present = values.filter { $0 != .null }
            let names = present.compactMap(\.string)
            guard names.count == present.count else { throw JOSEError("aud holds another thing than strings") }
            return names
        default: throw JOSEError("aud is neither a string nor an array")
        }
    }
}
