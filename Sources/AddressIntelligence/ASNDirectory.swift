import Synchronization
package import Vocabulary

/// Finds the autonomous system of an address in a file that the operator provides and may replace at any time.
///
/// While `reload` reads the new file, lookups use the old content, which is closed when its last reader is done. A
/// lookup takes a lock for one reference count, so it must not be done for every request.
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
    /// Serialises reloads, so that two at once cannot leave the older content in place.
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

    /// The number of the system of `address`; nil where it is unknown.
    ///
    /// Always nil for addresses that embed an IPv4 address (`IPAddress.isTransitional`), whatever the file says.
    package func asn(of address: IPAddress) -> UInt32? {
        guard !address.isTransitional else { return nil }
        switch self.content.withLock({ $0 }) {
        case .database(let database): return database.number(of: address)
        case .list(let list): return list.number(of: address)
        }
    }

    /// Reads the file again. On an error the old content stays.
    package func reload() throws(ASNError) {
        try self.reloading.withLock { _ throws(ASNError) in
            let fresh = try Self.load(self.source)
            self.content.withLock { $0 = fresh }
        }
    }

    /// When the content was built; nil for a list, which does not say.
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
