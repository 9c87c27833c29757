package import Vocabulary

/// Finds the autonomous system number of an address in the operator's file. The file is read into memory once.
package struct ASNDirectory: Sendable {
    private enum Content {
        case database(MaxMindDatabase)
        case list(ASNList)
    }

    private let content: Content

    /// Opens a database in MaxMind's format (`.mmdb`) with the member `autonomous_system_number` (MaxMind) or `asn`
    /// (IPinfo).
    package static func open(database path: String) throws(AddressFileError) -> ASNDirectory {
        // A database of cities opens, too, but without numbers every device would be rejected. Report an error instead.
        let database = try MaxMindDatabase(path: path, lacking: .noNumbers(path: path)) { Self.number(in: $0) != nil }
        return ASNDirectory(content: .database(database))
    }

    /// Reads a list of `prefix,asn` lines.
    package static func open(csv path: String) throws(AddressFileError) -> ASNDirectory {
        ASNDirectory(content: .list(try ASNList(path: path)))
    }

    /// Returns the autonomous system number of `address`. `nil` if the file does not have it, or if `address` embeds an
    /// IPv4 address (`IPAddress.isTransitional`).
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

    /// Returns a record's number, written as a number or as text (`AS64500`, IPinfo); `nil` if it is missing or 0.
    private static func number(in record: MaxMindValue) -> UInt32? {
        let own = record["autonomous_system_number"]?.number
        let named = record["asn"]?.text.flatMap { ASNList.systemNumber(Array($0.utf8)[...]) }
        let number = (own ?? record["asn"]?.number).map { UInt32(exactly: $0) } ?? named
        return number == 0 ? nil : number
    }
}
