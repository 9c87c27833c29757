import AddressIntelligence
import Foundation
import TestSupport
import Testing
import Vocabulary

@Suite(
    "MaxMind's test databases",
    .enabled(if: TestData.isExpected("GeoLite2-ASN-Test.mmdb"), TestData.absence)
)
struct GeoLiteTests {
    private struct Truth: Decodable {
        var autonomous_system_number: UInt32
    }

    @Test("All 720 networks of the source list have their number, at their first and last address")
    func truth() throws {
        let directory = try Self.directory()
        for (network, number) in try Self.truth() {
            #expect(directory.asn(of: network.network) == number, "\(network)")
            #expect(directory.asn(of: try Self.last(of: network)) == number, "\(network)")
        }
        #expect(directory.buildTime != nil)
    }

    @Test("The same networks as a list give the same answers")
    func truthAsList() throws {
        let database = try Self.directory()
        let truth = try Self.truth()
        #expect(truth.count > 10)
        let file = try TemporaryFile(truth.map { "\($0.network),AS\($0.asn)" }.joined(separator: "\n"))
        defer { file.remove() }
        let list = try ASNDirectory.open(csv: file.path)
        var numbers = SeededNumbers(seed: 5)
        for (network, _) in truth {
            // Addresses around the edges, inside and outside of the network.
            for address in [network.network, try Self.last(of: network)] {
                for step in [-1, 0, 1, Int64.random(in: -100_000...100_000, using: &numbers)] {
                    let near = Self.moved(address, by: step)
                    #expect(list.asn(of: near) == database.asn(of: near), "\(near)")
                }
            }
        }
    }

    @Test(
        "A device that changes family keeps its system but not its key (T16)",
        arguments: [
            (1221, "1.128.0.0", "2001:8000::"), (7018, "12.81.92.0", "2602:300::"), (3320, "79.192.0.0", "2003::"),
        ] as [(UInt32, String, String)]
    )
    func bothFamilies(number: UInt32, v4: String, v6: String) throws {
        let directory = try Self.directory()
        #expect(try directory.asn(of: address(v4)) == number)
        #expect(try directory.asn(of: address(v6)) == number)
        #expect(try directory.asn(of: address("::ffff:\(v4)")) == number)
        #expect(try address(v4).key != address(v6).key)
    }

    @Test(
        "Private, unlisted and translated addresses have no system (T17, T18)",
        arguments: [
            "10.0.0.1", "127.0.0.1", "192.168.1.1", "0.0.0.0", "255.255.255.255", "::1", "fe80::1", "fd00::1",
            "ff02::1",
            "2002:180:1::1", "2002:180::", "2001:0:180:1::1", "64:ff9b::1.128.0.1", "64:ff9b:1::180:1", "::1.128.0.1",
        ]
    )
    func unknown(text: String) throws {
        #expect(try Self.directory().asn(of: address(text)) == nil)
    }

    @Test("The city database is refused")
    func cityDatabase() throws {
        let path = try TestData.path("GeoLite2-City-Test.mmdb")
        #expect(throws: AddressFileError.noNumbers(path: path)) { try ASNDirectory.open(database: path) }
    }

    private static func directory() throws -> ASNDirectory {
        try ASNDirectory.open(database: TestData.path("GeoLite2-ASN-Test.mmdb"))
    }

    private static func truth() throws -> [(network: CIDRBlock, asn: UInt32)] {
        let data = try Data(contentsOf: URL(fileURLWithPath: TestData.path("GeoLite2-ASN-Test.json")))
        let truth = try JSONDecoder().decode([[String: Truth]].self, from: data).flatMap { $0 }
        #expect(truth.count == 720)
        return try truth.map { (try block($0.key), $0.value.autonomous_system_number) }
    }

    private static func last(of network: CIDRBlock) throws -> IPAddress {
        if let value = network.network.v4 {
            return IPAddress(v4: value | UInt32(UInt64(UInt32.max) >> UInt64(network.prefixLength)))
        }
        return Self.wide(network.network.bits | UInt128.max >> UInt128(network.prefixLength))
    }

    private static func moved(_ address: IPAddress, by step: Int64) -> IPAddress {
        if let value = address.v4 { return IPAddress(v4: value &+ UInt32(truncatingIfNeeded: step)) }
        return Self.wide(address.bits &+ UInt128(truncatingIfNeeded: step))
    }

    private static func wide(_ bits: UInt128) -> IPAddress {
        IPAddress(v6High: UInt64(truncatingIfNeeded: bits >> 64), v6Low: UInt64(truncatingIfNeeded: bits))
    }
}
