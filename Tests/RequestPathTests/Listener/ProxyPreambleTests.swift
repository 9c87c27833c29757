import AddressIntelligence
import RequestPath
import Testing

/// Headers of version 2, made by hand.
enum BinaryHeader {
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    /// From 192.0.2.7:4711 to 198.51.100.1:443.
    static let v4: [UInt8] = [192, 0, 2, 7, 198, 51, 100, 1, 0x12, 0x67, 0x01, 0xBB]
    /// From 2001:db8::7 to 2001:db8::1, the same ports.
    static let v6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + Self.zeros(11) + [7] + [0x20, 0x01, 0x0D, 0xB8] + Self.zeros(11)
        + [1, 0x12, 0x67, 0x01, 0xBB]

    static func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }

    static func bytes(_ block: [UInt8], command: UInt8 = 0x21, family: UInt8 = 0x11, length: Int? = nil) -> [UInt8] {
        let length = length ?? block.count
        return self.signature + [command, family, UInt8(length >> 8), UInt8(length & 0xFF)] + block
    }

    static func value(_ kind: UInt8, _ value: [UInt8]) -> [UInt8] {
        [kind, UInt8(value.count >> 8), UInt8(value.count & 0xFF)] + value
    }

    /// A header with these values and a checksum over all of it, made by another way than the reader's: bit by bit.
    static func checked(_ values: [UInt8]) -> [UInt8] {
        var header = self.bytes(self.v4 + self.value(0x03, self.zeros(4)) + values)
        var sum = UInt32.max
        for byte in header {
            for bit in 0..<8 {
                let differs = (sum ^ UInt32(byte) >> UInt32(bit)) & 1 == 1
                sum = differs ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1
            }
        }
        for index in 0..<4 { header[31 + index] = UInt8(truncatingIfNeeded: ~sum >> UInt32(24 - 8 * index)) }
        return header
    }
}

@Suite("The header of the PROXY protocol") struct ProxyPreambleTests {
    private static func read(_ bytes: [UInt8]) -> ProxyPreamble.Reading {
        bytes.withUnsafeBytes { ProxyPreamble.read($0) }
    }

    private static func read(_ text: String) -> ProxyPreamble.Reading { self.read(Array(text.utf8)) }

    private static func whole(_ bytes: [UInt8]) throws -> ProxyPreamble {
        guard case .complete(let preamble) = self.read(bytes) else { throw Unread(bytes: bytes) }
        return preamble
    }

    private struct Unread: Error { let bytes: [UInt8] }

