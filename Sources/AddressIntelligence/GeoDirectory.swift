package import Vocabulary

/// The location of an address. Members that the database does not have are `nil`. All names are English.
package struct Place: Sendable, Hashable {
    /// The continent: `EU`
    package var continentCode: String?
    /// The country (ISO 3166-1): `DE`
    package var countryCode: String?
    package var countryName: String?
    /// The largest subdivision (ISO 3166-2), without the country: `BY`
    package var subdivisionCode: String?
    package var subdivisionName: String?
    package var cityName: String?
    /// The latitude in degrees.
    package var latitude: Double?
    package var longitude: Double?
    /// The IANA time zone: `Europe/Berlin`
    package var timeZone: String?

    package init() {}
}

/// Finds the location of an address in the operator's database of cities or countries. The file is read into memory
/// once.
package struct GeoDirectory: Sendable {
    private let content: MaxMindDatabase

    /// Opens a database in MaxMind's format (`.mmdb`) that has countries, in nested (MaxMind) or flat (IPinfo) records.
    package init(database path: String) throws(AddressFileError) {
        self.content = try MaxMindDatabase(path: path, lacking: .noPlaces(path: path)) {
            Self.place(in: $0)?.countryCode != nil
        }
    }

    /// Returns the location of `address`. `nil` if the database does not have it, or if `address` embeds an IPv4
    /// address (`IPAddress.isTransitional`).
    package func place(of address: IPAddress) -> Place? {
        guard !address.isTransitional else { return nil }
        return self.content.read(address, Self.place)
    }

    /// The build time of the database; `nil` if the database has no plausible time.
    package var buildTime: UnixTime? { self.content.buildTime }

    private static func place(in record: MaxMindValue) -> Place? {
        let place = record["country"]?["iso_code"] == nil ? Self.flatPlace(in: record) : Self.nestedPlace(in: record)
        return place == Place() ? nil : place
    }

    /// Reads a nested record in MaxMind's format.
    private static func nestedPlace(in record: MaxMindValue) -> Place {
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
        return place
    }

    /// Reads a flat record in IPinfo's format. `country` is a code if the database has `country_name`, and a name if
    /// the database has `country_code`. `continent` works alike.
    private static func flatPlace(in record: MaxMindValue) -> Place {
        func text(_ member: MaxMindValue?) -> String? { member?.text.flatMap { $0.isEmpty ? nil : $0 } }
        func isCode(_ text: String) -> Bool {
            text.utf8.count == 2 && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        }
        let (country, continent) = (text(record["country"]), text(record["continent"]))
        var place = Place()
        place.continentCode = (text(record["continent_code"]) ?? continent).flatMap { isCode($0) ? $0 : nil }
        place.countryCode = (text(record["country_code"]) ?? country).flatMap { isCode($0) ? $0 : nil }
        place.countryName = text(record["country_name"]) ?? country.flatMap { isCode($0) ? nil : $0 }
        place.subdivisionCode = text(record["region_code"])
        place.subdivisionName = text(record["region"])
        place.cityName = text(record["city"])
        place.latitude = record["latitude"]?.degrees ?? record["lat"]?.degrees
        place.longitude = record["longitude"]?.degrees ?? record["lng"]?.degrees
        place.timeZone = text(record["timezone"])
        return place
    }
}

extension MaxMindValue {
    /// The value as a number, also if it is text: `"48.1374"`.
    fileprivate var degrees: Double? {
        if let number = self.double { return number }
        guard let text = self.text, let number = Double(text), number.isFinite else { return nil }
        return number
    }
}
