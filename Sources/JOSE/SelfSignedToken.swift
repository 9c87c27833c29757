import Vocabulary

/// A token whose header contains the key that verifies it (`jwk`, RFC 9449 4.2). The signature has not been verified
/// yet; it will only prove that the sender has the private key.
package struct SelfSignedToken: Sendable {
    /// A header and the key that it contains.
    package struct Head: Sendable {
        package let header: JWSHeader
        package let key: JWK
    }

    /// The base64url text of the header. A sender's tokens usually have equal headers until its key changes.
    package let headerText: ArraySlice<UInt8>
    /// The content of the header.
    package let head: Head
    /// True if `known` returned the content of the header.
    package let isHeadKnown: Bool
    private let token: UnverifiedToken

    /// Reads a token in compact form.
    ///
    /// - Parameter known: Returns the content of a header that was read before; `nil` if it is unknown.
    package init(
        _ token: [UInt8],
        allowing: Set<JWSAlgorithm>,
        known: (_ headerText: ArraySlice<UInt8>) -> Head? = { _ in nil }
    ) throws(JOSEError) {
        let parts = try CompactToken(token)
        self.headerText = parts.header
        if let known = known(parts.header) {
            self.token = try UnverifiedToken(parts, known.header, allowing: allowing)
            self.head = known
            self.isHeadKnown = true
            return
        }
        let header = try JWSHeader(parts.header, allowingKey: true)
        self.token = try UnverifiedToken(parts, header, allowing: allowing)
        guard let value = header.value["jwk"] else { throw JOSEError("the header has no jwk") }
        let key = try JWK(value)
        guard key.algorithms.contains(header.algorithm) else { throw JOSEError("alg does not fit the key") }
        self.head = Head(header: header, key: key)
        self.isHeadKnown = false
    }

    package var header: JWSHeader { self.head.header }
    /// The key in the header.
    package var key: JWK { self.head.key }

    /// Returns the payload without verifying its signature.
    package func unverifiedPayload() throws(JOSEError) -> [UInt8] { try self.token.payload() }

    /// Verifies the token with its key and returns it.
    package func verified() throws(JOSEError) -> JWS { try self.token.verified(with: [self.key]) }

    /// Rejects the token unless its key has signed it.
    package func verify() throws(JOSEError) { try self.token.verify(with: [self.key]) }
}
