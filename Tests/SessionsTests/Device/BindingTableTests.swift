import AddressIntelligence
import Foundation
import Sessions
import TestSupport
import Testing
import Vocabulary

/// Checks every cell of the guide's table of binding modes.
@Suite("The table of binding modes in the guide DeviceBinding")
struct BindingTableTests {
    private typealias Device = (address: String, asn: UInt32?)

    /// Where the token was minted and where it is used, by the first words of each row.
    private static let rows: [(begins: String, minted: Device, used: Device)] = [
        ("the same IPv6 /64", ("2001:8000:1:2::1", 1221), ("2001:8000:1:2:a::9", 1221)),
        ("another IPv4 address of the carrier", ("1.128.0.1", 1221), ("1.128.0.77", 1221)),
        ("a new IPv6 /64 of the same carrier", ("2001:8000:1:2::1", 1221), ("2001:8000:1:3::1", 1221)),
        ("IPv6 after IPv4", ("1.128.0.1", 1221), ("2001:8000:1:2::1", 1221)),
        ("cellular after Wi-Fi", ("12.0.0.1", 7018), ("1.128.0.1", 1221)),
        ("a VPN or Private Relay", ("1.128.0.1", 1221), ("172.224.224.1", 36183)),
        ("a thief behind the same address", ("1.128.0.1", 1221), ("1.128.0.1", 1221)),
        ("a thief elsewhere at the same carrier", ("1.128.0.1", 1221), ("1.129.7.7", 1221)),
    ]

    @Test("every cell is the judge's result, and the table has every mode and no others")
    func cells() throws {
        let guide = try Documents.text("DeviceBinding")
        let lines = guide.split(separator: "\n").drop { !$0.hasPrefix("| the token is used from") }
        let table = lines.prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let head = try #require(table.first)
        #expect(head.dropFirst() == BindingMode.allCases.map { "`\($0.rawValue)`" }[...])
        let told = table.dropFirst(2)
        #expect(told.count == Self.rows.count)
        for (cells, row) in zip(told, Self.rows) {
            #expect(cells[0].hasPrefix(row.begins), "\(cells[0])")
            for (mode, cell) in zip(BindingMode.allCases, cells.dropFirst()) {
                let reason = BindingJudge.judge(
                    mode,
                    minted: try Self.facts(row.minted),
                    presented: try Self.facts(row.used)
                )
                #expect(cell == (reason == nil ? "passes" : "refused"), "\(row.begins), \(mode.rawValue)")
            }
        }
    }

    private static func facts(_ device: Device) throws -> DeviceFacts {
        DeviceFacts(address: try #require(IPAddress(device.address)), asn: device.asn, userAgent: nil)
    }
}
