import AddressIntelligence
import Testing

@Suite("The key of a device is its IPv4 address or its IPv6 /64, where that is its own")
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
            ("192.0.2.1", "::192.0.2.1"), ("0.0.0.0", "::"), ("192.0.2.1", "64:ff9b:1::192.0.2.1"),
            ("2002:c000:201::1", "2002:cb00:7109::1"), ("192.0.2.1", "2002:c000:201::1"),
            ("192.0.2.1", "2001:0:102:304::3fff:fdfe"),
        ]
    )
    func otherKey(one: String, other: String) throws {
        #expect(try address(one).key != address(other).key)
    }

    @Test(
        "Clients behind one translator or relay are devices of their own",
        arguments: [
            ("64:ff9b::c000:201", "64:ff9b::cb00:7109"), ("64:ff9b::c000:201", "64:ff9b::c000:202"),
            ("64:ff9b::c000:201", "203.0.113.9"), ("64:ff9b:1::c000:201", "64:ff9b:1::cb00:7109"),
            ("64:ff9b:1:c000:2:100::", "64:ff9b:1:c000:2:200::"), ("64:ff9b:1::c000:201", "64:ff9b::c000:201"),
            ("::192.0.2.1", "::203.0.113.9"), ("::1", "::2"),
            ("2001:0:102:304:0:1234:3fff:fdfe", "2001:0:102:304:0:1234:34ff:8ef6"),
        ]
    )
    func relayed(one: String, other: String) throws {
        #expect(try address(one).key != address(other).key)
        #expect(try address(one).key.description != address(other).key.description)
    }

    @Test(
        "A client is the IPv4 address that NAT64 embeds, and in Teredo that of its NAT, whatever the port and the server",
        arguments: [
            ("64:ff9b::c000:201", "192.0.2.1", "192.0.2.1"), ("64:ff9b::192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:0:102:304:0:1234:3fff:fdfe", "2001:0:506:708:8000:4321:3fff:fdfe", "2001::c000:201"),
        ]
    )
    func embedded(one: String, other: String, description: String) throws {
        #expect(try address(one).key == address(other).key)
        #expect(try address(one).key.description == description)
    }

    @Test(
        "The network of a client behind a translator or relay is that of its IPv4 address",
        arguments: [
            ("64:ff9b::c000:201", "192.0.2.0/24"), ("192.0.2.1", "192.0.2.0/24"),
            ("2001:db8:1:2::1", "2001:db8:1::/48"),
            ("64:ff9b:1::c000:201", "64:ff9b:1::c000:200/120"), ("::192.0.2.1", "::c000:200/120"),
            ("2001:0:102:304:0:1234:3fff:fdfe", "2001::c000:200/120"), ("2002:c000:201:1::1", "2002:c000:201::/48"),
        ]
    )
    func networks(text: String, network: String) throws {
        #expect(try CIDRBlock(networkOf: address(text), v4: 24, v6: 48).description == network)
    }

    @Test("The description of a key shows what it covers")
    func description() throws {
        #expect(try address("::ffff:192.0.2.1").key.description == "192.0.2.1")
        #expect(try address("2001:db8:1:2:3::4").key.description == "2001:db8:1:2::/64")
        #expect(try address("64:ff9b:1::c000:201").key.description == "64:ff9b:1::c000:201")
        #expect(try address("2001:db8:1:2:3::4").key.block.description == "2001:db8:1:2::/64")
        #expect(try address("64:ff9b::c000:201").key.block.description == "192.0.2.1/32")
    }
}
