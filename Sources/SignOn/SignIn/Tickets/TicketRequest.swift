package import Cryptography
package import Sessions
package import Vocabulary

/// What a host asks of the host on which its users sign in: a ticket for a browser, and how the user must have signed in.
/// It travels in a URL, sealed, so that only a host of this gateway can ask.
package struct TicketRequest: Sendable, Hashable {
    /// How long the user may take to sign in.
    package static let lifetime = Duration.seconds(600)
    /// The random bytes of an id, which has 22 characters.
    static let idBytes = 16

    /// Names the cookie in which the browser keeps the nonce; not secret.
    package var id: String
    /// The public authority of the host that asks, on which the ticket will be valid.
    package var host: String
    /// The public authority of the host that is asked.
    package var issuer: String
    /// SHA-256 of the nonce.
    package var challenge: Digest256
    package var begunAt: UnixTime
    /// How the user must have signed in.
    package var demand: SignInDemand
    /// The path and query on the host that is asked to which the browser returns whatever happens; nil: the browser
    /// stays on the host that asks.
    package var back: String?

    /// Whether the user took too long, so that the browser has lost the nonce.
    func isExpired(at now: UnixTime) -> Bool { now.since(self.begunAt) > Self.lifetime }
}

/// What a browser keeps in a cookie of the host that asks for a ticket.
package struct TicketNonce: Sendable, Equatable {
    /// Only a browser that has it can use the ticket. The session that the ticket makes is derived from it, so that the
    /// same browser can repeat an attempt whose answer was lost.
    package var secret: AttemptSecret
    package var begunAt: UnixTime
    /// The path on the host to which the browser goes afterwards.
    package var returnTo: String

    /// What a ticket for this nonce names.
    var challenge: Digest256 { SHA256.digest(self.secret.value.bytes) }

    func isExpired(at now: UnixTime) -> Bool { now.since(self.begunAt) > TicketRequest.lifetime }
}

/// Seals requests for tickets and nonces.
struct TicketSeal: Sendable {
    /// The maximum length of a sealed text: browsers refuse a cookie whose name and value have more than 4096 bytes
    /// (RFC 6265bis 5.6).
    private static let longest = 3900
    private static let version: UInt8 = 1

    let keys: SealingKeyRing

    // MARK: Requests

    /// The sealed request: characters of base64url.
    func seal(_ request: TicketRequest) -> String {
        var writer = CompactWriter()
        writer.write(byte: Self.version)
        writer.write(request.host)
        writer.write(request.challenge.base64URL)
        writer.write(request.begunAt.milliseconds)
        writer.write(byte: request.demand.isAgain ? 1 : 0)
        writer.write(optional: request.demand.aal) { $0.write($1.rawValue) }
        writer.write(optional: request.demand.maxAge) { $0.write($1.wholeMilliseconds) }
        writer.write(optional: request.back) { $0.write($1) }
        let sealed = self.keys.seal(writer.bytes, for: Self.place(request: request.id, request.issuer))
        return Base64URL.encode(sealed)
    }

    /// The request with this id to `issuer`; nil for any text that a host of this gateway did not seal, or sealed under
    /// a secret that is no longer accepted.
    func request(_ text: String, id: String, issuer: String) -> TicketRequest? {
        guard let bytes = self.open(Array(text.utf8), Self.place(request: id, issuer)) else { return nil }
        return try? Self.request(bytes, id: id, issuer: issuer)
    }

    private static func request(
        _ bytes: [UInt8],
        id: String,
        issuer: String
    ) throws(CompactFormatError) -> TicketRequest {
        var reader = CompactReader(bytes)
        guard try reader.byte() == self.version else { throw CompactFormatError() }
        let host = try reader.text()
        guard let challenge = Digest256(base64URL: Array(try reader.text().utf8)[...]) else {
            throw CompactFormatError()
        }
        let request = TicketRequest(
            id: id,
            host: host,
            issuer: issuer,
            challenge: challenge,
            begunAt: UnixTime(milliseconds: try reader.signed()),
            demand: SignInDemand(
                isAgain: try reader.byte() != 0,
                aal: try reader.optional { (reader) throws(CompactFormatError) in
                    AssuranceLevel(named: try reader.text())
                },
                maxAge: try reader.optional { (reader) throws(CompactFormatError) in
                    .milliseconds(try reader.signed())
                }
            ),
            back: try reader.optional { (reader) throws(CompactFormatError) in try reader.text() }
        )
        try reader.finish()
        return request
    }

    // MARK: Nonces

    /// The sealed nonce: characters of base64url. A `returnTo` for which there is no room becomes `/`.
    ///
    /// - Parameters:
    ///   - id: Names the cookie.
    ///   - authority: The host, because a cookie does not respect ports (RFC 6265 8.5).
    func seal(_ nonce: TicketNonce, id: String, on authority: String) -> Secret {
        func text(_ returnTo: String) -> [UInt8] {
            var writer = CompactWriter()
            writer.write(byte: Self.version)
            writer.write(list: nonce.secret.value.bytes) { $0.write(byte: $1) }
            writer.write(nonce.begunAt.milliseconds)
            writer.write(returnTo)
            return Base64URL.encoded(self.keys.seal(writer.bytes, for: Self.place(nonce: id, authority)))
        }
        let long = text(nonce.returnTo)
        return Secret(long.count <= Self.longest ? long : text("/"))
    }

    /// What was sealed for this id and host; nil for any other text.
    func nonce(_ text: Secret, id: String, on authority: String) -> TicketNonce? {
        guard text.bytes.count <= Self.longest, let bytes = self.open(text.bytes, Self.place(nonce: id, authority))
        else {
            return nil
        }
        return try? Self.nonce(bytes)
    }

    private static func nonce(_ bytes: [UInt8]) throws(CompactFormatError) -> TicketNonce {
        var reader = CompactReader(bytes)
        guard try reader.byte() == self.version,
            let secret = AttemptSecret(try reader.list { (reader) throws(CompactFormatError) in try reader.byte() })
        else { throw CompactFormatError() }
        let nonce = TicketNonce(
            secret: secret,
            begunAt: UnixTime(milliseconds: try reader.signed()),
            returnTo: try reader.text()
        )
        try reader.finish()
        return nonce
    }

    private func open(_ text: [UInt8], _ place: [UInt8]) -> [UInt8]? {
        guard let sealed = Base64URL.decoded(text[...]) else { return nil }
        return try? self.keys.open(sealed, for: place)
    }

    // No record has such a place: their keys begin with `sp:`. An authority contains no space.

    private static func place(request id: String, _ issuer: String) -> [UInt8] {
        Array("ticket request \(issuer) \(id)".utf8)
    }

    private static func place(nonce id: String, _ authority: String) -> [UInt8] {
        Array("ticket nonce \(authority) \(id)".utf8)
    }
}
