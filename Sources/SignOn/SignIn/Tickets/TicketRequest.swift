package import Cryptography
package import Sessions
package import Vocabulary

/// A host's request for a ticket from another host, sealed in a URL so that only this deployment can make it. Usually,
/// users sign in on the issuing host. If `back` is set, they sign in on the requesting host (`HandoffShare`).
package struct TicketRequest: Sendable, Hashable {
    /// The maximum time that a user may take to sign in.
    package static let lifetime = Duration.seconds(600)
    /// The number of random bytes in an id (22 characters of base64url).
    static let idBytes = 16

    /// The name of the cookie in which the browser keeps the nonce. It is not secret.
    package var id: String
    /// The public authority of the requesting host, on which the ticket will be valid.
    package var host: String
    /// The public authority of the issuing host.
    package var issuer: String
    /// The SHA-256 of the nonce.
    package var challenge: Digest256
    package var begunAt: UnixTime
    /// The requirements for the sign-in.
    package var demand: SignInDemand
    /// The path and query on the issuing host to which the browser returns, even after a refusal. `nil` if the browser
    /// stays on the requesting host.
    package var back: String?

    /// Returns whether the request and the browser's nonce have expired.
    func isExpired(at now: UnixTime) -> Bool { now.since(self.begunAt) > Self.lifetime }
}

/// The nonce that a browser keeps in a cookie of the requesting host.
package struct TicketNonce: Sendable, Equatable {
    /// The secret that a browser needs to use the ticket. The session's token is computed from it, so that the browser
    /// can repeat an attempt whose answer was lost.
    package var secret: AttemptSecret
    package var begunAt: UnixTime
    /// The path on the host to which the browser goes in the end.
    package var returnTo: String

    /// The SHA-256 of the secret, as contained in the ticket.
    var challenge: Digest256 { SHA256.digest(self.secret.value.bytes) }

    func isExpired(at now: UnixTime) -> Bool { now.since(self.begunAt) > TicketRequest.lifetime }
}

/// Seals requests for tickets and nonces.
struct TicketSeal: Sendable {
    /// The maximum length of a sealed text. Browsers reject a cookie if its name and value together exceed 4096 bytes
    /// (RFC 6265bis 5.6).
    private static let longest = 3900
    private static let version: UInt8 = 1
    /// The version whose text ends with the accepted providers.
    private static let versionWithProviders: UInt8 = 2
    /// The version whose text ends with the accepted providers and a login hint.
    private static let versionWithHint: UInt8 = 3

    let keys: SealingKeyRing

    // MARK: Requests

    /// Returns the sealed request in base64url.
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

    /// Opens the request with this id to `issuer`. Returns `nil` for any other text.
    func request(_ text: String, id: String, issuer: String) -> TicketRequest? {
        self.keys.openText(
            Array(text.utf8),
            versions: Self.version...Self.versionWithHint,
            for: Self.place(request: id, issuer)
        ) { (reader, version) throws(CompactFormatError) in
            // Arguments are evaluated in order, so they must be in the order of the fields.
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

    /// Returns the sealed nonce in base64url. A `returnTo` that is too long becomes `/`.
    ///
    /// - Parameters:
    ///   - id: The name of the cookie.
    ///   - authority: The host as `host[:port]`. The seal is valid for this port only, unlike the cookie itself (RFC
    ///     6265 8.5).
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

    /// Opens a nonce that was sealed for this id and host. Returns `nil` for any other text.
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

    // An authority contains no space, so the purposes of the seals are unambiguous.

    private static func place(request id: String, _ issuer: String) -> String { "ticket request \(issuer) \(id)" }

    private static func place(nonce id: String, _ authority: String) -> String { "ticket nonce \(authority) \(id)" }
}
