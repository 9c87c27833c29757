import AddressIntelligence
import TestSupport
import Testing

@Suite("Autonomous systems from a list")
struct ASNListTests {
    @Test("The longest prefix wins, in both families, and number 0 excludes a part")
    func longestPrefix() throws {
        let directory = try Self.directory(
            """
            # our offices
            10.0.0.0/8,64512
            10.1.0.0/16, AS64513   # the second floor
            10.1.2.0/24,as64514\r
              10.1.3.0/24\t,\t0

            192.0.2.7,64515
            2001:db8::/32,64512
            2001:db8:1::/48,AS4294967295
            ::/0,64999
            """
        )
        let expected: [(String, UInt32?)] = [
            ("10.0.0.0", 64512), ("10.255.255.255", 64512), ("10.1.0.0", 64513), ("10.1.1.255", 64513),
            ("10.1.2.0", 64514),
            ("10.1.2.255", 64514), ("10.1.3.9", nil), ("10.1.4.0", 64513), ("10.2.0.0", 64512), ("9.255.255.255", nil),
            ("11.0.0.0", nil), ("192.0.2.7", 64515), ("192.0.2.8", nil), ("::ffff:10.1.2.3", 64514),
            ("2001:db8::1", 64512), ("2001:db8:1::", 4_294_967_295), ("2001:db8:1:ffff::", 4_294_967_295),
            ("2001:db8:2::", 64512),
            ("2001:db9::", 64999), ("ffff::", 64999),
        ]
        for (text, number) in expected {
            #expect(try directory.asn(of: address(text)) == number, "\(text)")
        }
        #expect(directory.buildTime == nil)
    }

    @Test("Addresses that embed IPv4 have no number, whatever the list says")
    func transitional() throws {
        let directory = try Self.directory(
            "::/0,64512\n2002::/16,64512\n2001::/32,64512\n64:ff9b::/96,64512\n64:ff9b:1::/48,64512\n::/96,64512"
        )
        for text in ["2002:180:1::1", "2001:0:1::1", "64:ff9b::1.128.0.1", "64:ff9b:1::1", "::1.128.0.1", "::1", "::"] {
            #expect(try directory.asn(of: address(text)) == nil, "\(text)")
        }
        #expect(try directory.asn(of: address("2001:db8::1")) == 64512)
    }

    @Test(
        "A wrong line refuses the list and is named",
        arguments: [
            ("10.0.0.0/8", 1), ("10.0.0.0/8,1,Example", 1), ("10.0.0.1/8,1", 1), ("\n# x\n10.0.0.0/8,", 3),
            ("10.0.0.0/8,1\n,2", 2),
            ("10.0.0.0/8,AS", 1), ("10.0.0.0/8,-1", 1), ("10.0.0.0/8,4294967296", 1),
            ("10.0.0.0/8,99999999999999999999", 1),
            ("10.0.0.0/8,1.5", 1), ("10.0.0.0/8,ASAS1", 1), ("network,autonomous_system_number\n10.0.0.0/8,1", 1),
            ("10.0.0.0/8,1\n10.0.0.0/8,2", 2), ("10.0.0.0/8,1\n11.0.0.0/8,1 2", 2), ("10.0.0.0/8;1", 1),
            ("\"10.0.0.0/8\",1", 1),
            ("10.0.0.0/8,1\u{0}", 1), ("\u{FEFF}10.0.0.0/8,1", 1),
        ]
    )
    func wrongLine(text: String, line: Int) throws {
        let file = try TemporaryFile(text)
        defer { file.remove() }
        do {
            _ = try ASNDirectory.open(csv: file.path)
            Issue.record("accepted")
        } catch AddressFileError.invalidLine(let path, let number, _) {
            #expect(path == file.path)
            #expect(number == line)
        }
    }

    @Test("A list may repeat itself but not contradict itself")
    func repetition() throws {
        #expect(try Self.directory("10.0.0.0/8,1\n10.0.0.0/8,AS1").asn(of: address("10.0.0.1")) == 1)
    }

    @Test("A list without any system is refused", arguments: ["", "\n\n", "# nothing yet\n", "10.0.0.0/8,0"])
    func empty(text: String) throws {
        let file = try TemporaryFile(text)
        defer { file.remove() }
        #expect(throws: AddressFileError.noNumbers(path: file.path)) { try ASNDirectory.open(csv: file.path) }
    }

    @Test("Bytes of any kind are an error or a list, never a crash")
    func noise() throws {
        var numbers = SeededNumbers(seed: 3)
        let seed = Array("10.0.0.0/8,AS64512 # x\n2001:db8::/32,1\n".utf8)
        var (lists, errors) = (0, 0)
        for _ in 0..<2000 {
            var bytes = seed
            for _ in 0..<4 {
                bytes[Int.random(in: 0..<bytes.count, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
            }
            let file = try TemporaryFile(bytes)
            defer { file.remove() }
            do {
                _ = try ASNDirectory.open(csv: file.path).asn(of: IPAddress(v4: 0x0A00_0001))
                lists += 1
            } catch {
                errors += 1
            }
        }
        #expect(lists > 0 && errors > 0)
    }

    @Test("A list gives the same answers as a search of all prefixes", arguments: 0..<100)
    func agreesWithScan(seed: Int) throws {
        var numbers = SeededNumbers(seed: UInt64(seed))
        var entries: [CIDRBlock: UInt32] = [:]
        for _ in 0..<40 {
            let length = Int.random(in: 20...32, using: &numbers)
            let value = UInt32.random(in: 0...4095, using: &numbers) & (UInt32.max << UInt32(32 - length))
            entries[try block("\(IPAddress(v4: value))/\(length)")] = UInt32.random(in: 0...3, using: &numbers)
        }
        entries[try block("255.0.0.0/8")] = 9
        let directory = try Self.directory(entries.map { "\($0.key),\($0.value)" }.joined(separator: "\n"))
        for _ in 0..<300 {
            let address = IPAddress(v4: UInt32.random(in: 0...5000, using: &numbers))
            let longest = entries.filter { $0.key.contains(address) }.max { $0.key.prefixLength < $1.key.prefixLength }
            #expect(directory.asn(of: address) == (longest?.value == 0 ? nil : longest?.value), "\(address)")
        }
        #expect(directory.asn(of: IPAddress(v4: .max)) == 9)
    }

    private static func directory(_ text: String) throws -> ASNDirectory {
        let file = try TemporaryFile(text)
        defer { file.remove() }
        return try ASNDirectory.open(csv: file.path)
    }
}
