package import Vocabulary

/// Finds the autonomous system of an address in a file that the operator provides and may replace at any time: its content
/// is kept in memory.
package struct ASNDirectory: Sendable {
    private enum Content {
        case database(MaxMindDatabase)
        case list(ASNList)
    }

    private let content: Content

    /// Opens a database in MaxMind's format (`.mmdb`) whose records have MaxMind's `autonomous_system_number` or IPinfo's
    /// `asn`.
    package static func open(database path: String) throws(AddressFileError) -> ASNDirectory {
        // A city database also opens, and would then refuse every device silently.
        let database = try MaxMindDatabase(path: path, lacking: .noNumbers(path: path)) { Self.number(in: $0) != nil }
        return ASNDirectory(content: .database(database))
    }

    /// Reads a list of `prefix,asn` lines.
    package static func open(csv path: String) throws(AddressFileError) -> ASNDirectory {
        ASNDirectory(content: .list(try ASNList(path: path)))
    }

    /// The number of the system of `address`; nil where it is unknown.
    ///
    /// Always nil for addresses that embed an IPv4 address (`IPAddress.isTransitional`), whatever the file says.
    package func asn(of address: IPAddress) -> UInt32? {
        guard !address.isTransitional else { return nil }
        switch self.content {
        case .database(let database): return database.read(address, Self.number)
        case .list(let list): return list.number(of: address)
        }
    }

    /// When the content was built; nil for a list, which does not say.
    package var buildTime: UnixTime? {
        switch self.content {
        case .database(let database): database.buildTime
        case .list: nil
        }
    }

    /// IPinfo writes `AS64500`; some who follow it write the number alone.
    private static func number(in record: MaxMindValue) -> UInt32? {
        let own = record["autonomous_system_number"]?.number
        let named = record["asn"]?.text.flatMap { ASNList.systemNumber(Array($0.utf8)[...]) }
        let number = (own ?? record["asn"]?.number).map { UInt32(exactly: $0) } ?? named
        return number == 0 ? nil : number
    }
}
