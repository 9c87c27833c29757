package import Vocabulary

/// Finds the autonomous system of an address in a file that the operator provides and may replace at any time. The
/// content of the file is kept in memory.
package struct ASNDirectory: Sendable {
    private enum Content {
        case database(MaxMindDatabase)
        case list(ASNList)
    }

    private let content: Content

    /// Opens a database in MaxMind's format (`.mmdb`) with the member `autonomous_system_number` (MaxMind) or `asn`
    /// (IPinfo).
    package static func open(database path: String) throws(AddressFileError) -> ASNDirectory {
        // A database of cities can be opened, too. It has no numbers: every device would be rejected without an error.
        let database = try MaxMindDatabase(path: path, lacking: .noNumbers(path: path)) { Self.number(in: $0) != nil }
        return ASNDirectory(content: .database(database))
    }

    /// Reads a list of `prefix,asn` lines.
    package static func open(csv path: String) throws(AddressFileError) -> ASNDirectory {
        ASNDirectory(content: .list(try ASNList(path: path)))
    }

    /// Returns the number of the autonomous system of `address`; `nil` if the file does not know it.
    ///
    /// Always `nil` for addresses that embed an IPv4 address (`IPAddress.isTransitional`), whatever the file says.
    package func asn(of address: IPAddress) -> UInt32? {
        guard !address.isTransitional else { return nil }
        switch self.content {
        case .database(let database): return database.read(address, Self.number)
        case .list(let list): return list.number(of: address)
        }
    }

    /// The build time of the database; `nil` for a list, or if the database has no plausible time.
    package var buildTime: UnixTime? {
        switch self.content {
        case .database(let database): database.buildTime
        case .list: nil
        }
    }

    /// Returns the number in a record; `nil` if the number is missing or 0. IPinfo writes it as the text `AS64500`.
    /// Other databases in IPinfo's format may contain a plain number.
    private static func number(in record: MaxMindValue) -> UInt32? {
        let own = record["autonomous_system_number"]?.number
        let named = record["asn"]?.text.flatMap { ASNList.systemNumber(Array($0.utf8)[...]) }
        let number = (own ?? record["asn"]?.number).map { UInt32(exactly: $0) } ?? named
        return number == 0 ? nil : number
    }
}
