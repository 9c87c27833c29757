import AddressIntelligence
import Foundation
import Sessions
import Testing
import Vocabulary

@Suite("Binding to a device")
struct BindingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var mode: BindingMode
        var minted: (address: String, asn: UInt32?)
        var presented: (address: String, asn: UInt32?)
        var reason: Reason?

        init(
            _ mode: BindingMode,
            _ minted: (String, UInt32?),
            _ presented: (String, UInt32?),
            _ reason: Reason?
        ) {
            (self.mode, self.minted, self.presented, self.reason) = (mode, minted, presented, reason)
        }

        var testDescription: String {
            "\(self.mode): \(self.minted) then \(self.presented) -> \(self.reason?.rawValue ?? "matches")"
        }
    }

    static let rows: [Row] = [
        Row(.none, ("1.128.0.1", 1221), ("203.0.113.9", nil), nil),

        Row(.ip, ("1.128.0.1", 1221), ("1.128.0.1", 1221), nil),
        Row(.ip, ("1.128.0.1", 1221), ("1.128.0.2", 1221), .bindingIPMismatch),
        Row(.ip, ("1.128.0.1", nil), ("1.128.0.1", nil), nil),
        // T15: one device with other spellings and temporary addresses (RFC 8981).
        Row(.ip, ("::ffff:1.128.0.1", nil), ("1.128.0.1", nil), nil),
        Row(.ip, ("2001:8000:1:2::1", nil), ("2001:8000:1:2:ffff::9", nil), nil),
        Row(.ip, ("2001:8000:1:2::1", nil), ("2001:8000:1:3::1", nil), .bindingIPMismatch),
        // T16: the family changes inside 60 s.
        Row(.ip, ("1.128.0.1", 1221), ("2001:8000::1", 1221), .bindingIPMismatch),

        Row(.asn, ("1.128.0.1", 1221), ("1.129.7.7", 1221), nil),
        Row(.asn, ("1.128.0.1", 1221), ("2001:8000::1", 1221), nil),
        Row(.asn, ("1.128.0.1", 1221), ("12.0.0.1", 7018), .bindingASNMismatch),
        // T17: an unknown or private network matches nothing, not even itself.
        Row(.asn, ("10.0.0.1", nil), ("10.0.0.1", nil), .bindingASNUnknown),
        Row(.asn, ("1.128.0.1", 1221), ("10.0.0.1", nil), .bindingASNUnknown),
        Row(.asn, ("10.0.0.1", nil), ("1.128.0.1", 1221), .bindingASNUnknown),

        Row(.ipDualStack, ("1.128.0.1", nil), ("1.128.0.1", nil), nil),
        Row(.ipDualStack, ("2001:8000:1:2::1", nil), ("2001:8000:1:2::2", nil), nil),
        // The same network does not excuse another address of the same family.
        Row(.ipDualStack, ("1.128.0.1", 1221), ("1.128.0.2", 1221), .bindingIPMismatch),
        Row(.ipDualStack, ("2001:8000::1", 1221), ("2001:8000:5::1", 1221), .bindingIPMismatch),
        // T16: when the family changed, the network decides, in both directions.
        Row(.ipDualStack, ("1.128.0.1", 1221), ("2001:8000::1", 1221), nil),
        Row(.ipDualStack, ("2001:8000::1", 1221), ("1.128.0.1", 1221), nil),
        Row(.ipDualStack, ("1.128.0.1", 1221), ("2600:300::1", 7018), .bindingASNMismatch),
        Row(.ipDualStack, ("1.128.0.1", nil), ("2001:8000::1", nil), .bindingASNUnknown),
        Row(.ipDualStack, ("1.128.0.1", 1221), ("2001:8000::1", nil), .bindingASNUnknown),
        // A mapped address is the v4 address: no change of family.
        Row(.ipDualStack, ("1.128.0.1", 1221), ("::ffff:1.128.0.2", 1221), .bindingIPMismatch),

        // So is the one that NAT64 embeds.
        Row(.ipDualStack, ("1.128.0.1", 1221), ("64:ff9b::180:2", nil), .bindingIPMismatch),
        Row(.ip, ("1.128.0.1", 1221), ("64:ff9b::180:1", nil), nil),
        Row(.ip, ("64:ff9b::180:1", nil), ("64:ff9b::180:2", nil), .bindingIPMismatch),

        // The same address is enough, whether or not its network is known.
        Row(.ipOrASN, ("1.128.0.1", nil), ("1.128.0.1", nil), nil),
        Row(.ipOrASN, ("1.128.0.1", nil), ("::ffff:1.128.0.1", nil), nil),
        Row(.ipOrASN, ("2001:8000:1:2::1", nil), ("2001:8000:1:2::2", nil), nil),
        // The same network is also enough, in either family.
        Row(.ipOrASN, ("1.128.0.1", 1221), ("1.128.0.2", 1221), nil),
        Row(.ipOrASN, ("2001:8000::1", 1221), ("2001:8000:5::1", 1221), nil),
        Row(.ipOrASN, ("1.128.0.1", 1221), ("2001:8000::1", 1221), nil),
        Row(.ipOrASN, ("2001:8000::1", 1221), ("1.128.0.1", 1221), nil),
        Row(.ipOrASN, ("1.128.0.1", 1221), ("12.0.0.1", 7018), .bindingASNMismatch),
        Row(.ipOrASN, ("1.128.0.1", 1221), ("2600:300::1", 7018), .bindingASNMismatch),
        // T17: two unknown networks do not count as the same.
        Row(.ipOrASN, ("10.0.0.1", nil), ("10.0.0.2", nil), .bindingASNUnknown),
        Row(.ipOrASN, ("1.128.0.1", 1221), ("1.128.0.2", nil), .bindingASNUnknown),
    ]

    @Test("T15 T16 T17: every mode has its own rule", arguments: rows)
    func judges(row: Row) throws {
        let minted = try Self.facts(row.minted)
        let presented = try Self.facts(row.presented)
        #expect(BindingJudge.judge(row.mode, minted: minted, presented: presented) == row.reason)
    }

    @Test("T18: an address that embeds another one has no network, even if a database names one")
    func transitionalAddressesHaveNoNetwork() throws {
        let directory = try Self.directory("0.0.0.0/0,1221\n::/0,1221\n")
        let observer = DeviceObserver(directory: directory)
        let minted = observer.facts(address: try #require(IPAddress("1.128.0.1")), userAgent: nil)
        #expect(minted.asn == 1221)
        for text in ["2002:180:1::1", "2001:0:1:2::3", "64:ff9b::180:2"] {
            let presented = observer.facts(address: try #require(IPAddress(text)), userAgent: nil)
            #expect(presented.asn == nil, "\(text)")
            for mode in [BindingMode.asn, .ipDualStack, .ipOrASN] {
                let reason = BindingJudge.judge(mode, minted: minted, presented: presented)
                // The client of a translator is known by its IPv4 address, whose family has not changed.
                let isOther = mode == .ipDualStack && text.hasPrefix("64:")
                #expect(reason == (isOther ? .bindingIPMismatch : .bindingASNUnknown), "\(mode) \(text)")
            }
        }
    }

    @Test("T17: without a directory every network is unknown")
    func noDirectory() throws {
        let facts = DeviceObserver(directory: nil).facts(address: try #require(IPAddress("1.128.0.1")), userAgent: nil)
        #expect(facts.asn == nil)
        #expect(BindingJudge.judge(.asn, minted: facts, presented: facts) == .bindingASNUnknown)
    }

    @Test("a User-Agent is kept up to 512 bytes and is never cut inside a character")
    func userAgentIsCut() throws {
        let observer = DeviceObserver(directory: nil)
        let address = try #require(IPAddress("192.0.2.1"))
        let long = String(repeating: "a", count: 511) + "é" + "tail"
        #expect(observer.facts(address: address, userAgent: long).userAgent == String(repeating: "a", count: 511))
        let short = String(repeating: "é", count: 256)
        #expect(observer.facts(address: address, userAgent: short).userAgent == short)
        #expect(observer.facts(address: address, userAgent: nil).userAgent == nil)
    }

    private static func directory(_ lines: String) throws -> ASNDirectory {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).csv")
        try Data(lines.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try ASNDirectory.open(csv: file.path)
    }

    private static func facts(_ row: (address: String, asn: UInt32?)) throws -> DeviceFacts {
        DeviceFacts(address: try #require(IPAddress(row.address)), asn: row.asn, userAgent: nil)
    }
}
