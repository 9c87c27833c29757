import AddressIntelligence
import RequestPath
import Settings
import Testing

/// How a request's client address is determined (T14, T15).
struct ClientAddressTests {
    private static let proxies = ["10.0.0.0/8", "2001:db8:ffff::/48", "127.0.0.1"]

    private func client(
        _ values: [String],
        peer: String = "10.0.0.1",
        _ header: ForwardedHeader = .xForwardedFor,
        trusted: [String] = proxies
    ) throws -> String {
        let rule = ClientAddressRule(trusted: try trusted.map { try #require(CIDRBlock($0)) }, header: header)
        let bytes = values.map { Array($0.utf8) }
        let pointers = bytes.map { value in
            let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: value.count)
            _ = copy.initialize(from: value)
            return UnsafeBufferPointer(copy)
        }
        defer { for pointer in pointers { pointer.deallocate() } }
        return rule.client(peer: try #require(IPAddress(peer)), values: pointers).description
    }

    @Test("T14: for a peer that is not trusted, its own address counts")
    func untrustedPeer() throws {
        #expect(try self.client(["192.0.2.7"], peer: "198.51.100.9") == "198.51.100.9")
        #expect(try self.client(["for=192.0.2.7"], peer: "198.51.100.9", .forwarded) == "198.51.100.9")
        #expect(try self.client(["192.0.2.7"], trusted: []) == "10.0.0.1")
    }

    @Test(
        "oauth2-proxy PR #3478: the right-most untrusted hop counts, whatever a client wrote before it",
        arguments: [
            (["203.0.113.5"], "203.0.113.5"),
            (["192.0.2.1, 203.0.113.5"], "203.0.113.5"),
            (["192.0.2.1, 203.0.113.5, 10.9.9.9"], "203.0.113.5"),
            (["192.0.2.1", "203.0.113.5", "10.9.9.9"], "203.0.113.5"),
            (["192.0.2.1, 203.0.113.5", "10.9.9.9, 10.8.8.8"], "203.0.113.5"),
            (["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
            ([], "10.0.0.1"), ([""], "10.0.0.1"), ([" , ,"], "10.0.0.1"), (["203.0.113.5,"], "203.0.113.5"),
            (["203.0.113.5,,  10.2.2.2 ,"], "203.0.113.5"),
        ]
    )
    func rightMost(values: [String], expected: String) throws {
        #expect(try self.client(values) == expected)
    }

    @Test(
        "At a hop that is not an address, the last valid address counts",
        arguments: [
            "unknown", "_hidden", "example.com", "1.2.3", "1.2.3.4.5", "1.2.3.4:99999", "1.2.3.4:", "1.2.3.4:x",
            "010.0.0.1",
            "0.0.0.0", "::", "255.255.255.255", "0.0.0.0:80", "[::]", "[::]:80", "::ffff:0.0.0.0",
            "::ffff:255.255.255.255",
            "0:0:0:0:0:0:0:0", "::%eth0", "[::1", "::1]", "[1.2.3.4]", "[::1]x", "\"1.2.3.4\"", "1.2.3.4 5",
            "256.1.1.1", "1.2.3.4/8", "-",
        ]
    )
    func noAddress(hop: String) throws {
        #expect(try self.client(["203.0.113.5, \(hop), 10.2.2.2"]) == "10.2.2.2")
        #expect(try self.client(["203.0.113.5, \(hop)"]) == "10.0.0.1")
    }

    @Test(
        "T15: ports, brackets, zone ids, case and mapped addresses are spellings of one address",
        arguments: [
            ("203.0.113.5:4711", "203.0.113.5"), ("[2001:DB8::1]", "2001:db8::1"), ("[2001:db8::1]:443", "2001:db8::1"),
            ("2001:db8:0::1", "2001:db8::1"), ("fe80::1%eth0", "fe80::1"), ("[fe80::1%eth0]:80", "fe80::1"),
            ("::ffff:203.0.113.5", "203.0.113.5"), ("[::FFFF:cb00:7105]:1", "203.0.113.5"),
        ]
    )
    func spellings(hop: String, expected: String) throws {
        #expect(try self.client(["192.0.2.1, \(hop), 10.2.2.2"]) == expected)
        #expect(try self.client(["for=192.0.2.1, for=\"\(hop)\", for=10.2.2.2"], .forwarded) == expected)
    }

    @Test("GHSA-7jmw-8259-q9jx: a mapped address is trusted like its IPv4 address")
    func mappedTrust() throws {
        #expect(try self.client(["203.0.113.5, ::ffff:10.3.3.3"]) == "203.0.113.5")
        #expect(try self.client(["203.0.113.5"], peer: "::ffff:10.0.0.1") == "203.0.113.5")
    }

    @Test(
        "Forwarded (RFC 7239) is read by its grammar",
        arguments: [
            (["for=203.0.113.5"], "203.0.113.5"),
            (["For=203.0.113.5;proto=https;by=10.0.0.1"], "203.0.113.5"),
            (["proto=http; for=\"[2001:db8::9]:4711\" ;host=\"a,b;c\""], "2001:db8::9"),
            (["for=192.0.2.1, for=203.0.113.5;proto=https, for=10.1.1.1"], "203.0.113.5"),
            (["for=192.0.2.1", "for=203.0.113.5", "for=10.1.1.1"], "203.0.113.5"),
            (["for=\"203.0.113.5:_port\""], "203.0.113.5"),
            (["host=\"for=192.0.2.1\";for=203.0.113.5"], "203.0.113.5"),
        ]
    )
    func forwarded(values: [String], expected: String) throws {
        #expect(try self.client(values, .forwarded) == expected)
    }

    @Test(
        "At an element of Forwarded without exactly one plain address, the last valid address counts",
        arguments: [
            "for=0.0.0.0", "for=\"[::]\"", "for=\"[::]:1\"", "for=255.255.255.255", "for=unknown", "for=_gazonk",
            "by=203.0.113.5", "for=", "for=\"\"", "for=\"203.0.113.5",
            "for=203.0.113.5\"",
            "for=1.1.1.1;for=2.2.2.2", "for=\"1.1.1\\.1\"", "for", "xfor=1.1.1.1", "for = 1.1.1.1",
        ]
    )
    func badForwarded(element: String) throws {
        #expect(try self.client(["for=203.0.113.5, \(element), for=10.2.2.2"], .forwarded) == "10.2.2.2")
    }

    @Test(
        "A quote that a client leaves open does not swallow the element that a trusted proxy adds",
        arguments: [
            "for=\"192.0.2.1", "\"", "for=\"", "for=\"a\\", "host=\"x;for=192.0.2.1",
        ]
    )
    func openQuote(planted: String) throws {
        #expect(try self.client(["\(planted), for=203.0.113.5"], .forwarded) == "203.0.113.5")
        #expect(try self.client(["\(planted), for=\"[2001:db8::9]:1\";proto=https"], .forwarded) == "2001:db8::9")
        #expect(try self.client(["\(planted)", "for=203.0.113.5"], .forwarded) == "203.0.113.5")
    }

    @Test("Only the configured field is read: the other field's syntax is not an address")
    func otherGrammar() throws {
        #expect(try self.client(["for=192.0.2.1"]) == "10.0.0.1")
        #expect(try self.client(["192.0.2.1"], .forwarded) == "10.0.0.1")
    }

    @Test("A list of the maximum length is read to its end")
    func longList() throws {
        let list = Array(repeating: "10.1.1.1", count: 1600).joined(separator: ",")
        #expect(try self.client(["203.0.113.5,\(list)"]) == "203.0.113.5")
    }
}
