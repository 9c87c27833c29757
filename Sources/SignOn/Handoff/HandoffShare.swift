package import Cryptography
import Sessions
package import Settings
package import Vocabulary

/// Makes links from a host with a handoff to the host on which its users sign in (`handoff.share`). The link signs the
/// browser in there, too, and returns it to the requested page. The page is sealed in the link, so that nothing is
/// stored and only this deployment can make links.
package struct HandoffShare: Sendable {
    /// A page to which the browser returns.
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

    /// The time for which a link is valid. Browsers follow redirects at once.
    private static let lifetime = Duration.seconds(60)
    /// The maximum length of the page's path and query. The link must fit into a request line even if it is sealed
    /// twice. For longer paths, no link is made, and the browser is signed in on the requested host only.
    private static let longestTarget = 2800
    private static let version: UInt8 = 1

    private let hosts: SignInHosts
    private let keys: SealingKeyRing

    package init(hosts: SignInHosts, keys: SealingKeyRing) {
        self.hosts = hosts
        self.keys = keys
    }

    /// Returns the host on which users of `page.host` sign in, and the sealed text of the link. `nil` if users sign in
    /// on `page.host` itself, or if the path and query are too long.
    package func link(to page: Page, now: UnixTime) -> (host: SignInHosts.Host, text: String)? {
        guard page.target.utf8.count <= Self.longestTarget, let host = self.hosts.signInHost(of: page.host) else {
            return nil
        }
        let text = self.keys.sealText(version: Self.version, for: Self.place(page.host, host.authority)) { writer in
            writer.write(page.target)
            writer.write(now)
        }
        return (host, String(decoding: text, as: UTF8.self))
    }

    /// Opens a link.
    ///
    /// - Parameters:
    ///   - authority: The host from which the browser comes.
    ///   - host: The host on which the link is presented.
    /// - Returns: The page. `isCurrent` is false if the link has expired, so that it must sign nobody in. `nil` if this
    ///   deployment did not make the link for these hosts.
    package func page(
        _ text: String,
        from authority: String,
        on host: String,
        now: UnixTime
    ) -> (page: Page, isCurrent: Bool)? {
        guard self.hosts.signInHost(of: authority)?.authority == host else { return nil }
        return self.keys.openText(
            Array(text.utf8),
            versions: Self.version...Self.version,
            for: Self.place(authority, host)
        ) { (reader, _) throws(CompactFormatError) in
            let page = Page(host: authority, target: try reader.text())
            return (page, now.since(try reader.time()) <= Self.lifetime)
        }
    }

    /// Returns the purpose of the seal. An authority contains no space, so the text is unambiguous.
    private static func place(_ from: String, _ host: String) -> String { "handoff share \(from) \(host)" }
}
