import AddressIntelligence
import TestSupport
import Testing

@Suite("Address blocks")
struct CIDRTests {
    @Test(
        "A block is read with its length, a lone address as itself",
        arguments: [
            ("10.0.0.0/8", "10.0.0.0/8"), ("0.0.0.0/0", "0.0.0.0/0"), ("192.0.2.1/32", "192.0.2.1/32"),
            ("192.0.2.1", "192.0.2.1/32"),
            ("::/0", "::/0"), ("2001:DB8::/32", "2001:db8::/32"), ("::1", "::1/128"), ("::1/128", "::1/128"),
            ("fe80::/10", "fe80::/10"), ("::ffff:10.0.0.0/104", "10.0.0.0/8"), ("::ffff:0:0/96", "0.0.0.0/0"),
            ("::ffff:10.0.0.1", "10.0.0.1/32"), ("128.0.0.0/1", "128.0.0.0/1"),
        ]
    )
    func parsed(text: String, canonical: String) throws {
        let block = try block(text)
        #expect(block.description == canonical)
        #expect(CIDRBlock(canonical) == block)
        #expect("\(block.network)/\(block.prefixLength)" == canonical)
    }

    @Test(
        "Host bits, lengths out of range and other texts are refused",
        arguments: [
            "10.0.0.1/8", "11.0.0.0/7", "0.0.0.1/0", "192.0.2.1/31", "2001:db8::1/64", "::1/127", "fe80::/8",
            "fec0::/9",
            "10.0.0.0/33", "::/129", "10.0.0.0/104", "::ffff:0:0/95", "::ffff:0:0/80", "::ffff:10.0.0.0/8",
            "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/+8", "10.0.0.0/-8", "10.0.0.0/ 8", "10.0.0.0 /8", "10.0.0.0/8 ", "/8",
            "/",
            "", "10.0.0/8", "10/8", "10.0.0.0//8", "10.0.0.0/8/8", "10.0.0.0/255.0.0.0", "10.0.0.0/8a", "10.0.0.0/٨",
            "10.0.0.0/1000", "fe80::%eth0/10", "fe80::1%eth0", "fe80::/10%eth0", "*", "localhost", "[::]/0",
        ]
    )
    func refused(text: String) {
        #expect(CIDRBlock(text) == nil)
    }

    @Test(
        "A block contains its first and last address and not the neighbours",
        arguments: [
            (
                "10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"],
                ["9.255.255.255", "11.0.0.0", "::10.1.2.3", "a00::"]
            ),
            ("192.0.2.1/32", ["192.0.2.1"], ["192.0.2.0", "192.0.2.2"]),
            ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::", "::fffe:ffff:ffff", "::1:0:0:0", "2001:db8::"]),
            ("::/0", ["::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], ["0.0.0.0", "10.0.0.1", "::ffff:10.0.0.1"]),
            ("::/64", ["::", "::ffff:ffff:ffff:ffff"], ["0.0.0.0", "::ffff:1.2.3.4", "0:0:0:1::"]),
            (
                "2001:db8::/33", ["2001:db8::", "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff"],
                ["2001:db8:8000::", "2001:db7:ffff::"]
            ),
            ("::1/128", ["::1"], ["::", "::2", "127.0.0.1"]),
        ]
    )
    func contains(text: String, inside: [String], outside: [String]) throws {
        let block = try block(text)
        let set = CIDRSet([block])
        for text in inside {
            #expect(try block.contains(address(text)), "\(text)")
            #expect(try set.contains(address(text)), "\(text)")
        }
        for text in outside {
            #expect(try !block.contains(address(text)), "\(text)")
            #expect(try !set.contains(address(text)), "\(text)")
        }
    }

    @Test("The empty set contains nothing")
    func emptySet() throws {
        let set = CIDRSet([])
        #expect(try !set.contains(address("127.0.0.1")))
        #expect(try !set.contains(address("::1")))
    }

    @Test("A set gives the same answers as its blocks one by one, however they nest", arguments: 0..<200)
    func setAgreesWithBlocks(seed: Int) throws {
        var numbers = SeededNumbers(seed: UInt64(seed))
        var blocks: [CIDRBlock] = []
        for _ in 0..<Int.random(in: 1...24, using: &numbers) {
            blocks.append(try Self.smallBlock(using: &numbers))
        }
        if seed.isMultiple(of: 7) { blocks.append(try block("ff00::/8")) }
        let set = CIDRSet(blocks)
        for _ in 0..<300 {
            let address = Self.smallAddress(using: &numbers)
            #expect(set.contains(address) == blocks.contains { $0.contains(address) }, "\(address) in \(blocks)")
        }
        #expect(set.contains(IPAddress(v6High: .max, v6Low: .max)) == seed.isMultiple(of: 7))
    }

    /// A block in the last 1024 addresses of a family, so that many blocks overlap.
    private static func smallBlock(using numbers: inout SeededNumbers) throws -> CIDRBlock {
        let length = Int.random(in: 22...32, using: &numbers)
        let hostBits = UInt32(32 - length)
        let value = UInt32.random(in: 0xFFFF_FC00...UInt32.max, using: &numbers) & (UInt32.max << hostBits)
        if Bool.random(using: &numbers) {
            return try block("\(IPAddress(v4: value))/\(length)")
        }
        return try block("\(IPAddress(v6High: 0x2001_0DB8_0000_0000, v6Low: UInt64(value)))/\(length + 96)")
    }

    private static func smallAddress(using numbers: inout SeededNumbers) -> IPAddress {
        let value = UInt32.random(in: 0xFFFF_F800...UInt32.max, using: &numbers)
        return Bool.random(using: &numbers)
            ? IPAddress(v4: value) : IPAddress(v6High: 0x2001_0DB8_0000_0000, v6Low: UInt64(value))
    }
}
