import Cryptography
package import Vocabulary

/// A verified token: a JWS in compact form (RFC 7515 7.1).
package struct JWS: Sendable {
    package let payload: [UInt8]
    private let parsedHeader: JWSHeader

    fileprivate init(_ header: JWSHeader, _ payload: [UInt8]) {
        self.parsedHeader = header
        self.payload = payload
    }

    package var algorithm: JWSAlgorithm { self.parsedHeader.algorithm }
    /// `kid`.
    package var keyID: String? { self.parsedHeader.keyID }
    /// `typ`, unchanged.
    package var type: String? { self.parsedHeader.type }
    /// All members of the header.
    package var header: JSONValue { self.parsedHeader.value }

    /// Returns whether `typ` is this media type, ignoring case and a prefix `application/` (RFC 7515 4.1.9).
    package func isType(_ name: String) -> Bool { self.parsedHeader.isType(name) }

    /// Returns the header of a token without verifying its signature. Use it only to choose keys.
    package static func header(of token: some Collection<UInt8>) throws(JOSEError) -> JWSHeader {
        try JWSHeader(CompactToken(Array(token)).header)
    }

    /// Returns the claims of a token without verifying its signature. Use them only to choose the verifying keys.
    package static func unverifiedClaims(of token: some Collection<UInt8>) throws(JOSEError) -> JWTClaims {
        guard let payload = Base64URL.decoded(try CompactToken(Array(token)).payload) else {
            throw JOSEError("the payload is not base64url")
        }
        return try JWTClaims(payload)
    }

    /// Verifies the signature of a token and returns the token.
    ///
    /// Keys that fit the algorithm are tried. If the header has a `kid`, only keys with that `kid` are tried. More than
    /// 16 fitting keys are an error.
    ///
    /// - Parameter sharedSecret: The secret for HS256, HS384 and HS512. At least as long as the hash (RFC 7518 3.2).
    package static func verify(
        _ token: [UInt8],
        with keys: JWKSet,
        allowing: Set<JWSAlgorithm>,
        sharedSecret: Secret? = nil
    ) throws(JOSEError) -> JWS {
        try UnverifiedToken(token, allowing: allowing).verified(with: keys, sharedSecret: sharedSecret)
    }
}

/// A token in valid form with an allowed algorithm. Its signature has not been verified.
struct UnverifiedToken {
    let header: JWSHeader
    private let parts: CompactToken
    private let signature: [UInt8]

    init(_ token: [UInt8], allowing: Set<JWSAlgorithm>) throws(JOSEError) {
        let parts = try CompactToken(token)
        try self.init(parts, JWSHeader(parts.header), allowing: allowing)
    }

    /// - Parameter headers: A reader that caches the last header.
    init(_ token: [UInt8], allowing: Set<JWSAlgorithm>, headers: LastJWSHeader) throws(JOSEError) {
        let parts = try CompactToken(token)
        try self.init(parts, headers.header(of: parts.header), allowing: allowing)
    }

    init(_ parts: CompactToken, _ header: JWSHeader, allowing: Set<JWSAlgorithm>) throws(JOSEError) {
        self.parts = parts
        self.header = header
        guard allowing.contains(self.header.algorithm) else {
            throw JOSEError("\(self.header.algorithm.rawValue) is not allowed")
        }
        guard let signature = Base64URL.decoded(self.parts.signature), !signature.isEmpty else {
            throw JOSEError("the signature is not base64url")
        }
        self.signature = signature
    }

    /// Verifies the token with a key of the set, or with the shared secret if its algorithm uses one.
    func verified(with keys: JWKSet, sharedSecret: Secret? = nil) throws(JOSEError) -> JWS {
        guard let hash = self.header.algorithm.hash else { return try self.verified(with: self.candidates(in: keys)) }
        guard let secret = sharedSecret?.bytes else { throw JOSEError("there is no shared secret") }
        guard secret.count >= hash.length else { throw JOSEError("the shared secret is shorter than the hash") }
        let code = self.parts.withSigned { hash.code(of: $0, key: secret) }
        return try self.verified(constantTimeEqual(code, self.signature))
    }

