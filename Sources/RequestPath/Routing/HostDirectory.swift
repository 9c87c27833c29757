package import Settings
package import Vocabulary

/// A served host with its routes.
package final class HostEntry: Sendable {
    package let index: Int
    package let settings: HostSettings
    /// Whose users the host is for.
    package let realm: Realm
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

    init(index: Int, settings: HostSettings, routes: [(pattern: RoutePattern, entry: RouteEntry)]) {
        self.index = index
        self.settings = settings
        self.realm = Realm(settings.provider)
        self.routes = routes.map(\.entry)
        self.tree = RouteTree(routes)
        let url = settings.publicURL
        self.origin = Array(url.description.utf8)
        self.forwardedLines = Array("X-Forwarded-Host: \(url.authority)\r\nX-Forwarded-Proto: \(url.scheme)\r\n".utf8)
        let entries = self.routes
        self.isUniform = entries.allSatisfy { $0.demands == entries[0].demands && $0.methods.isUnrestricted }
        let demanded = Set(entries.map(\.strictness))
        self.isStrictest = entries.map { route in demanded.allSatisfy { route.strictness.covers($0) } }
        let folded = routes.map { (pattern: $0.pattern.folded, entry: $0.entry) }
        self.hasFoldedPatterns = zip(routes, folded).allSatisfy { $0.pattern == $1.pattern }
        self.foldedTree = settings.caseSensitive || self.isUniform ? nil : RouteTree(folded)
    }

    /// Whether a request that passes `route`, which is one of this host's, would pass every other route.
    @inline(__always)
    func isStrictest(_ route: RouteEntry) -> Bool { self.isStrictest[route.index &- self.routes[0].index] }

    package var publicURL: PublicURL { self.settings.publicURL }
    /// Whether sign-in and token endpoints are served here.
    package var servesSignIn: Bool { self.settings.endpoints }
}

/// Finds a host by the bytes of `Host`.
///
/// Letter case is ignored, one dot at the end of the name is ignored (CVE-2022-23632), and the name is looked up
/// without its port when name and port together are not found.
struct HostDirectory: Sendable {
    private struct Slot {
        var key: [UInt8]
        var host: Int
    }

    private let slots: [Slot?]
    private let mask: Int

    /// The longest `Host` that can match (RFC 1035 2.3.4, and a port).
    private static let longest = 262

    init(_ hosts: [HostSettings]) {
        var keys: [String: Int] = [:]
        for (index, host) in hosts.enumerated() {
            let url = host.publicURL
            keys["\(url.host):\(url.port ?? (url.isHTTPS ? 443 : 80))"] = index
        }
        let names = Dictionary(grouping: hosts.indices, by: { hosts[$0].publicURL.host })
        for (name, indices) in names {
            // A name without a port leads to the host with the default port, else to the only host of that name.
            let plain = indices.first { hosts[$0].publicURL.port == nil }
            if let index = plain ?? (indices.count == 1 ? indices.first : nil) { keys[name] = index }
        }
        var capacity = 16
        while capacity < keys.count * 3 { capacity *= 2 }
        var slots = [Slot?](repeating: nil, count: capacity)
        for (name, index) in keys {
            let key = Array(name.utf8)
            var slot = Int(key.reduce(FieldNames.hashSeed) { FieldNames.hash($0, $1) }) & (capacity - 1)
            while slots[slot] != nil { slot = (slot + 1) & (capacity - 1) }
            slots[slot] = Slot(key: key, host: index)
        }
        self.slots = slots
        self.mask = capacity - 1
    }

    /// The index of the host that `authority` (`name[:port]`) names; nil when there is none.
    func index(of authority: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !authority.isEmpty, authority.count <= Self.longest else { return nil }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.longest) { key in
            var nameEnd = Self.nameEnd(authority)
            let hasPort = nameEnd < authority.count
            let portStart = nameEnd
            if nameEnd > 0, authority[nameEnd - 1] == UInt8(ascii: ".") { nameEnd -= 1 }
            var count = 0
            var hash = FieldNames.hashSeed
            for index in 0..<nameEnd {
                var byte = authority[index]
                if byte &- 0x41 < 26 { byte |= 0x20 }
                key[count] = byte
                hash = FieldNames.hash(hash, byte)
                count &+= 1
            }
            let nameHash = hash
            if hasPort {
                for index in portStart..<authority.count {
                    key[count] = authority[index]
                    hash = FieldNames.hash(hash, authority[index])
                    count &+= 1
                }
                if let host = self.host(UnsafeBufferPointer(rebasing: key[0..<count]), hash) { return host }
            }
            return self.host(UnsafeBufferPointer(rebasing: key[0..<nameEnd]), nameHash)
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

    private func host(_ key: UnsafeBufferPointer<UInt8>, _ hash: UInt32) -> Int? {
        var slot = Int(hash) & self.mask
        while let found = self.slots[slot] {
            if found.key.count == key.count, found.key.elementsEqual(key) { return found.host }
            slot = (slot &+ 1) & self.mask
        }
        return nil
    }
}
