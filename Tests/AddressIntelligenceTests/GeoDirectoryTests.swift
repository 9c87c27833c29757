import AddressIntelligence
import Foundation
import TestSupport
import Testing
import Vocabulary

@Suite(
    "Places of addresses",
    .enabled(if: TestData.isExpected("GeoLite2-City-Test.mmdb"), TestData.absence)
)
struct GeoDirectoryTests {
    @Test("A city's record has its country, region, city, coordinates and time zone, in both families")
    func city() throws {
        let directory = try GeoDirectory(database: TestData.path("GeoLite2-City-Test.mmdb"))
        let place = try #require(directory.place(of: address("81.2.69.142")))
        #expect(place.continentCode == "EU")
        #expect(place.countryCode == "GB")
        #expect(place.countryName == "United Kingdom")
        #expect(place.subdivisionCode == "ENG")
        #expect(place.subdivisionName == "England")
        #expect(place.cityName == "London")
        #expect(place.latitude == 51.5142)
        #expect(place.longitude == -0.0931)
        #expect(place.timeZone == "Europe/London")
        #expect(try directory.place(of: address("::ffff:81.2.69.142")) == place)
        #expect(try directory.place(of: address("2001:218::1"))?.countryCode == "JP")
        #expect(directory.buildTime != nil)
    }

    @Test(
        "Private, unlisted and translated addresses have no place",
        arguments: ["10.0.0.1", "127.0.0.1", "::1", "2002:5102:458e::1", "64:ff9b::81.2.69.142"]
    )
    func unknown(text: String) throws {
        let directory = try GeoDirectory(database: TestData.path("GeoLite2-City-Test.mmdb"))
        #expect(try directory.place(of: address(text)) == nil)
    }

    @Test("A database of another kind is refused")
    func otherKind() throws {
        let path = try TestData.path("GeoLite2-ASN-Test.mmdb")
        #expect(throws: AddressFileError.noPlaces(path: path)) { try GeoDirectory(database: path) }
    }

    @Test("F28: No damaged byte of a city's record ends the process")
    func damaged() throws {
        let whole = try Array(Data(contentsOf: URL(fileURLWithPath: TestData.path("GeoLite2-City-Test.mmdb"))))
        var numbers = SeededNumbers(seed: 11)
        let file = try TemporaryFile(whole)
        defer { file.remove() }
        var opened = 0
        for _ in 0..<60 {
            var bytes = whole
            for _ in 0..<200 {
                bytes[Int.random(in: bytes.indices, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
            }
            try file.replace(with: bytes)
            guard let directory = try? GeoDirectory(database: file.path) else { continue }
            opened += 1
            for text in ["81.2.69.142", "2001:218::1", "89.160.20.112"] {
                _ = try directory.place(of: address(text))
            }
        }
        #expect(opened >= 5)
    }
}

@Suite("Places of addresses in flat records")
struct FlatGeoTests {
    private typealias Members = [(String, DatabaseImage.Value)]

    private static func directory(_ records: Members...) throws -> GeoDirectory {
        var image = DatabaseImage()
        for (number, record) in records.enumerated() { try image.add("10.\(number).0.0/16", .map(record)) }
        let file = try TemporaryFile(image.bytes)
        defer { file.remove() }
        return try GeoDirectory(database: file.path)
    }

    @Test("IPinfo's databases of countries have codes in country or in country_code, names beside them")
    func countries() throws {
        let directory = try Self.directory(
            [
                ("asn", .text("AS64512")), ("continent", .text("Europe")), ("continent_code", .text("EU")),
                ("country", .text("Germany")), ("country_code", .text("DE")),
            ],
            [
                ("continent", .text("EU")), ("continent_name", .text("Europe")), ("country", .text("DE")),
                ("country_name", .text("Germany")),
            ],
            [("country", .text("DE"))],
            [("country", .text("Germany"))],
            [("country", .text("")), ("country_code", .text("")), ("continent", .text(""))],
            [("country", .text("de")), ("country_code", .uint32(7))],
            [("country", .list([.text("DE")])), ("city", .map([]))]
        )
        var place = Place()
        place.countryCode = "DE"
        #expect(try directory.place(of: address("10.2.0.1")) == place)
        (place.countryName, place.continentCode) = ("Germany", "EU")
        #expect(try directory.place(of: address("10.0.0.1")) == place)
        #expect(try directory.place(of: address("10.1.0.1")) == place)
        #expect(try directory.place(of: address("10.3.0.1"))?.countryCode == nil)
        #expect(try directory.place(of: address("10.3.0.1"))?.countryName == "Germany")
        #expect(try directory.place(of: address("10.4.0.1")) == nil)
        #expect(try directory.place(of: address("10.5.0.1"))?.countryCode == nil)
        #expect(try directory.place(of: address("10.6.0.1")) == nil)
        #expect(try directory.place(of: address("10.7.0.1")) == nil)
    }

    @Test("IPinfo's databases of cities have texts, and coordinates as texts or numbers")
    func cities() throws {
        let directory = try Self.directory(
            [
                ("city", .text("Munich")), ("country", .text("DE")), ("lat", .text("48.1374")),
                ("lng", .text("-11.5755")), ("region", .text("Bavaria")), ("region_code", .text("BY")),
                ("timezone", .text("Europe/Berlin")),
            ],
            [
                ("country_code", .text("DE")), ("latitude", .double(48.1374)), ("longitude", .double(-11.5755)),
                ("city", .text("Munich")), ("region", .text("Bavaria")), ("region_code", .text("BY")),
                ("timezone", .text("Europe/Berlin")),
            ],
            [("country", .text("DE")), ("lat", .text("inf")), ("lng", .text("nan")), ("city", .uint32(1))]
        )
        let place = try #require(directory.place(of: address("10.0.0.1")))
        #expect(place.countryCode == "DE" && place.cityName == "Munich" && place.timeZone == "Europe/Berlin")
        #expect(place.subdivisionName == "Bavaria" && place.subdivisionCode == "BY")
        #expect(place.latitude == 48.1374 && place.longitude == -11.5755)
        #expect(try directory.place(of: address("10.1.0.1")) == place)
        let odd = try #require(directory.place(of: address("10.2.0.1")))
        #expect(odd.latitude == nil && odd.longitude == nil && odd.cityName == nil)
    }

    @Test("A flat database without countries is refused")
    func otherKind() throws {
        #expect(throws: AddressFileError.self) {
            try Self.directory([("asn", .text("AS64512")), ("name", .text("Example"))])
        }
    }
}
