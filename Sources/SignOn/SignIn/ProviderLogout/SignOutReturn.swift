package import Cryptography
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
    /// No record has such a place: their keys begin with `sp:`.
    private static let place = Array("sign-out".utf8)

    private let keys: SealingKeyRing
    private let clock: Clock

    package init(_ keys: SealingKeyRing, clock: Clock) {
        self.keys = keys
        self.clock = clock
    }

    /// Characters of base64url.
    package func seal(_ place: SignOutReturn) -> String {
        var writer = CompactWriter()
        writer.write(byte: Self.version)
        writer.write(self.clock.now().milliseconds)
        writer.write(place.origin)
        writer.write(place.path.utf8.count > Self.longestPath ? "/" : place.path)
        return Base64URL.encode(self.keys.seal(writer.bytes, for: Self.place))
    }

    /// What was sealed in the last hour; nil for all else.
    package func open(_ text: String) -> SignOutReturn? {
        guard text.utf8.count <= Self.longest, let sealed = Base64URL.decoded(Array(text.utf8)[...]),
            let bytes = try? self.keys.open(sealed, for: Self.place)
        else { return nil }
        var reader = CompactReader(bytes)
        guard let version = try? reader.byte(), version == Self.version,
            let milliseconds = try? reader.signed(),
            let origin = try? reader.text(), let path = try? reader.text(), (try? reader.finish()) != nil
        else { return nil }
        let age = self.clock.now().since(UnixTime(milliseconds: milliseconds))
        guard age <= Self.lifetime, age >= .seconds(-60) else { return nil }
        return SignOutReturn(origin: origin, path: path)
    }
}
