import AddressIntelligence
import Testing

@Suite("The key of a device is its IPv4 address or its IPv6 /64")
struct AddressKeyTests {
    @Test(
        "Another spelling of an address, or another address in the /64, has the same key",
        arguments: [
            ("192.0.2.1", "::ffff:192.0.2.1"), ("192.0.2.1", "::FFFF:C000:201"),
            ("192.0.2.1", "0:0:0:0:0:ffff:192.0.2.1"),
            ("2001:db8::1", "2001:DB8:0:0::1"), ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"), ("fe80::1%eth0", "fe80::1"), ("fe80::1%1", "fe80::2%wlan0"),
        ]
    )
    func sameKey(one: String, other: String) throws {
        #expect(try address(one).key == address(other).key)
        #expect(try address(one).key.hashValue == address(other).key.hashValue)
        #expect(try address(one).key.description == address(other).key.description)
    }

    @Test(
        "Another IPv4 address, another /64 or the other family is another device",
        arguments: [
            ("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8:0:1::1"), ("192.0.2.1", "2001:db8::1"),
            ("192.0.2.1", "::192.0.2.1"), ("0.0.0.0", "::"), ("192.0.2.1", "64:ff9b::192.0.2.1"),
        ]
    )
    func otherKey(one: String, other: String) throws {
        #expect(try address(one).key != address(other).key)
    }

    @Test("The description of a key shows what it covers")
    func description() throws {
        #expect(try address("::ffff:192.0.2.1").key.description == "192.0.2.1")
        #expect(try address("2001:db8:1:2:3::4").key.description == "2001:db8:1:2::/64")
    }
}
