import Synchronization
package import Vocabulary

/// Which autonomous system an address belongs to, from a file that the operator provides and may replace at any time.
///
/// Lookups go on, with the old content, while `reload` reads the new; the old one is closed when its last reader is
/// done. A lookup takes a lock for the length of one reference count and so has no place on every request.
package final class ASNDirectory: Sendable {
    private enum Source: Sendable {
        case database(path: String)
        case csv(path: String)
    }

    private enum Content: Sendable {
        case database(MaxMindDatabase)
        case list(ASNList)
    }

    private let source: Source
    private let content: Mutex<Content>
    /// Two reloads at once must not leave the older content in place.
    private let reloading = Mutex<Void>(())

    private init(_ source: Source) throws(ASNError) {
        self.source = source
        self.content = Mutex(try Self.load(source))
    }

    /// Opens a MaxMind database (`.mmdb`) whose records have `autonomous_system_number`.
    package static func open(database path: String) throws(ASNError) -> ASNDirectory {
        try ASNDirectory(.database(path: path))
    }

    /// Reads a list of `prefix,asn` lines.
    package static func open(csv path: String) throws(ASNError) -> ASNDirectory {
        try ASNDirectory(.csv(path: path))
    }

    /// The number of the system that `address` belongs to; nil where it is unknown.
    ///
    /// Never a number for addresses that carry IPv4 across IPv6 (`IPAddress.isTransitional`), whatever the file says.
    package func asn(of address: IPAddress) -> UInt32? {
        guard !address.isTransitional else { return nil }
        switch self.content.withLock({ $0 }) {
        case .database(let database): return database.number(of: address)
        case .list(let list): return list.number(of: address)
        }
    }

    /// Reads the file anew; on an error the content stays what it was.
    package func reload() throws(ASNError) {
        try self.reloading.withLock { _ throws(ASNError) in
            let fresh = try Self.load(self.source)
            self.content.withLock { $0 = fresh }
        }
    }

    /// When the content was made; nil for a list, which does not say.
    package var buildTime: UnixTime? {
        switch self.content.withLock({ $0 }) {
        case .database(let database): database.buildTime
        case .list: nil
        }
    }

    private static func load(_ source: Source) throws(ASNError) -> Content {
        switch source {
        case .database(let path): .database(try MaxMindDatabase(path: path))
        case .csv(let path): .list(try ASNList(path: path))
        }
    }
}
