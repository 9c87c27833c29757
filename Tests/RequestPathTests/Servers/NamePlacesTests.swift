import NIOCore
import RequestPath
import Testing

/// Which addresses of a name are servers of their own.
@Suite("The addresses of a name as servers") struct NamePlacesTests {
    private static func split(_ texts: String..., limit: Int = 64) -> [[String]] {
        let addresses = texts.compactMap { try? SocketAddress(ipAddress: $0, port: 80) }
        return NamePlaces.split(addresses, limit: limit).map { $0.map { $0.ipAddress ?? "" } }
    }

    @Test func aNameWithOneAddressIsOneServer() {
        #expect(Self.split() == [])
        #expect(Self.split("192.0.2.1") == [])
        // One machine with both families, most often.
        #expect(Self.split("2001:db8::1", "192.0.2.1") == [])
        #expect(Self.split("192.0.2.1", "192.0.2.2", limit: 1) == [])
    }

    @Test func severalAddressesAreServersInAnyOrderOfTheResolver() {
        let servers = [["192.0.2.1"], ["192.0.2.2"], ["192.0.2.3"]]
        #expect(Self.split("192.0.2.3", "192.0.2.1", "192.0.2.2") == servers)
        #expect(Self.split("192.0.2.2", "192.0.2.3", "192.0.2.1") == servers)
        #expect(Self.split("192.0.2.2", "192.0.2.3", "192.0.2.1", limit: 2) == [["192.0.2.1"], ["192.0.2.2"]])
    }

    @Test func oneFamilyCountsAndTheOtherIsASecondWay() {
        #expect(
            Self.split("2001:db8::2", "192.0.2.1", "2001:db8::1", "192.0.2.2")
                == [["2001:db8::1", "192.0.2.1"], ["2001:db8::2", "192.0.2.2"]]
        )
        #expect(
            Self.split("2001:db8::1", "192.0.2.2", "192.0.2.1")
                == [["192.0.2.1", "2001:db8::1"], ["192.0.2.2", "2001:db8::1"]]
        )
    }
}
