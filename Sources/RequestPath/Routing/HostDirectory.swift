import Observability
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
    /// What spans of its requests say of it.
    let spanRun: SpanRun
    /// `Host` for the app; empty but for a name of a wildcard, as the routes of other hosts have it.
    let hostLine: [UInt8]
    /// Whom assertions for the app are for, for a name of a wildcard; nil: the routes have it.
    let audience: Audience?
    /// Whether it is one name of a wildcard.
    let isNamed: Bool
    /// The host with the wildcard and the label of this name; nil: it is no name of a wildcard.
    let name: (wildcard: HostEntry, label: [UInt8])?
    let tree: RouteTree
    /// Whether all routes make the same demands for every method, so that the reading of a path does not matter.
    let isUniform: Bool
    /// The routes as an app that ignores letter case sees them, or how letters are composed. nil: all apps of the host
    /// tell cases apart, and the routes are ASCII; or the spelling makes no difference.
    let foldedTree: RouteTree?
    /// For each route with letters beyond ASCII its outline, for paths that an app reads in a code page. Each has a tree
    /// of its own, because several routes may have one outline. Empty: the spelling makes no difference.
    let outlines: [RouteTree]
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
        self.forwardedLines = Self.forwardedLines(of: url)
        self.spanRun = Self.spanRun(of: url)
        self.hostLine = []
        self.audience = nil
        self.isNamed = false
        self.name = nil
        let entries = self.routes
        self.isUniform = entries.allSatisfy { $0.demands == entries[0].demands && $0.methods.isUnrestricted }
        self.firstIndex = entries.first?.index ?? 0
        let demanded = Set(entries.map(\.strictness))
        self.isStrictest = entries.map { route in demanded.allSatisfy { route.strictness.covers($0) } }
        let keepsCase = settings.caseSensitive
        let isBeyondASCII = !self.isUniform && routes.contains { $0.pattern.isBeyondASCII }
        let folded = routes.map { (pattern: $0.pattern.folded(keepsCase: keepsCase), entry: $0.entry) }
        self.hasFoldedPatterns = zip(routes, folded).allSatisfy { $0.pattern == $1.pattern }
        self.foldedTree = isBeyondASCII || !keepsCase && !self.isUniform ? RouteTree(folded) : nil
        self.outlines =
            !isBeyondASCII
            ? []
            : routes.filter(\.pattern.isBeyondASCII).map { route in
                RouteTree([(pattern: route.pattern.outline, entry: route.entry)])
            }
    }

    /// The host of one name that a host with a wildcard stands for. It shares its routes; nil: the name is too long.
    ///
    /// - Parameter label: What stands for the `*`; it fits (`HostLabel`).
    init?(_ wildcard: HostEntry, named label: UnsafeBufferPointer<UInt8>) {
        guard let url = wildcard.settings.publicURL.named(String(decoding: label, as: UTF8.self)) else { return nil }
        self.index = wildcard.index
        var settings = wildcard.settings
        settings.publicURL = url
        self.settings = settings
        self.realms = wildcard.realms
        self.firstRealm = wildcard.firstRealm
        self.routes = wildcard.routes
        self.tree = wildcard.tree
        let origin = url.description
        self.origin = Array(origin.utf8)
        self.forwardedLines = Self.forwardedLines(of: url)
        self.spanRun = Self.spanRun(of: url)
        self.hostLine = Array("Host: \(url.authority)\r\n".utf8)
        self.audience = Audience(of: origin)
        self.isNamed = true
        self.name = (wildcard, Array(label))
        self.isUniform = wildcard.isUniform
        self.foldedTree = wildcard.foldedTree
        self.outlines = wildcard.outlines
        self.hasFoldedPatterns = wildcard.hasFoldedPatterns
        self.isStrictest = wildcard.isStrictest
        self.firstIndex = wildcard.firstIndex
    }

    private static func spanRun(of url: PublicURL) -> SpanRun {
        SpanRun { span in
            span.attribute("url.scheme", url.scheme)
            span.attribute("server.address", url.host)
            span.attribute("server.port", url.port ?? (url.isHTTPS ? 443 : 80))
        }
    }

    private static func forwardedLines(of url: PublicURL) -> [UInt8] {
        Array("X-Forwarded-Host: \(url.authority)\r\nX-Forwarded-Proto: \(url.scheme)\r\n".utf8)
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
    /// What follows the label in the names of a wildcard, by `.name` and `.name:port`; nil: there is no wildcard.
    private let wildcards: ByteTable?
    /// Names for which no wildcard stands.
    private let reserved: ByteTable

    /// The longest `Host` that can match (RFC 1035 2.3.4, and a port).
    private static let longest = 262

    /// - Parameter reserved: Names for which no wildcard stands.
    init(_ urls: [PublicURL], reserved: [String] = []) {
        let urls = urls.enumerated().map { (index: $0, url: $1) }
        self.names = Self.table(urls.filter { !$0.url.isWildcard }) { $0.host }
        let wildcards = urls.filter(\.url.isWildcard)
        self.wildcards = wildcards.isEmpty ? nil : Self.table(wildcards) { String($0.host.dropFirst()) }
        self.reserved = ByteTable(reserved.map { (key: Array($0.utf8), value: 0) })
    }

    /// - Parameter name: That of a host.
    private static func table(
        _ hosts: [(index: Int, url: PublicURL)],
        _ name: (PublicURL) -> String
    ) -> ByteTable {
        var keys: [String: Int] = [:]
        for (index, url) in hosts { keys["\(name(url)):\(url.port ?? (url.isHTTPS ? 443 : 80))"] = index }
        for (name, hosts) in Dictionary(grouping: hosts, by: { name($0.url) }) {
            // A name without a port leads to the host with the default port, else to the only host of that name.
            let plain = hosts.first { $0.url.port == nil }
            if let host = plain ?? (hosts.count == 1 ? hosts.first : nil) { keys[name] = host.index }
        }
        return ByteTable(keys.map { (key: Array($0.key.utf8), value: $0.value) })
    }

    /// The index of the host that `authority` (`name[:port]`) names; nil when there is none.
    @inline(__always)
    func index(of authority: UnsafeBufferPointer<UInt8>) -> Int? {
        // Nearly every client writes the name as the table has it, and then the search below would begin and end there.
        self.names[authority] ?? self.index(ofSpelling: authority)
    }

    private func index(ofSpelling authority: UnsafeBufferPointer<UInt8>) -> Int? {
        Self.withSpelling(of: authority) { key, nameEnd in
            self.names[key] ?? self.names[UnsafeBufferPointer(rebasing: key[..<nameEnd])]
        }
    }

    /// Calls `body` with the wildcard that stands for the name in `authority`, which is no host of its own, and the name's
    /// label.
    ///
    /// - Returns: nil where none does: the first label does not fit, or more than one takes the place of the `*`.
    func wildcard<Result>(
        of authority: UnsafeBufferPointer<UInt8>,
        _ body: (_ index: Int, _ label: UnsafeBufferPointer<UInt8>) -> Result?
    ) -> Result? {
        guard let wildcards = self.wildcards else { return nil }
        return Self.withSpelling(of: authority) { key, nameEnd in
            let name = UnsafeBufferPointer(rebasing: key[..<nameEnd])
            guard let dot = name.firstIndex(of: UInt8(ascii: ".")),
                let index = wildcards[UnsafeBufferPointer(rebasing: key[dot...])]
                    ?? wildcards[UnsafeBufferPointer(rebasing: name[dot...])],
                self.reserved[name] == nil
            else { return nil }
            let label = UnsafeBufferPointer(rebasing: name[..<dot])
            return HostLabel.isFit(label) ? body(index, label) : nil
        }
    }

    /// Calls `body` with the authority as the tables have it: the name in lower case and without a dot at its end, and the
    /// port; and with the length of the name.
    private static func withSpelling<Result>(
        of authority: UnsafeBufferPointer<UInt8>,
        _ body: (_ key: UnsafeBufferPointer<UInt8>, _ nameEnd: Int) -> Result?
    ) -> Result? {
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
            return body(UnsafeBufferPointer(rebasing: key[..<count]), nameEnd)
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