    /// Verifies the token with one of these keys and returns it.
    func verified(with keys: [JWK]) throws(JOSEError) -> JWS {
        try self.verified(self.isGenuine(by: keys))
    }

    /// Rejects the token unless one of these keys has signed it.
    func verify(with keys: [JWK]) throws(JOSEError) {
        try self.verify(self.isGenuine(by: keys))
    }

    private func isGenuine(by keys: [JWK]) throws(JOSEError) -> Bool {
        guard let scheme = self.header.algorithm.scheme else { throw JOSEError("there is no shared secret") }
        return self.parts.withSigned { signed in
            keys.contains { $0.key.verifies(self.signature[...], of: signed, by: scheme) }
        }
    }

    private func verify(_ isGenuine: Bool) throws(JOSEError) {
        guard isGenuine else { throw JOSEError("the signature is wrong", kind: .signature) }
    }

    private func verified(_ isGenuine: Bool) throws(JOSEError) -> JWS {
        try self.verify(isGenuine)
        return JWS(self.header, try self.payload())
    }

    /// Returns the payload without verifying its signature.
    func payload() throws(JOSEError) -> [UInt8] {
        guard let payload = Base64URL.decoded(self.parts.payload) else {
            throw JOSEError("the payload is not base64url")
        }
        return payload
    }

    private func candidates(in keys: JWKSet) throws(JOSEError) -> [JWK] {
        let algorithm = self.header.algorithm
        let named = self.header.keyID.map { keys.keys(named: $0) }
        guard named?.isEmpty != true else {
            throw JOSEError("no key of the set has the token's kid", kind: .unknownKey)
        }
        // A key that is listed with several `kid`s is tried once.
        var seen: Set<String> = []
        let fitting = (named ?? keys.keys).filter {
            $0.algorithms.contains(algorithm) && seen.insert($0.thumbprint).inserted
        }
        guard !fitting.isEmpty else {
            // The issuer may have added a fitting key since, so the error is `unknownKey`.
            throw JOSEError(
                named == nil ? "no key of the set fits the token" : "\(algorithm.rawValue) does not fit the key",
                kind: .unknownKey
            )
        }
        guard fitting.count <= JOSELimits.attempts else { throw JOSEError("too many keys of the set fit the token") }
        return fitting
    }
}

/// The three parts of a token in compact form.
struct CompactToken {
    private let bytes: [UInt8]
    private let payloadStart: Int
    private let payloadEnd: Int

    init(_ bytes: [UInt8]) throws(JOSEError) {
        guard bytes.count <= JOSELimits.token else { throw JOSEError("the token is too long") }
        guard let dots = bytes.withUnsafeBytes({ Self.dots(in: $0) }) else {
            throw JOSEError("the token does not have three parts")
        }
        self.bytes = bytes
        self.payloadStart = dots.first + 1
        self.payloadEnd = dots.second
    }

    /// Returns the positions of the dots; `nil` unless there are exactly two.
    private static func dots(in bytes: UnsafeRawBufferPointer) -> (first: Int, second: Int)? {
        let dot = UInt8(ascii: ".")
        guard let first = bytes.place(of: dot), let second = bytes.place(of: dot, from: first + 1),
            bytes.place(of: dot, from: second + 1) == nil
        else { return nil }
        return (first, second)
    }

    var header: ArraySlice<UInt8> { self.bytes[..<(self.payloadStart - 1)] }
    var payload: ArraySlice<UInt8> { self.bytes[self.payloadStart..<self.payloadEnd] }
    var signature: ArraySlice<UInt8> { self.bytes[(self.payloadEnd + 1)...] }

    /// Passes the signed bytes to `body` (RFC 7515 5.1).
    func withSigned<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        self.bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<self.payloadEnd])) }
    }
}
