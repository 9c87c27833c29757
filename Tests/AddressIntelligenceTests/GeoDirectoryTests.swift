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

    @Test("A reload takes the new file, and keeps the last good content when that is broken or gone")
    func reload() throws {
        let whole = try Array(Data(contentsOf: URL(fileURLWithPath: TestData.path("GeoLite2-City-Test.mmdb"))))
        let file = try TemporaryFile(whole)
        defer { file.remove() }
        let directory = try GeoDirectory(database: file.path)
        let probe = try address("81.2.69.142")
        try file.replace(with: Array(whole.prefix(whole.count / 2)))
        #expect(throws: AddressFileError.self) { try directory.reload() }
        #expect(directory.place(of: probe)?.countryCode == "GB")
        unlink(file.path)
        #expect(throws: AddressFileError.unreadable(path: file.path, code: ENOENT)) { try directory.reload() }
        #expect(directory.place(of: probe)?.countryCode == "GB")
        try file.replace(with: whole)
        try directory.reload()
        #expect(directory.place(of: probe)?.countryCode == "GB")
    }

    @Test("No damaged byte of a city's record ends the process")
    func damaged() throws {
        let whole = try Array(Data(contentsOf: URL(fileURLWithPath: TestData.path("GeoLite2-City-Test.mmdb"))))
        var numbers = SeededNumbers(seed: 11)
        let file = try TemporaryFile(whole)
        defer { file.remove() }
        for _ in 0..<60 {
            var bytes = whole
            for _ in 0..<200 {
                bytes[Int.random(in: bytes.indices, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
            }
            try file.replace(with: bytes)
            guard let directory = try? GeoDirectory(database: file.path) else { continue }
            for text in ["81.2.69.142", "2001:218::1", "89.160.20.112"] {
                _ = try directory.place(of: address(text))
            }
        }
    }
}
