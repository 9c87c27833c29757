import AddressIntelligence
import Foundation
import TestSupport
import Testing
import Vocabulary

@Suite("A damaged database is an error or gives answers, and never crashes")
struct CorruptDatabaseTests {
    /// Databases that no tool writes, by name.
    static let shapes: [(name: String, bytes: [UInt8])] = {
        var shapes: [(String, [UInt8])] = [
            ("nothing", []),
            ("a byte", [0]),
            ("zeros", [UInt8](repeating: 0, count: 4096)),
            ("ones", [UInt8](repeating: 0xFF, count: 4096)),
            ("text", Array("10.0.0.0/8,64512\n".utf8)),
            ("the marker alone", DatabaseImage.marker),
            ("the marker and half a map", DatabaseImage.marker + [0xE9, 0x4A]),
            ("metadata that is no map", DatabaseImage.marker + DatabaseImage.Value.uint32(7).bytes),
            ("metadata that nests without end", DatabaseImage.marker + [UInt8](repeating: 0xE1, count: 60_000)),
            ("metadata that points to itself", DatabaseImage.marker + [0x20, 0x00]),
        ]
        let metadata: [(String, [(String, DatabaseImage.Value)])] = [
            ("no nodes", [("node_count", .uint32(0))]),
            ("more nodes than bytes", [("node_count", .uint32(100_000))]),
            ("a tree whose size overflows 32 bits", [("node_count", .uint32(0x2AAA_AAAB))]),
            ("a tree whose size overflows to itself", [("node_count", .uint32(0x8000_0000))]),
            ("as many nodes as there are numbers", [("node_count", .uint32(.max))]),
            ("nodes counted in text", [("node_count", .text("120"))]),
            ("records of no bits", [("record_size", .uint16(0))]),
            ("records of 7 bits", [("record_size", .uint16(7))]),
            ("records of 28 bits that are 24", [("record_size", .uint16(28))]),
            ("records of 32 bits that are 24", [("record_size", .uint16(32))]),
            ("records of 65535 bits", [("record_size", .uint16(.max))]),
            ("address family 5", [("ip_version", .uint16(5))]),
            ("a tree of IPv6 that says IPv4", [("ip_version", .uint16(4))]),
            ("format 3", [("binary_format_major_version", .uint16(3))]),
            ("built at the end of time", [("build_epoch", .uint64(.max))]),
            ("built in text", [("build_epoch", .text("yesterday"))]),
            ("languages that are a number", [("languages", .uint32(9))]),
            ("a description that is a list", [("description", .list([.text("x")]))]),
        ]
        for (name, members) in metadata {
            shapes.append((name, Self.image { $0.metadata = members }))
        }
        shapes += [
            ("a tree that runs in a circle", Self.image { try $0.addWild("12.0.0.0/8", 0) }),
            ("a record just past the tree", Self.image { try $0.addWild("12.0.0.0/8", 0x000_100) }),
            ("a record far past the data", Self.image { try $0.addWild("12.0.0.0/8", 0xFFFFFF) }),
            ("a pointer to itself", Self.image { try $0.add("12.0.0.0/8", .raw([0x20, 0x00])) }),
            ("a pointer past the end", Self.image { try $0.add("12.0.0.0/8", .raw([0x38, 0xFF, 0xFF, 0xFF, 0xFF])) }),
            (
                "a map of 65821 members and no bytes",
                Self.image { try $0.add("12.0.0.0/8", .raw([0xFF, 0xFF, 0xFF, 0xFF])) }
            ),
            (
                "a map that nests without end",
                Self.image { try $0.add("12.0.0.0/8", .raw(.init(repeating: 0xE1, count: 60_000))) }
            ),
            (
                "a key longer than the file",
                Self.image { try $0.add("12.0.0.0/8", .raw([0xE1, 0x5F, 0xFF, 0xFF, 0xFF])) }
            ),
            ("a key that is a number", Self.image { try $0.add("12.0.0.0/8", .raw([0xE1, 0xC1, 0x01, 0xC1, 0x01])) }),
            (
                "a number of 31 bytes",
                Self.image { try $0.add("12.0.0.0/8", DatabaseImage.record(asn: .raw([0xDF, 0xFF]))) }
            ),
            (
                "maps in maps, 20000 deep",
                Self.image { try $0.add("12.0.0.0/8", .raw(Self.nested([0xE1, 0x41, 0x78]))) }
            ),
            (
                "arrays in arrays, 20000 deep",
                Self.image { try $0.add("12.0.0.0/8", .raw([0xE1, 0x41, 0x78] + Self.nested([1, 4]))) }
            ),
            (
                "metadata in metadata, 20000 deep",
                Self.image { $0.metadata = [("a", .raw(Self.nested([0xE1, 0x41, 0x78])))] }
            ),
            ("a type that does not exist", Self.image { try $0.add("12.0.0.0/8", .raw([0x01, 0xFF, 0, 0])) }),
        ]
        return shapes
    }()

