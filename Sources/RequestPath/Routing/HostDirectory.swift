import Observability
import Sessions
package import Settings
package import Vocabulary

/// A served host with its routes.
package final class HostEntry: Sendable {
    package let index: Int
    package let settings: HostSettings
    /// The realms whose users the host serves.
    package let realms: Realms
    /// The number of the first realm. Copied, because comparing `realms` needs a retain.
    private let firstRealm: Int
    package let routes: [RouteEntry]
    /// `X-Forwarded-Host` and `X-Forwarded-Proto` from the public URL, ready to write.
    package let forwardedLines: [UInt8]
    /// The public origin in the form that browsers send in `Origin`.
    package let origin: [UInt8]
    /// The attributes of the host in the spans of its requests.
    let spanRun: SpanRun
    /// The app's `Host` line for a name of a wildcard. Empty for other hosts: their routes have the line.
    let hostLine: [UInt8]
    /// The audience of the app's assertions for a name of a wildcard. `nil` if the routes have the audience.
    let audience: Audience?
    /// Whether the host was created for one name that a wildcard matches.
    let isNamed: Bool
    /// The host with the wildcard and this name's label. `nil` if the host is not a name of a wildcard.
    let name: (wildcard: HostEntry, label: [UInt8])?
    let tree: RouteTree
    /// Whether all routes have equal demands for every method, so that the reading of a path does not matter.
    let isUniform: Bool
    /// The routes as read by an app that ignores letter case or the composition of letters. `nil` if the demands cannot
    /// differ.
    let foldedTree: RouteTree?
    /// The outlines of the routes with letters beyond ASCII, for paths that an app reads in a code page. One tree for
    /// each route, because outlines may be equal. Empty if the demands cannot differ.
    let outlines: [RouteTree]
    /// True if folding changes no pattern, so that `tree` and `foldedTree` agree about paths without capitals.
    let hasFoldedPatterns: Bool
    /// For each element of `routes`, whether a request that passes it would pass every other route of the host.
    private let isStrictest: [Bool]
    /// The table index of the first element of `routes`.
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

    /// Creates the host for one name of a wildcard, with the wildcard's routes. `nil` if the name is too long.
    ///
    /// - Parameter label: A valid label (`HostLabel`) that replaces the `*`.
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

    /// Whether a request that passes `route`, a route of this host, would pass every other route of the host.
    @inline(__always)
    func isStrictest(_ route: RouteEntry) -> Bool { self.isStrictest[route.index &- self.firstIndex] }

    /// Whether the host serves the session's user.
    @inline(__always)
    func isFor(_ session: CachedSession) -> Bool {
        session.session.identity.realm.number == self.firstRealm
            || (self.realms.areSeveral && self.realms.contains(session.session.identity.realm))
    }

    package var publicURL: PublicURL { self.settings.publicURL }
    /// Whether the host serves sign-in and token endpoints.
    package var servesSignIn: Bool { self.settings.endpoints }
}

/// Finds a host by the bytes of `Host`.
///
/// Letter case and one dot at the end of the name are ignored (CVE-2022-23632). If the name and port together are not
/// found, the name is looked up without its port.
struct HostDirectory: Sendable {
    /// Hosts by `name` and `name:port`, in lower case and without a dot at the end of the name, as in `PublicURL`.
    private let names: ByteTable
    /// Wildcards by `.name` and `.name:port`, the part after the label. `nil` if there is no wildcard.
    private let wildcards: ByteTable?
    /// Names that no wildcard matches.
    private let reserved: ByteTable

    /// The maximum length of a `Host` that can match (RFC 1035 2.3.4, and a port).
    private static let longest = 262

    /// - Parameter reserved: Names that no wildcard matches.
    init(_ urls: [PublicURL], reserved: [String] = []) {
        let urls = urls.enumerated().map { (index: $0, url: $1) }
        self.names = Self.table(urls.filter { !$0.url.isWildcard }) { $0.host }
        let wildcards = urls.filter(\.url.isWildcard)
        self.wildcards = wildcards.isEmpty ? nil : Self.table(wildcards) { String($0.host.dropFirst()) }
        self.reserved = ByteTable(reserved.map { (key: Array($0.utf8), value: 0) })
    }

    /// - Parameter name: Returns the name of a host, without its port.
    private static func table(_ hosts: [(index: Int, url: PublicURL)], _ name: (PublicURL) -> String) -> ByteTable {
        var keys: [String: Int] = [:]
        for (index, url) in hosts { keys["\(name(url)):\(url.port ?? (url.isHTTPS ? 443 : 80))"] = index }
        for (name, hosts) in Dictionary(grouping: hosts, by: { name($0.url) }) {
            // A name without a port selects the host with the default port, or otherwise the only host of that name.
            let plain = hosts.first { $0.url.port == nil }
            if let host = plain ?? (hosts.count == 1 ? hosts.first : nil) { keys[name] = host.index }
        }
        return ByteTable(keys.map { (key: Array($0.key.utf8), value: $0.value) })
    }

    /// Returns the index of the host that `authority` (`name[:port]`) names. Returns `nil` if none exists.
    @inline(__always)
    func index(of authority: UnsafeBufferPointer<UInt8>) -> Int? {
        // Nearly every client writes the name as in the table, so other spellings are rarely looked up.
        self.names[authority] ?? self.index(ofSpelling: authority)
    }

    private func index(ofSpelling authority: UnsafeBufferPointer<UInt8>) -> Int? {
        Self.withSpelling(of: authority) { key, nameEnd in
            self.names[key] ?? self.names[UnsafeBufferPointer(rebasing: key[..<nameEnd])]
        }
    }

    /// Calls `body` with the wildcard that matches the name in `authority` and with the name's label. Used only if
    /// `index(of:)` finds no host.
    ///
    /// - Returns: The result of `body`. `nil` if no wildcard matches with one valid label, or the name is reserved.
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

    /// Calls `body` with the authority as spelt in the tables (the name in lower case without a dot at its end, then
    /// the port), and with the length of the name.
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

    /// Returns the end of the name, where `:port` begins. Colons within brackets belong to the name.
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
