import Cryptography
package import Providers
import Sessions
package import Vocabulary

/// The state of a sign-in at a provider. The browser keeps it in a sealed cookie, and nothing is stored.
package struct KeptSignIn: Sendable, Equatable {
    /// The time in which a user must sign in at the provider, 10 minutes.
    package static let lifetime: Duration = .seconds(600)
    /// The maximum length of the sealed text in bytes. Browsers reject a cookie if its name and value together exceed
    /// 4096 bytes (RFC 6265bis 5.6).
    static let longest = 3800

    /// The provider's state for completing the sign-in. `nil` if the browser had no room for it, or if an earlier
    /// version of the gateway began the sign-in. Without it, the sign-in can only begin again.
    package var atProvider: PendingSignIn?
    /// The path on this host to which the browser goes in the end.
    package var returnTo: String
    /// The requirements of the sign-in.
    package var demand: SignInDemand
    package var begunAt: UnixTime
    /// The native app for which the user signs in. `nil` if the browser itself gets the session.
    package var app: WaitingApp?
    /// True if the sign-in has begun again once. It then fails instead of beginning again, because a browser without
    /// cookies would loop.
    package var isRepeat = false
    /// The provider's name, on a host with several providers. The sign-in is completed only at this provider's callback
    /// (mix-up, RFC 9700 4.4). `nil` if the host had only one provider.
    package var provider: String?

    /// True if the sign-in begins again because `atProvider` is missing.
    package var beginsAgain: Bool { self.atProvider == nil && !self.isRepeat }

    /// Returns whether the sign-in has expired (`lifetime`).
    package func isExpired(at now: UnixTime) -> Bool { now.since(self.begunAt) > Self.lifetime }

    /// Returns a requirement that the sign-in has not met. `nil` if all requirements are met.
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
    /// The id of the app's flow.
    package var flow: String
    /// The URL to which the browser returns with a code.
    package var returnTo: String

    package init(flow: String, returnTo: String) {
        self.flow = flow
        self.returnTo = returnTo
    }
}

/// Seals and opens `KeptSignIn`.
struct KeptSignInSeal: Sendable {
    private static let version: UInt8 = 3
    /// The version whose text ends with the provider's name.
    private static let versionWithProvider: UInt8 = 4
    /// The version whose text ends with an app. The provider's state in versions 1 and 2 is no longer read.
    private static let versionWithApp: UInt8 = 2

    private enum Flag {
        static let isAgain: UInt8 = 1
        static let isRepeat: UInt8 = 2
    }

    let keys: SealingKeyRing

    /// Returns the sealed text in base64url. A `returnTo` that is too long becomes `/`.
    ///
    /// - Parameters:
    ///   - id: The name of the cookie.
    ///   - authority: The host as `host[:port]`. The seal is valid for this port only, unlike the cookie itself (RFC
    ///     6265 8.5).
    func seal(_ pending: KeptSignIn, id: String, on authority: String) -> Secret {
        let text = self.text(pending, id, authority)
        guard text.count > KeptSignIn.longest else { return Secret(text) }
        var short = pending
        short.returnTo = "/"
        return Secret(self.text(short, id, authority))
    }

    /// Seals the sign-in without the provider's state, for a browser without room for cookies.
    func shortened(_ pending: KeptSignIn, id: String, on authority: String) -> Secret {
        var short = pending
        short.atProvider = nil
        return self.seal(short, id: id, on: authority)
    }

    private func text(_ pending: KeptSignIn, _ id: String, _ authority: String) -> [UInt8] {
        // A sign-in without a provider's name gets the earlier version, so that earlier gateways can open it.
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

    /// Opens a sign-in that was sealed for this id and host. Returns `nil` for any other text.
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
    /// Writes the requirements of a sign-in, except `isAgain`.
    mutating func write(_ demand: SignInDemand) {
        self.write(optional: demand.aal) { $0.write($1.rawValue) }
        self.write(optional: demand.maxAge) { $0.write($1.wholeMilliseconds) }
    }
}

extension CompactReader {
    /// Reads the requirements of a sign-in, as `CompactWriter` wrote them.
    mutating func demand(isAgain: Bool) throws(CompactFormatError) -> SignInDemand {
        SignInDemand(
            isAgain: isAgain,
            aal: try self.optionalText().map { AssuranceLevel(named: $0) },
            maxAge: try self.optional { (reader) throws(CompactFormatError) in .milliseconds(try reader.signed()) }
        )
    }
}
