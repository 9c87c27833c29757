package import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// A transfer token that waits for the user's confirmation. The browser keeps it in a sealed cookie, not in a URL.
package struct PendingHandoff: Sendable, Equatable {
    /// How long a browser keeps the pending token.
    package static let lifetime = Duration.seconds(60)

    package var token: Secret
    /// The transport with which the token arrived.
    package var transport: HandoffTransport
    /// The requested path and query, byte for byte, without the token.
    package var target: String
    /// The web client of the requested route.
    package var clientID: String
    /// The secret of the attempt to use the token. If the user confirms twice, both requests are one attempt.
    package var attempt: AttemptSecret
    /// A secret in the form on the confirmation page. A form without it is rejected.
    package var proof: Secret

    /// - Parameter attempt: The secret of an attempt that the browser repeats. Otherwise a new one.
    package init(
        token: Secret,
        transport: HandoffTransport,
        target: String,
        clientID: String,
        attempt: AttemptSecret = AttemptSecret()
    ) {
        self.token = token
        self.transport = transport
        self.target = target
        self.clientID = clientID
        self.attempt = attempt
        self.proof = Secret(Random.base64URL(16))
    }
}

/// Decides whether a token in a query needs the user's confirmation, and seals pending tokens.
///
/// Without confirmation, a link on another site could sign the user in to the account of the link's author (login
/// CSRF). `HandoffConsumer` also asks about a token for another account than the browser's last, whatever the token's
/// transport (`HandoffOutcome.unconfirmed`).
package struct HandoffConfirmation: Sendable {
    /// The maximum length of the sealed text. Browsers reject a cookie if its name and value exceed 4096 bytes (RFC
    /// 6265bis 5.6).
    private static let longest = 3800
    private static let version: UInt8 = 2

    private let mode: HandoffSettings.Confirmation
    private let keys: SealingKeyRing

    package init(_ mode: HandoffSettings.Confirmation, keys: SealingKeyRing) {
        self.mode = mode
        self.keys = keys
    }

    /// The treatment of a token in the query of a navigation.
    package enum Treatment: Sendable, Equatable {
        case consume, ask, refuse
    }

    /// Whether the gateway ever asks users to confirm.
    package var asks: Bool { self.mode != .never }

    /// Returns the treatment of a token in a query. `isCrossSite` is true if another site caused the navigation.
    package func treatment(isCrossSite: Bool) -> Treatment {
        switch self.mode {
        case .never: isCrossSite ? .refuse : .consume
        case .crossSite: isCrossSite ? .ask : .consume
        case .always: .ask
        }
    }

    /// Returns the sealed cookie value in base64url. `nil` if it is too long for a cookie.
    ///
    /// - Parameter authority: The host as `host[:port]`. The seal is valid for this port only, unlike the cookie itself
    ///   (RFC 6265 8.5).
    package func seal(_ pending: PendingHandoff, on authority: String, now: UnixTime) -> Secret? {
        let text = self.keys.sealText(version: Self.version, for: Self.place(authority)) { writer in
            writer.write(now)
            writer.write(pending.transport.rawValue)
            writer.write(pending.target)
            writer.write(pending.clientID)
            for secret in [pending.token, pending.attempt.value, pending.proof] { writer.write(secret) }
        }
        return text.count > Self.longest ? nil : Secret(text)
    }

    /// Opens a sealed cookie. Returns `nil` if it has expired or was not sealed for this host.
    package func open(_ text: Secret, on authority: String, now: UnixTime) -> PendingHandoff? {
        self.keys.openText(
            text.bytes,
            longest: Self.longest,
            versions: Self.version...Self.version,
            for: Self.place(authority)
        ) { (reader, _) throws(CompactFormatError) -> PendingHandoff? in
            let madeAt = try reader.time()
            let pending = try Self.read(&reader)
            return now.since(madeAt) <= PendingHandoff.lifetime ? pending : nil
        } ?? nil
    }

    private static func read(_ reader: inout CompactReader) throws(CompactFormatError) -> PendingHandoff {
        guard let transport = HandoffTransport(rawValue: try reader.text()) else { throw CompactFormatError() }
        let (target, clientID, token) = (try reader.text(), try reader.text(), try reader.secret())
        guard let attempt = AttemptSecret(try reader.secret().bytes) else { throw CompactFormatError() }
        var pending = PendingHandoff(
            token: token,
            transport: transport,
            target: target,
            clientID: clientID,
            attempt: attempt
        )
        pending.proof = try reader.secret()
        return pending
    }

    private static func place(_ authority: String) -> String { "handoff confirmation \(authority)" }
}