    @Test("Databases that no tool writes", arguments: shapes.indices)
    func shape(index: Int) throws {
        let (name, bytes) = Self.shapes[index]
        let file = try TemporaryFile(bytes)
        defer { file.remove() }
        try Self.exercise(bytes)
        if index < 10 {
            #expect(throws: AddressFileError.self, "\(name)") { try ASNDirectory.open(database: file.path) }
        }
    }

    @Test("An impossible build time is ignored")
    func buildTime() throws {
        let file = try TemporaryFile(Self.image { $0.metadata = [("build_epoch", .uint64(.max))] })
        defer { file.remove() }
        #expect(try ASNDirectory.open(database: file.path).buildTime == nil)
    }

    @Test("F28: A valid database that is truncated anywhere is refused")
    func truncatedOwn() throws {
        let whole = Self.image { _ in }
        for count in 0..<whole.count {
            let file = try TemporaryFile(Array(whole.prefix(count)))
            defer { file.remove() }
            #expect(throws: AddressFileError.self, "\(count) of \(whole.count)") {
                try ASNDirectory.open(database: file.path)
            }
        }
    }

    @Test("F28: A valid database with one changed byte, for every byte")
    func flippedOwn() throws {
        let whole = Self.image { _ in }
        var (opened, refused) = (0, 0)
        for index in whole.indices {
            for mask: UInt8 in [0x01, 0x20, 0x80, 0xFF] {
                var bytes = whole
                bytes[index] ^= mask
                if try Self.exercise(bytes) { opened += 1 } else { refused += 1 }
            }
        }
        #expect(opened > 100 && refused > 100)
    }

    @Test(
        "F28: MaxMind's test database, truncated and changed",
        .enabled(if: TestData.isExpected("GeoLite2-ASN-Test.mmdb"), TestData.absence)
    )
    func damagedMaxMind() throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: TestData.path("GeoLite2-ASN-Test.mmdb"))))
        for count in stride(from: 0, to: whole.count, by: 97) {
            try Self.exercise(Array(whole.prefix(count)))
            try Self.exercise(Array(whole.suffix(count)))
        }
        var numbers = SeededNumbers(seed: 4)
        for index in whole.indices where index.isMultiple(of: 11) || index > whole.count - 400 {
            var bytes = whole
            bytes[index] ^= UInt8.random(in: 1...255, using: &numbers)
            try Self.exercise(bytes)
        }
        var opened = 0
        for _ in 0..<500 {
            var bytes = whole
            for _ in 0..<64 {
                bytes[Int.random(in: 0..<(whole.count - 300), using: &numbers)] = UInt8.random(
                    in: 0...255,
                    using: &numbers
                )
            }
            if try Self.exercise(bytes) { opened += 1 }
        }
        #expect(opened > 0)
    }

    /// Opens the file and, if that succeeds, looks up addresses all over both families.
    ///
    /// - Returns: Whether it was opened.
    @discardableResult
    private static func exercise(_ bytes: [UInt8]) throws -> Bool {
        let file = try TemporaryFile(bytes)
        defer { file.remove() }
        guard let directory = try? ASNDirectory.open(database: file.path) else { return false }
        _ = directory.buildTime
        for value in stride(from: UInt32(0), to: .max, by: 1 << 26) {
            _ = directory.asn(of: IPAddress(v4: value | 0x0000_5C01))
            _ = directory.asn(of: IPAddress(v6High: UInt64(value) << 32, v6Low: 1))
        }
        for text in ["1.128.0.1", "12.81.92.1", "10.0.0.1", "2600:6000::1", "2a00:1450::1"] {
            _ = IPAddress(text).map(directory.asn)
        }
        return true
    }

    private static func nested(_ opening: [UInt8]) -> [UInt8] {
        Array([[UInt8]](repeating: opening, count: 20_000).joined())
    }

    private static func image(_ damage: (inout DatabaseImage) throws -> Void) -> [UInt8] {
        var image = DatabaseImage()
        do {
            try image.add("10.0.0.0/8", DatabaseImage.record(asn: .uint32(64512)))
            try image.add("2a00::/16", DatabaseImage.record(asn: .uint16(64513)))
            try damage(&image)
        } catch {
            Issue.record(error)
        }
        return image.bytes
    }
}
