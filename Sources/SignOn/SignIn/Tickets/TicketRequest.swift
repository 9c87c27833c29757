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
    /// Requests that demand a provider end with their names.
    private static let versionWithProviders: UInt8 = 2
    /// Requests that hint at the user end with the providers and the hint.
    private static let versionWithHint: UInt8 = 3

    let keys: SealingKeyRing

    // MARK: Requests

    /// The sealed request: characters of base64url.
    func seal(_ request: TicketRequest) -> String {
        let place = Self.place(request: request.id, request.issuer)
        let (providers, hint) = (request.demand.providers, request.demand.loginHint)
        let version =
            hint != nil ? Self.versionWithHint : providers.isEmpty ? Self.version : Self.versionWithProviders
        let text = self.keys.sealText(version: version, for: place) { writer in
            writer.write(request.host)
            writer.write(request.challenge.base64URL)
            writer.write(request.begunAt)
            writer.write(byte: request.demand.isAgain ? 1 : 0)
            writer.write(request.demand)
            writer.write(optional: request.back) { $0.write($1) }
            if version != Self.version { writer.write(list: providers) { $0.write($1) } }
            if let hint { writer.write(hint) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The request with this id to `issuer`; nil for any text that a host of this gateway did not seal, or sealed under
    /// a secret that is no longer accepted.
    func request(_ text: String, id: String, issuer: String) -> TicketRequest? {
        self.keys.openText(
            Array(text.utf8),
            versions: Self.version...Self.versionWithHint,
            for: Self.place(request: id, issuer)
        ) { (reader, version) throws(CompactFormatError) in
            // Arguments are evaluated in order, which is the order of the fields.
            var request = TicketRequest(
                id: id,
                host: try reader.text(),
                issuer: issuer,
                challenge: try reader.digest(),
                begunAt: try reader.time(),
                demand: try reader.demand(isAgain: try reader.byte() != 0),
                back: try reader.optionalText()
            )
            if version != Self.version {
                request.demand.providers = try reader.list { (reader) throws(CompactFormatError) in try reader.text() }
            }
            if version == Self.versionWithHint { request.demand = request.demand.hinting(at: try reader.text()) }
            return request
        }
    }

    // MARK: Nonces

    /// The sealed nonce: characters of base64url. A `returnTo` for which there is no room becomes `/`.
    ///
    /// - Parameters:
    ///   - id: Names the cookie.
    ///   - authority: The host, because a cookie does not respect ports (RFC 6265 8.5).
    func seal(_ nonce: TicketNonce, id: String, on authority: String) -> Secret {
        func text(_ returnTo: String) -> [UInt8] {
            self.keys.sealText(version: Self.version, for: Self.place(nonce: id, authority)) { writer in
                writer.write(nonce.secret.value)
                writer.write(nonce.begunAt)
                writer.write(returnTo)
            }
        }
        let long = text(nonce.returnTo)
        return Secret(long.count <= Self.longest ? long : text("/"))
    }

    /// What was sealed for this id and host; nil for any other text.
    func nonce(_ text: Secret, id: String, on authority: String) -> TicketNonce? {
        self.keys.openText(
            text.bytes,
            longest: Self.longest,
            versions: Self.version...Self.version,
            for: Self.place(nonce: id, authority)
        ) { (reader, _) throws(CompactFormatError) in
            guard let secret = AttemptSecret(try reader.secret().bytes) else { throw CompactFormatError() }
            return TicketNonce(secret: secret, begunAt: try reader.time(), returnTo: try reader.text())
        }
    }

    // An authority contains no space.

    private static func place(request id: String, _ issuer: String) -> String { "ticket request \(issuer) \(id)" }

    private static func place(nonce id: String, _ authority: String) -> String { "ticket nonce \(authority) \(id)" }
}
