import AddressIntelligence
import Glibc
import TestSupport
import Testing

@Suite("Addresses are read strictly and written in canonical form")
struct IPAddressTests {
    @Test(
        "The text form is canonical (RFC 5952)",
        arguments: [
            ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("192.0.2.1", "192.0.2.1"),
            ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("0:0:0:0:0:0:0:0", "::"),
            ("2001:0DB8:0000:0000:0000:0000:0000:0001", "2001:db8::1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
            ("1:0:0:4:5:6:0:0", "1::4:5:6:0:0"), ("0:0:3:4:5:0:0:0", "0:0:3:4:5::"),
            ("ABCD:EF01:2345:6789:abcd:ef01:2345:6789", "abcd:ef01:2345:6789:abcd:ef01:2345:6789"),
            ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
            ("::1.2.3.4", "::102:304"),
            ("::ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:C000:0201", "192.0.2.1"),
            ("0:0:0:0:0:ffff:10.0.0.1", "10.0.0.1"),
            ("fe80::1%eth0", "fe80::1"), ("fe80::1%25", "fe80::1"), ("::ffff:10.0.0.1%lo", "10.0.0.1"),
        ]
    )
    func canonicalForm(text: String, canonical: String) throws {
        let address = try address(text)
        #expect(address.description == canonical)
        #expect(IPAddress(canonical) == address)
    }

    @Test(
        "A text that is not exactly an address is refused",
        arguments: [
            "", " ", "1", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.", "01.2.3.4", "1.2.3.04",
            "00.0.0.0",
            "256.1.1.1", "1.2.3.999", "1.2.3.4294967297", "0x7f.0.0.1", "2130706433", "1.2.3.4 ", " 1.2.3.4",
            "1.2.3.-4",
            "+1.2.3.4", "1.2.3.4:80", "1.2.3.4/32", "1.2.3.4%eth0", "1,2,3,4", "１.2.3.4", "1.2.3.4\0", "unknown",
            "_hidden",
            ":", ":::", "::1::", "1::2::3", ":1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:", "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1::2:3:4:5:6:7:8", "12345::", "::00001", "::g", "::1:", "1:",
            "::1.2.3", "::1.2.3.4.5", "::01.2.3.4", "::1.2.3.4:5", "1.2.3.4::", "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3.256",
            "1:2:3:4:5:1.2.3.4", "[::1]", "[::1]:80", "::1/128", "::1%", "fe80::1%eth0%1", "fe80::1%a b", "%eth0",
            "::1%a/64",
            "::ffff:1.2.3.4:", "::-1", "0x1::", "::\u{0}",
        ]
    )
    func refused(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("Reading agrees with the system's inet_pton on a hundred thousand near-addresses")
    func differential() throws {
        var numbers = SeededNumbers(seed: 1)
        let seeds = [
            "1:2:3:4:5:6:7:8", "::1", "2001:db8::", "::ffff:1.2.3.4", "1.2.3.4", "255.255.255.255", "1::8",
            "fe80:0:0::1",
        ]
        let alphabet = Array("0123456789abcdefABCF:.::..g".utf8)
        for _ in 0..<100_000 {
            var text = Array((seeds.randomElement(using: &numbers) ?? "::").utf8)
            for _ in 0..<Int.random(in: 0...3, using: &numbers) {
                let index = Int.random(in: 0...text.count, using: &numbers)
                switch Int.random(in: 0..<3, using: &numbers) {
                case 0: text.insert(alphabet.randomElement(using: &numbers) ?? 0x30, at: index)
                case 1 where index < text.count: text.remove(at: index)
                default: if index < text.count { text[index] = alphabet.randomElement(using: &numbers) ?? 0x30 }
                }
            }
            let ours = text.withUnsafeBufferPointer { IPAddress(utf8: $0) }
            let theirs = Self.system(text)
            guard ours != theirs else { continue }
            Issue.record(
                "\(String(decoding: text, as: UTF8.self)): \(String(describing: ours)), \(String(describing: theirs))"
            )
        }
    }

    @Test("The text form reads back, and equals the system's except for embedded IPv4")
    func roundTrip() {
        var numbers = SeededNumbers(seed: 2)
        for _ in 0..<20_000 {
            let mask = UInt64.random(in: 0...UInt64.max, using: &numbers)
            let sparse = [mask, 0xFFFF_0000_FFFF_0000 & mask, 0x0000_00FF_0000_0000 & mask, 0]
            let address = IPAddress(
                v6High: sparse.randomElement(using: &numbers) ?? 0,
                v6Low: sparse.randomElement(using: &numbers) ?? 0
            )
            let text = address.description
            #expect(IPAddress(text) == address)
            let system = Self.systemText(address)
            guard !address.isV4, !system.contains(".") else { continue }
            #expect(text == system)
        }
    }

    @Test("Raw network-order bytes make the same address as the text")
    func networkOrder() throws {
        let short: [UInt8] = [192, 0, 2, 1]
        #expect(short.withUnsafeBytes { IPAddress(networkOrder: $0) } == IPAddress("192.0.2.1"))
        let long: [UInt8] = [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        #expect(long.withUnsafeBytes { IPAddress(networkOrder: $0) } == IPAddress("2001:db8::1"))
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 0, 2, 1]
        #expect(mapped.withUnsafeBytes { IPAddress(networkOrder: $0) } == IPAddress("192.0.2.1"))
        for count in [0, 3, 5, 15, 17] {
            let bytes = [UInt8](repeating: 1, count: count)
            #expect(bytes.withUnsafeBytes { IPAddress(networkOrder: $0) } == nil)
        }
    }

    @Test("An IPv4-mapped address is the IPv4 address, however it is made")
    func mappedFolds() throws {
        let plain = IPAddress(v4: 0xC000_0201)
        #expect(plain.isV4)
        #expect(plain.v4 == 0xC000_0201)
        #expect(IPAddress(v6High: 0, v6Low: 0xFFFF_C000_0201) == plain)
        #expect(IPAddress("::ffff:c000:201") == plain)
        #expect(try address("::fffe:c000:201").isV4 == false)
        #expect(try address("::fffe:c000:201").v4 == nil)
    }

    @Test(
        "Loopback is 127.0.0.0/8 and ::1",
        arguments: [
            ("127.0.0.1", true), ("127.255.255.255", true), ("::1", true), ("::ffff:127.0.0.1", true),
            ("126.255.255.255", false),
            ("128.0.0.0", false), ("::", false), ("::2", false), ("::7f00:1", false), ("0.0.0.1", false),
            ("1::1", false),
        ]
    )
    func loopback(text: String, isLoopback: Bool) throws {
        #expect(try address(text).isLoopback == isLoopback)
    }

    @Test(
        "Private addresses are recognised to the bit",
        arguments: [
            ("10.0.0.0", true), ("10.255.255.255", true), ("9.255.255.255", false), ("11.0.0.0", false),
            ("172.15.255.255", false), ("172.16.0.0", true), ("172.31.255.255", true), ("172.32.0.0", false),
            ("192.168.0.0", true), ("192.167.255.255", false), ("192.169.0.0", false), ("169.254.1.1", true),
            ("100.63.255.255", false), ("100.64.0.0", true), ("100.127.255.255", true), ("100.128.0.0", false),
            ("::ffff:10.0.0.1", true), ("fbff::1", false), ("fc00::", true), ("fdff:ffff::1", true), ("fe00::", false),
            ("fe7f::", false), ("fe80::1", true), ("febf::1", true), ("fec0::", false), ("2001:db8::1", false),
            ("203.0.113.1", false), ("0.0.0.0", false), ("::", false), ("127.0.0.1", false), ("::1", false),
        ]
    )
    func privateAddresses(text: String, isPrivate: Bool) throws {
        #expect(try address(text).isPrivate == isPrivate)
    }

    @Test(
        "The unspecified address is recognised",
        arguments: [("0.0.0.0", true), ("::", true), ("::ffff:0.0.0.0", true), ("0.0.0.1", false), ("::1", false)]
    )
    func unspecified(text: String, isUnspecified: Bool) throws {
        #expect(try address(text).isUnspecified == isUnspecified)
    }

    @Test(
        "Addresses that embed IPv4 are recognised",
        arguments: [
            ("2002::", true), ("2002:180:1::1", true), ("2003::", false), ("2001:ffff:ffff::", false),
            ("2001::1", true),
            ("2001:0:ffff::", true), ("2001:1::", false), ("64:ff9b::1.2.3.4", true), ("64:ff9b::1:0:0", false),
            ("64:ff9b:1::", true), ("64:ff9b:1:ffff::", true), ("64:ff9b:2::", false), ("::1.2.3.4", true),
            ("::1:0:0", false), ("1.2.3.4", false), ("::ffff:1.2.3.4", false), ("32.2.0.0", false),
        ]
    )
    func transitional(text: String, isTransitional: Bool) throws {
        #expect(try address(text).isTransitional == isTransitional)
    }

    private static func system(_ text: [UInt8]) -> IPAddress? {
        let text = (text + [0]).map { CChar(bitPattern: $0) }
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return IPAddress(v4: UInt32(bigEndian: v4.s_addr)) }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        return withUnsafeBytes(of: v6) { IPAddress(networkOrder: $0) }
    }

    private static func systemText(_ address: IPAddress) -> String {
        var text = [CChar](repeating: 0, count: 64)
        _ = withUnsafeBytes(of: address.bits.bigEndian) { inet_ntop(AF_INET6, $0.baseAddress, &text, 64) }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