    private static func proxied(_ source: String, _ port: UInt16, to destination: String, _ other: UInt16) throws
        -> ProxyPreamble.Meaning
    {
        .proxied(
            source: .init(try #require(IPAddress(source)), port: port),
            destination: .init(try #require(IPAddress(destination)), port: other)
        )
    }

    private static let names = [
        "PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n": ("192.0.2.7", "198.51.100.1"),
        "PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n": ("2001:db8::7", "2001:db8::1"),
        "PROXY TCP6 ::ffff:192.0.2.7 ::1 4711 443\r\n": ("192.0.2.7", "::1"),
        "PROXY TCP6 2001:0DB8:0000:0000:0000:0000:0000:0007 ::1 4711 443\r\n": ("2001:db8::7", "::1"),
    ]

    @Test("Version 1 names both ends; an IPv4-mapped address is the IPv4 address")
    func lines() throws {
        for (text, (source, destination)) in Self.names {
            let preamble = try Self.whole(Array(text.utf8))
            #expect(preamble.version == 1 && preamble.byteCount == text.utf8.count)
            #expect(try preamble.meaning == Self.proxied(source, 4711, to: destination, 443), "\(text)")
        }
    }

    @Test(
        "Version 1 says that the client is unknown, whatever follows",
        arguments: [
            "PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n",
            "PROXY UNKNOWN  \r\n", "PROXY UNKNOWN \u{0} TCP4\r\n",
        ]
    )
    func unknown(text: String) throws {
        #expect(try Self.whole(Array(text.utf8)).meaning == .local)
    }

    @Test(
        "Version 1 in any other form is malformed",
        arguments: [
            "GET / HTTP/1.1\r\n", "PROXX TCP4 1.2.3.4 1.2.3.4 1 2\r\n", "proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n", "\u{16}",
            "PROXY\r\n", "PROXY \r\n", "PROXY TCP4\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n", "PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n", "PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
            "PROXY TCP4\t1.2.3.4 1.2.3.4 1 2\r\n", "PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n",
            "PROXY tcp4 1.2.3.4 1.2.3.4 1 2\r\n", "PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n", "PROXY UNKNOWNX\r\n",
            // The family and the addresses agree.
            "PROXY TCP4 ::1 ::1 1 2\r\n", "PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n", "PROXY TCP6 ::1 1.2.3.4 1 2\r\n",
            // Nothing that two readers would take for two addresses.
            "PROXY TCP4 1.2.3.04 1.2.3.4 1 2\r\n", "PROXY TCP4 0x1.2.3.4 1.2.3.4 1 2\r\n",
            "PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n", "PROXY TCP4 256.2.3.4 1.2.3.4 1 2\r\n",
            "PROXY TCP4 a.b.c.d 1.2.3.4 1 2\r\n",
            "PROXY TCP6 [::1] ::1 1 2\r\n", "PROXY TCP6 ::1%lo ::1 1 2\r\n", "PROXY TCP6 1::2::3 ::1 1 2\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 +1 2\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 1 \r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 0x2\r\n",
            // The line ends with CR LF, and nowhere else.
            "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n\r\n",
            "PROXY TCP4 1.2.3.4\r1.2.3.4 1 2\r\n", "PROXY UNKNOWN\rx\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\u{0}\r\n", "PROXY TCP4 1.2.3.\u{FF14} 1.2.3.4 1 2\r\n",
        ]
    )
    func malformedLines(text: String) {
        #expect(Self.read(text) == .malformed)
    }

    @Test("Version 1 has 107 bytes at most")
    func longLines() throws {
        func line(_ count: Int) -> String { "PROXY UNKNOWN ".padding(to: count - 2) + "\r\n" }
        #expect(try Self.whole(Array(line(107).utf8)).byteCount == 107)
        #expect(Self.read(line(108)) == .malformed)
        #expect(Self.read("PROXY UNKNOWN ".padding(to: 106)) == .incomplete)
        #expect(Self.read("PROXY UNKNOWN ".padding(to: 107)) == .malformed)
        #expect(Self.read("PROXY UNKNOWN ".padding(to: 106) + "\r") == .malformed)
    }

    @Test("Version 2 names both ends of TCP over IPv4 and IPv6")
    func binary() throws {
        let v4 = try Self.whole(BinaryHeader.bytes(BinaryHeader.v4))
        #expect(v4.version == 2 && v4.byteCount == 28 && v4.values == ProxyValues())
        #expect(try v4.meaning == Self.proxied("192.0.2.7", 4711, to: "198.51.100.1", 443))
        let v6 = try Self.whole(BinaryHeader.bytes(BinaryHeader.v6, family: 0x21))
        #expect(v6.byteCount == 52)
        #expect(try v6.meaning == Self.proxied("2001:db8::7", 4711, to: "2001:db8::1", 443))
        let mapped = BinaryHeader.zeros(10) + [0xFF, 0xFF, 192, 0, 2, 7] + BinaryHeader.v6[16...]
        let folded = try Self.whole(BinaryHeader.bytes(Array(mapped), family: 0x21))
        #expect(try folded.meaning == Self.proxied("192.0.2.7", 4711, to: "2001:db8::1", 443))
    }

    @Test(
        "CVE-2024-23327: LOCAL means the peer, in every family, and what follows it is skipped",
        arguments: [0, 1, 12, 300, 4096]
    )
    func local(count: Int) throws {
        for family: UInt8 in [0x00, 0x11, 0x12, 0x21, 0x31, 0x32, 0x44, 0xFF] {
            let header = BinaryHeader.bytes(Array(repeating: 0xAB, count: count), command: 0x20, family: family)
            let preamble = try Self.whole(header + Array("GET".utf8))
            #expect(preamble.meaning == .local && preamble.byteCount == 16 + count)
        }
        let unspecified = BinaryHeader.bytes(Array(repeating: 0xAB, count: count), family: 0x00)
        #expect(try Self.whole(unspecified).meaning == .local)
    }

    @Test("CVE-2024-23325: other versions, commands, families and protocols are malformed, as soon as they are seen")
    func otherForms() {
        for command in UInt8.min ... .max where command != 0x20 && command != 0x21 {
            #expect(Self.read(BinaryHeader.signature + [command]) == .malformed, "\(command)")
        }
        for family in UInt8.min ... .max where ![0x00, 0x11, 0x21].contains(family) {
            #expect(Self.read(BinaryHeader.bytes(BinaryHeader.zeros(216), family: family)) == .malformed, "\(family)")
        }
        for index in BinaryHeader.signature.indices {
            var wrong = BinaryHeader.bytes(BinaryHeader.v4)
            wrong[index] ^= 0x20
            #expect(Self.read(wrong) == .malformed, "\(index)")
        }
    }

    @Test("A block that is too short for its addresses, or longer than is taken, is malformed")
    func lengths() throws {
        for count in 0..<12 { #expect(Self.read(BinaryHeader.bytes(BinaryHeader.zeros(count))) == .malformed) }
        for count in 0..<36 {
            #expect(Self.read(BinaryHeader.bytes(BinaryHeader.zeros(count), family: 0x21)) == .malformed)
        }
        let filled = BinaryHeader.v4 + BinaryHeader.value(0x04, BinaryHeader.zeros(4096 - 15))
        #expect(try Self.whole(BinaryHeader.bytes(filled)).byteCount == 4112)
        for command: UInt8 in [0x20, 0x21] {
            for length in [4097, 65_535] {
                #expect(Self.read(BinaryHeader.bytes([], command: command, length: length)) == .malformed)
            }
        }
    }

    @Test("A value that does not fit is malformed, wherever it stands")
    func values() throws {
        let fine = BinaryHeader.value(0x04, [1, 2, 3])
        for wrong: [UInt8] in [
            [0x04], [0x04, 0], [0x04, 0, 1], [0x04, 0xFF, 0xFF, 1, 2],
            BinaryHeader.value(0x05, BinaryHeader.zeros(129)),
            BinaryHeader.value(0x02, BinaryHeader.zeros(256)), BinaryHeader.value(0x20, BinaryHeader.zeros(4)),
            BinaryHeader.value(0x20, BinaryHeader.zeros(5) + [0x21, 0, 9, 1]),
            BinaryHeader.value(0x20, BinaryHeader.zeros(6)),
            BinaryHeader.value(0x03, [1, 2, 3]), BinaryHeader.value(0x03, [1, 2, 3, 4]), BinaryHeader.value(0x03, []),
        ] {
            for header in [wrong, fine + wrong] {
                #expect(Self.read(BinaryHeader.bytes(BinaryHeader.v4 + header)) == .malformed, "\(header)")
            }
        }
        // Every kind without a rule is skipped, also an empty one.
        for kind in UInt8.min ... .max where ![0x03, 0x20].contains(kind) {
            let header = BinaryHeader.bytes(BinaryHeader.v4 + BinaryHeader.value(kind, []) + fine)
            #expect(throws: Never.self) { try Self.whole(header) }
        }
    }

    @Test("Of the values those that are used are kept, as bytes")
    func keptValues() throws {
        func values(_ bytes: [UInt8]) throws -> ProxyValues {
            try Self.whole(BinaryHeader.bytes(BinaryHeader.v4 + bytes)).values
        }
        let all = try values(
            BinaryHeader.value(0x02, [0xFF, 0x22, 0x0A]) + BinaryHeader.value(0x05, Array("id-1".utf8))
                + BinaryHeader.value(0x20, [0x01, 0, 0, 0, 0] + BinaryHeader.value(0x21, Array("TLSv1.3".utf8)))
                + BinaryHeader.value(0xEA, [1] + Array("vpce-08d2bf15fac5001c9".utf8))
                + BinaryHeader.value(0xE0, [0, 0, 0, 1, 0, 0, 0, 2]) + BinaryHeader.value(0xEE, [1, 4, 3, 2, 1])
        )
        #expect(all.authority == [0xFF, 0x22, 0x0A] && all.uniqueID == Array("id-1".utf8) && all.isTLS)
        #expect(all.awsEndpoint == Array("vpce-08d2bf15fac5001c9".utf8))
        #expect(all.googleConnection == 0x1_0000_0002 && all.azureLink == 0x0102_0304)
        // What only looks like a cloud's is left out.
        let none = try values(
            BinaryHeader.value(0xEA, [2] + Array("vpce".utf8)) + BinaryHeader.value(0xEA, [1] + Array("a\"b".utf8))
                + BinaryHeader.value(0xEA, [1]) + BinaryHeader.value(0xE0, [1, 2])
                + BinaryHeader.value(0xEE, [2, 1, 2, 3, 4])
                + BinaryHeader.value(0xEE, [1, 2]) + BinaryHeader.value(0x20, [0, 0, 0, 0, 0])
        )
        #expect(none == ProxyValues())
    }

    @Test("A checksum is verified over the whole header")
    func checksums() throws {
        let header = BinaryHeader.checked(BinaryHeader.value(0x05, Array("id".utf8)))
        #expect(try Self.whole(header).values.uniqueID == Array("id".utf8))
        for index in 16..<header.count where !(28..<31).contains(index) {
            var wrong = header
            wrong[index] ^= 0x01
            #expect(Self.read(wrong) == .malformed, "\(index)")
        }
        let twice = BinaryHeader.checked(BinaryHeader.value(0x03, [0, 0, 0, 0]))
        #expect(Self.read(twice) == .malformed)
    }

    @Test("In pieces a header means the same: it is incomplete until its last byte, and ends there")
    func pieces() throws {
        let texts = Self.names.keys.map { Array($0.utf8) } + [Array("PROXY UNKNOWN x\r\n".utf8)]
        let binary = [
            BinaryHeader.bytes(BinaryHeader.v4), BinaryHeader.bytes(BinaryHeader.v6, family: 0x21),
            BinaryHeader.bytes([1, 2, 3], command: 0x20), BinaryHeader.bytes([]).replacing(family: 0),
            BinaryHeader.checked(BinaryHeader.value(0x20, [1, 0, 0, 0, 0])),
        ]
        for header in texts + binary {
            let whole = Self.read(header)
            for count in header.indices {
                #expect(Self.read(Array(header[..<count])) == .incomplete, "\(header), \(count)")
            }
            for more in [[0x0D], Array("GET / HTTP/1.1\r\n".utf8), header] {
                #expect(Self.read(header + more) == whole)
            }
        }
    }

    @Test("A source that no client has is told from others")
    func unnamed() {
        for (address, port, canBeClient) in [
            ("192.0.2.7", UInt16(1), true), ("0.0.0.0", 1, false), ("::", 1, false), ("192.0.2.7", 0, false),
            ("255.255.255.255", 1, false), ("::1", 1, true),
        ] {
            #expect(IPAddress(address).map { ProxyPreamble.Endpoint($0, port: port).canBeClient } == canBeClient)
        }
    }

    @Test("Both versions are known where nobody expects them, and requests are not taken for them")
    func resemblance() {
        func resembles(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { ProxyPreamble.resembles($0) } }
        #expect(resembles(BinaryHeader.bytes(BinaryHeader.v4)) && resembles(Array("PROXY TCP4 ".utf8)))
        for text in ["", "PROXY", "PROPFIND / HTTP/1.1", "\r\n\r\n", "GET /PROXY HTTP/1.1"] {
            #expect(!resembles(Array(text.utf8)), "\(text)")
        }
    }
}

extension [UInt8] {
    /// A header of version 2 with another family.
    fileprivate func replacing(family: UInt8) -> [UInt8] {
        var bytes = self
        bytes[13] = family
        return bytes
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String {
        self + String(repeating: "x", count: count - self.utf8.count)
    }
}
