package import Vocabulary

/// Where an address is, as far as a database of cities knows.
package struct Place: Sendable, Hashable {
    /// `EU`
    package var continentCode: String?
    /// ISO 3166-1: `DE`
    package var countryCode: String?
    /// In English, like every name.
    package var countryName: String?
    /// The largest subdivision of the country, by ISO 3166-2 without the country: `BY`
    package var subdivisionCode: String?
    package var subdivisionName: String?
    package var cityName: String?
    /// In degrees.
    package var latitude: Double?
    package var longitude: Double?
    /// Of the IANA database: `Europe/Berlin`
    package var timeZone: String?

    package init() {}
}

/// Finds the place of an address in a MaxMind database of cities that the operator provides and may replace at any time
/// (`ReplaceableFile`). A lookup takes a lock, so it must not be done for every request.
package final class GeoDirectory: Sendable {
    private let file: ReplaceableFile<MaxMindDatabase>

    /// Opens a MaxMind database (`.mmdb`) whose records have `country`.
    package init(database path: String) throws(AddressFileError) {
        self.file = try ReplaceableFile { () throws(AddressFileError) in
            try MaxMindDatabase(path: path, lacking: .noPlaces(path: path)) { $0["country"]?["iso_code"]?.text != nil }
        }
    }

    /// The place of `address`; nil where it is unknown.
    ///
    /// Always nil for addresses that embed an IPv4 address (`IPAddress.isTransitional`), whatever the file says.
    package func place(of address: IPAddress) -> Place? {
        guard !address.isTransitional else { return nil }
        return self.file.content.read(address, Self.place)
    }

    /// Reads the file again. On an error the old content stays.
    package func reload() throws(AddressFileError) {
        try self.file.reload()
    }

    /// When the content was built; nil where it does not say.
    package var buildTime: UnixTime? { self.file.content.buildTime }

    private static func place(in record: MaxMindValue) -> Place? {
        var place = Place()
        place.continentCode = record["continent"]?["code"]?.text
        place.countryCode = record["country"]?["iso_code"]?.text
        place.countryName = record["country"]?["names"]?["en"]?.text
        place.subdivisionCode = record["subdivisions"]?.first?["iso_code"]?.text
        place.subdivisionName = record["subdivisions"]?.first?["names"]?["en"]?.text
        place.cityName = record["city"]?["names"]?["en"]?.text
        place.latitude = record["location"]?["latitude"]?.double
        place.longitude = record["location"]?["longitude"]?.double
        place.timeZone = record["location"]?["time_zone"]?.text
        return place == Place() ? nil : place
    }
}
