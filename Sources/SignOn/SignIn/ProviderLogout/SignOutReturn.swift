package import Cryptography
import Sessions
package import Vocabulary

/// Where a browser goes after a sign-out that leads by the provider. The provider gets it as `state` and gives it back
/// (OpenID Connect RP-Initiated Logout 1.0 2), sealed, because a path may tell more of the user than the provider knows.
package struct SignOutReturn: Sendable, Hashable {
    /// The origin of one of the gateway's hosts.
    package var origin: String
    /// A safe path on it (`ReturnTo`).
    package var path: String

    package init(origin: String, path: String) {
        self.origin = origin
        self.path = path
    }
}

/// Seals and opens `SignOutReturn`.
package struct SignOutReturnSeal: Sendable {
    /// How long a browser may stay at the provider.
    private static let lifetime: Duration = .seconds(3600)
    /// A longer path is left out: the text stands in a URL.
    private static let longestPath = 1024
    private static let longest = 2048
    private static let version: UInt8 = 1
    private static let place = "sign-out"

    private let keys: SealingKeyRing
    private let clock: Clock

    package init(_ keys: SealingKeyRing, clock: Clock) {
        self.keys = keys
        self.clock = clock
    }

    /// Characters of base64url.
    package func seal(_ place: SignOutReturn) -> String {
        let text = self.keys.sealText(version: Self.version, for: Self.place) { writer in
            writer.write(self.clock.now())
            writer.write(place.origin)
            writer.write(place.path.utf8.count > Self.longestPath ? "/" : place.path)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// What was sealed in the last hour; nil for all else.
    package func open(_ text: String) -> SignOutReturn? {
        self.keys.openText(
            Array(text.utf8),
            longest: Self.longest,
            versions: Self.version...Self.version,
            for: Self.place
        ) { (reader, _) throws(CompactFormatError) -> SignOutReturn? in
            let age = self.clock.now().since(try reader.time())
            let place = SignOutReturn(origin: try reader.text(), path: try reader.text())
            return age <= Self.lifetime && age >= .seconds(-60) ? place : nil
        } ?? nil
    }
}
