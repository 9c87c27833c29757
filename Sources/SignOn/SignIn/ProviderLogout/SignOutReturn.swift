package import Cryptography
import Sessions
package import Vocabulary

/// Where a browser goes after a sign-out at the provider. Passed through the provider as `state` (OpenID Connect
/// RP-Initiated Logout 1.0 2), sealed so that the provider cannot read the path.
package struct SignOutReturn: Sendable, Hashable {
    /// The origin of one of the gateway's hosts.
    package var origin: String
    /// A safe path on the origin (`ReturnTo`).
    package var path: String

    package init(origin: String, path: String) {
        self.origin = origin
        self.path = path
    }
}

/// Seals and opens `SignOutReturn`.
package struct SignOutReturnSeal: Sendable {
    /// The maximum time that a browser may stay at the provider.
    private static let lifetime: Duration = .seconds(3600)
    /// The maximum length of a path in bytes, because it becomes part of a URL. A longer path is replaced by `/`.
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

    /// Returns the sealed text in base64url.
    package func seal(_ place: SignOutReturn) -> String {
        let text = self.keys.sealText(version: Self.version, for: Self.place) { writer in
            writer.write(self.clock.now())
            writer.write(place.origin)
            writer.write(place.path.utf8.count > Self.longestPath ? "/" : place.path)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Opens a text that this deployment sealed in the last hour. Returns `nil` for any other text.
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
