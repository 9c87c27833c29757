import Sessions
package import Settings
package import Vocabulary

/// A served host with its routes.
package final class HostEntry: Sendable {
    package let index: Int
    package let settings: HostSettings
    /// Whose users the host is for.
    package let realms: Realms
    /// The number of the first of them, so that no reference is counted for the comparison that nearly every request makes.
    private let firstRealm: Int
    package let routes: [RouteEntry]
    /// `X-Forwarded-Host` and `X-Forwarded-Proto` from the public URL, ready to be written.
    package let forwardedLines: [UInt8]
    /// The public origin, as browsers write it in `Origin`.
    package let origin: [UInt8]
    let tree: RouteTree
    /// Whether all routes make the same demands for every method, so that the reading of a path does not matter.
    let isUniform: Bool
    /// The routes as an app that ignores letter case sees them. nil: all apps of the host tell cases apart, or case
    /// makes no difference.
    let foldedTree: RouteTree?
    /// Whether folding changes no pattern. Then a path without capitals gets the same result from both trees.
    let hasFoldedPatterns: Bool
    /// For each of `routes`: whether a request that passes it would pass every other route.
    private let isStrictest: [Bool]
    /// The index of the first of `routes`.
    private let firstIndex: Int

    init(index: Int, settings: HostSettings, routes: [(pattern: RoutePattern, entry: RouteEntry)]) {
        self.index = index
        self.settings = settings
        self.realms = settings.realms
        self.firstRealm = settings.realms.first.number
        self.routes = routes.map(\.entry)
        self.tree = RouteTree(routes)
        let url = settings.publicURL
        self.origin = Array(url.description.utf8)
        self.forwardedLines = Array("X-Forwarded-Host: \(url.authority)\r\nX-Forwarded-Proto: \(url.scheme)\r\n".utf8)
        let entries = self.routes
        self.isUniform = entries.allSatisfy { $0.demands == entries[0].demands && $0.methods.isUnrestricted }
        self.firstIndex = entries.first?.index ?? 0
        let demanded = Set(entries.map(\.strictness))
        self.isStrictest = entries.map { route in demanded.allSatisfy { route.strictness.covers($0) } }
        let folded = routes.map { (pattern: $0.pattern.folded, entry: $0.entry) }
        self.hasFoldedPatterns = zip(routes, folded).allSatisfy { $0.pattern == $1.pattern }
        self.foldedTree = settings.caseSensitive || self.isUniform ? nil : RouteTree(folded)
    }

    /// Whether a request that passes `route`, which is one of this host's, would pass every other route.
    @inline(__always)
    func isStrictest(_ route: RouteEntry) -> Bool { self.isStrictest[route.index &- self.firstIndex] }

    /// Whether the session's user is one of those whom the host is for.
    @inline(__always)
    func isFor(_ session: CachedSession) -> Bool {
        session.session.identity.realm.number == self.firstRealm
            || (self.realms.areSeveral && self.realms.contains(session.session.identity.realm))
    }

    package var publicURL: PublicURL { self.settings.publicURL }
    /// Whether sign-in and token endpoints are served here.
    package var servesSignIn: Bool { self.settings.endpoints }
}

/// Finds a host by the bytes of `Host`.
///
/// Letter case is ignored, one dot at the end of the name is ignored (CVE-2022-23632), and the name is looked up
/// without its port when name and port together are not found.
struct HostDirectory: Sendable {
    /// By `name` and `name:port`, in lower case and without a dot at the end of the name, as `PublicURL` has them.
    private let names: ByteTable

    /// The longest `Host` that can match (RFC 1035 2.3.4, and a port).
    private static let longest = 262

    init(_ urls: [PublicURL]) {
        var keys: [String: Int] = [:]
        for (index, url) in urls.enumerated() {
            keys["\(url.host):\(url.port ?? (url.isHTTPS ? 443 : 80))"] = index
        }
        let names = Dictionary(grouping: urls.indices, by: { urls[$0].host })
        for (name, indices) in names {
            // A name without a port leads to the host with the default port, else to the only host of that name.
            let plain = indices.first { urls[$0].port == nil }
            if let index = plain ?? (indices.count == 1 ? indices.first : nil) { keys[name] = index }
        }
        self.names = ByteTable(keys.map { (key: Array($0.key.utf8), value: $0.value) })
    }

    /// The index of the host that `authority` (`name[:port]`) names; nil when there is none.
    @inline(__always)
    func index(of authority: UnsafeBufferPointer<UInt8>) -> Int? {
        // Nearly every client writes the name as the table has it, and then the search below would begin and end there.
        self.names[authority] ?? self.index(ofSpelling: authority)
    }

    private func index(ofSpelling authority: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !authority.isEmpty, authority.count <= Self.longest else { return nil }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.longest) { key in
            var nameEnd = Self.nameEnd(authority)
            let portStart = nameEnd
            if nameEnd > 0, authority[nameEnd - 1] == UInt8(ascii: ".") { nameEnd -= 1 }
            for index in 0..<nameEnd {
                let byte = authority[index]
                key[index] = byte &- 0x41 < 26 ? byte | 0x20 : byte
            }
            var count = nameEnd
            for index in portStart..<authority.count {
                key[count] = authority[index]
                count += 1
            }
            return self.names[UnsafeBufferPointer(rebasing: key[..<count])]
                ?? self.names[UnsafeBufferPointer(rebasing: key[..<nameEnd])]
        }
    }

    /// The end of the name, where `:port` begins. Colons within brackets belong to the name.
    private static func nameEnd(_ authority: UnsafeBufferPointer<UInt8>) -> Int {
        var index = authority.count
        while index > 0 {
            index -= 1
            if authority[index] == UInt8(ascii: ":") { return index }
            if authority[index] == UInt8(ascii: "]") { break }
        }
        return authority.count
    }
}
