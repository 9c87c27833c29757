package import Cryptography
package import Settings
package import Vocabulary

/// Takes a browser that a handoff has signed in to the host on which users sign in, to be signed in there too
/// (`handoff.share`), and from there back to the page that it wanted. The browser carries that page, sealed: nothing is
/// stored, and no other site can make such a link.
package struct HandoffShare: Sendable {
    /// A page of a host to which a browser returns.
    package struct Page: Sendable, Equatable {
        /// The public authority of the host.
        package var host: String
        /// The exact path and query.
        package var target: String

        package init(host: String, target: String) {
            self.host = host
            self.target = target
        }
    }

    /// How long a browser may take, which follows redirects at once.
    private static let lifetime = Duration.seconds(60)
    /// The longest path and query that is carried; sealed twice, it still fits into a request line. A browser that wants
    /// a longer one is signed in on its own host only.
    private static let longestTarget = 2800
    private static let version: UInt8 = 1

    private let hosts: SignInHosts
    private let keys: SealingKeyRing

    package init(hosts: SignInHosts, keys: SealingKeyRing) {
        self.hosts = hosts
        self.keys = keys
    }

    /// The host on which users of `page.host` sign in, and the sealed link for it, in base64url; nil if users sign in on
    /// that host itself, or the page's path and query are too long.
    package func link(to page: Page, now: UnixTime) -> (host: SignInHosts.Host, text: String)? {
        guard page.target.utf8.count <= Self.longestTarget, let host = self.hosts.signInHost(of: page.host) else {
            return nil
        }
        var writer = CompactWriter()
        writer.write(byte: Self.version)
        writer.write(page.target)
        writer.write(now.milliseconds)
        let place = Self.place(page.host, host.authority)
        return (host, Base64URL.encode(self.keys.seal(writer.bytes, for: place)))
    }

    /// The page in a link.
    ///
    /// - Parameters:
    ///   - authority: The host from which the browser comes.
    ///   - host: The host on which the link is presented.
    /// - Returns: nil if no host of this deployment made the link; and whether it is still to be followed, else the
    ///   browser only returns.
    package func page(
        _ text: String,
        from authority: String,
        on host: String,
        now: UnixTime
    ) -> (page: Page, isCurrent: Bool)? {
        guard self.hosts.signInHost(of: authority)?.authority == host,
            let sealed = Base64URL.decoded(Array(text.utf8)[...]),
            let bytes = try? self.keys.open(sealed, for: Self.place(authority, host)),
            let (target, madeAt) = try? Self.read(bytes)
        else { return nil }
        return (Page(host: authority, target: target), now.since(madeAt) <= Self.lifetime)
    }

    private static func read(_ bytes: [UInt8]) throws(CompactFormatError) -> (target: String, madeAt: UnixTime) {
        var reader = CompactReader(bytes)
        guard try reader.byte() == self.version else { throw CompactFormatError() }
        let target = try reader.text()
        let madeAt = UnixTime(milliseconds: try reader.signed())
        try reader.finish()
        return (target, madeAt)
    }

    /// Nothing else is sealed for such a place: the places of records begin with `sp:`, and an authority contains no space.
    private static func place(_ from: String, _ host: String) -> [UInt8] {
        Array("handoff share \(from) \(host)".utf8)
    }
}
