import Cryptography
package import Providers
import Sessions
package import Vocabulary

/// A sign-in at a provider that has begun: what the browser keeps, sealed, until it comes back. Nothing is stored for it.
package struct KeptSignIn: Sendable, Equatable {
    /// How long a user may take to sign in at the provider.
    package static let lifetime: Duration = .seconds(600)
    /// The maximum length of the sealed text: browsers refuse a cookie whose name and value have more than 4096 bytes
    /// (RFC 6265bis 5.6).
    static let longest = 3800

    /// What the provider needs to complete the sign-in. nil: the browser had no room for it, or an earlier version of the
    /// gateway has made it, so that the sign-in can only begin again.
    package var atProvider: PendingSignIn?
    /// The path on this host to which the browser goes afterwards.
    package var returnTo: String
    /// What the sign-in must reach.
    package var demand: SignInDemand
    package var begunAt: UnixTime
    /// The native app for which the user signs in; nil: the session is the browser's.
    package var app: WaitingApp?
    /// Whether it has begun in place of one that could not be completed. It is not begun again: a browser that keeps
    /// nothing would go to the provider and back for ever.
    package var isRepeat = false
    /// The name of the provider at which it has begun, on a host with several. It is completed at no other, and only where
    /// that provider sends browsers back (mix-up, RFC 9700 4.4). nil: the host had one.
    package var provider: String?

    /// Whether the browser had no room for what completes it, so that it begins again, once.
    package var beginsAgain: Bool { self.atProvider == nil && !self.isRepeat }

    /// Whether the user took too long.
    package func isExpired(at now: UnixTime) -> Bool { now.since(self.begunAt) > Self.lifetime }

    /// What the sign-in must reach and has not reached; nil if it has reached everything.
    func unmet(by authentication: Authentication, at now: UnixTime) -> String? {
        let time = authentication.authenticatedAt
        return self.demand.unmet(
            level: authentication.aal,
            authenticatedAt: time == Authentication.unknownTime ? nil : time,
            begunAt: self.begunAt,
            now: now
        )
    }
}

/// A native app that waits for its user to sign in with the browser.
package struct WaitingApp: Sendable, Equatable {
    /// The id of its flow.
    package var flow: String
    /// Where the browser goes back to, with a code.
    package var returnTo: String

    package init(flow: String, returnTo: String) {
        self.flow = flow
        self.returnTo = returnTo
    }
}

/// Seals what a browser keeps of a sign-in.
struct KeptSignInSeal: Sendable {
    private static let version: UInt8 = 3
    /// The same with the name of the provider at its end.
    private static let versionWithProvider: UInt8 = 4
    /// An earlier version, which ends with an app. What its provider kept, and that of the one before, is not read any more.
    private static let versionWithApp: UInt8 = 2

    /// What is in the byte of flags.
    private enum Flag {
        static let isAgain: UInt8 = 1
        static let isRepeat: UInt8 = 2
    }

    let keys: SealingKeyRing

    /// The sealed text: characters of base64url. A `returnTo` for which there is no room becomes `/`.
    ///
    /// - Parameters:
    ///   - id: Names the cookie.
    ///   - authority: `host[:port]` of the host, because a cookie does not respect ports (RFC 6265 8.5).
    func seal(_ pending: KeptSignIn, id: String, on authority: String) -> Secret {
        let text = self.text(pending, id, authority)
        guard text.count > KeptSignIn.longest else { return Secret(text) }
        var short = pending
        short.returnTo = "/"
        return Secret(self.text(short, id, authority))
    }

    /// The same sign-in in as few bytes as lead the browser on: it cannot be completed, but begin again.
    func shortened(_ pending: KeptSignIn, id: String, on authority: String) -> Secret {
        var short = pending
        short.atProvider = nil
        return self.seal(short, id: id, on: authority)
    }

    private func text(_ pending: KeptSignIn, _ id: String, _ authority: String) -> [UInt8] {
        // What needs no name is sealed as by former gateways, which may complete it.
        let version = pending.provider == nil ? Self.version : Self.versionWithProvider
        return self.keys.sealText(version: version, for: Self.place(id, authority)) { writer in
            writer.write(pending.begunAt)
            writer.write(pending.returnTo)
            writer.write(byte: (pending.demand.isAgain ? Flag.isAgain : 0) | (pending.isRepeat ? Flag.isRepeat : 0))
            writer.write(pending.demand)
            writer.write(pending.atProvider?.encoded ?? Secret([]))
            writer.write(optional: pending.app) { writer, app in
                writer.write(app.flow)
                writer.write(app.returnTo)
            }
            if let provider = pending.provider { writer.write(provider) }
        }
    }

    /// What was sealed for this id and host; nil for all else, also for what was sealed under a secret that is no longer
    /// accepted.
    func open(_ text: Secret, id: String, on authority: String) -> KeptSignIn? {
        self.keys.openText(
            text.bytes,
            longest: KeptSignIn.longest,
            versions: 1...Self.versionWithProvider,
            for: Self.place(id, authority)
        ) { (reader, version) throws(CompactFormatError) in
            let (begunAt, returnTo, flags) = (try reader.time(), try reader.text(), try reader.byte())
            var pending = KeptSignIn(
                returnTo: returnTo,
                demand: try reader.demand(isAgain: flags & Flag.isAgain != 0),
                begunAt: begunAt
            )
            let state = try reader.secret()
            if version >= Self.version {
                pending.isRepeat = flags & Flag.isRepeat != 0
                pending.atProvider = PendingSignIn(state)
                pending.app = try reader.optional { (reader) throws(CompactFormatError) in
                    WaitingApp(flow: try reader.text(), returnTo: try reader.text())
                }
                if version == Self.versionWithProvider { pending.provider = try reader.text() }
            } else if version == Self.versionWithApp {
                pending.app = WaitingApp(flow: try reader.text(), returnTo: try reader.text())
            }
            return pending
        }
    }

    private static func place(_ id: String, _ authority: String) -> String { "sign-in \(authority) \(id)" }
}

extension CompactWriter {
    /// What a sign-in must reach, apart from whether it must be a new one.
    mutating func write(_ demand: SignInDemand) {
        self.write(optional: demand.aal) { $0.write($1.rawValue) }
        self.write(optional: demand.maxAge) { $0.write($1.wholeMilliseconds) }
    }
}

extension CompactReader {
    /// What a sign-in must reach, as `CompactWriter` wrote it.
    mutating func demand(isAgain: Bool) throws(CompactFormatError) -> SignInDemand {
        SignInDemand(
            isAgain: isAgain,
            aal: try self.optionalText().map { AssuranceLevel(named: $0) },
            maxAge: try self.optional { (reader) throws(CompactFormatError) in .milliseconds(try reader.signed()) }
        )
    }
}
