import AddressIntelligence
import Foundation
import Glibc
import TestSupport
import Testing
import Vocabulary

@Suite("Autonomous systems from a MaxMind database")
struct ASNDatabaseTests {
    @Test("Numbers of every unsigned width are read, in both families")
    func widths() throws {
        var image = DatabaseImage()
        try image.add("10.0.0.0/16", DatabaseImage.record(asn: .uint16(64512)))
        try image.add("10.1.0.0/16", DatabaseImage.record(asn: .uint32(4_200_000_000)))
        try image.add("10.2.0.0/16", DatabaseImage.record(asn: .uint64(4_294_967_295)))
        try image.add("2001:db8::/32", DatabaseImage.record(asn: .uint32(64512)))
        let directory = try Self.directory(image)
        #expect(try directory.asn(of: address("10.0.255.255")) == 64512)
        #expect(try directory.asn(of: address("10.1.0.0")) == 4_200_000_000)
        #expect(try directory.asn(of: address("10.2.3.4")) == 4_294_967_295)
        #expect(try directory.asn(of: address("::ffff:10.2.3.4")) == 4_294_967_295)
        #expect(try directory.asn(of: address("2001:db8::1")) == 64512)
        #expect(try directory.asn(of: address("2001:db9::1")) == nil)
        #expect(try directory.asn(of: address("192.168.0.1")) == nil)
        #expect(directory.buildTime == UnixTime(seconds: 1_700_000_000))
    }

    @Test(
        "A value that is not the number of a system is unknown",
        arguments: [
            DatabaseImage.record(asn: .uint32(0)), DatabaseImage.record(asn: .uint64(4_294_967_296)),
            DatabaseImage.record(asn: .uint64(.max)), DatabaseImage.record(asn: .text("AS64512")),
            DatabaseImage.record(asn: .map([])), DatabaseImage.record(asn: .list([.uint32(1)])),
            DatabaseImage.record(asn: .raw([0x01, 0x01, 7])),  // int32
            DatabaseImage.record(asn: .raw([0x01, 0x03, 7])),  // uint128
            DatabaseImage.record(asn: .raw([0x01, 0x07])),  // true
            .map([]), .map([("as_number", .uint32(7))]), .text("autonomous_system_number"), .uint32(7),
            .list([.uint32(7)]),
        ]
    )
    func notANumber(value: DatabaseImage.Value) throws {
        var image = DatabaseImage()
        try image.add("10.0.0.0/8", value)
        try image.add("11.0.0.0/8", DatabaseImage.record(asn: .uint32(7)))
        let directory = try Self.directory(image)
        #expect(try directory.asn(of: address("10.0.0.1")) == nil)
        #expect(try directory.asn(of: address("11.0.0.1")) == 7)
    }

    @Test(
        "IPinfo's flat records name the system by AS and its number",
        arguments: [
            (.text("AS64512"), 64512), (.text("as64512"), 64512), (.text("64512"), 64512), (.uint32(64512), 64512),
            (.text("AS4294967295"), 4_294_967_295), (.text("AS4294967296"), nil), (.text("AS0"), nil),
            (.text("AS"), nil), (.text(""), nil), (.text("AS 64512"), nil), (.text("AS-1"), nil), (.text("AS+1"), nil),
            (.text("ASAS1"), nil), (.text("AS99999999999999999999"), nil), (.text("AS6\u{664}"), nil), (.map([]), nil),
        ] as [(DatabaseImage.Value, UInt32?)]
    )
    func flat(value: DatabaseImage.Value, number: UInt32?) throws {
        var image = DatabaseImage()
        let lite: [(String, DatabaseImage.Value)] = [
            ("as_domain", .text("example.com")), ("as_name", .text("Example")), ("asn", value),
            ("continent_code", .text("EU")), ("country", .text("Germany")), ("country_code", .text("DE")),
        ]
        try image.add("10.0.0.0/8", .map(lite))
        try image.add("2001:db8::/32", .map([("asn", .text("AS7")), ("name", .text("Example"))]))
        let directory = try Self.directory(image)
        #expect(try directory.asn(of: address("10.0.0.1")) == number)
        #expect(try directory.asn(of: address("2001:db8::1")) == 7)
    }

    @Test("Where the tree gives 6to4 and IPv4-compatible addresses IPv4's records, they still have no number (T18)")
    func aliases() throws {
        var image = DatabaseImage()
        try image.add("1.128.0.0/11", DatabaseImage.record(asn: .uint32(1221)))
        try image.alias("2002::/16")
        try image.alias("2001::/32")
        try image.alias("64:ff9b::/96")
        try image.alias("2003::/16")
        let directory = try Self.directory(image)
        #expect(try directory.asn(of: address("1.128.0.1")) == 1221)
        // The alias does work in the file, as another prefix shows.
        #expect(try directory.asn(of: address("2003:180:1::1")) == 1221)
        for text in ["2002:180:1::1", "2001:0:180:1::1", "64:ff9b::180:1", "::180:1", "::1.128.0.1"] {
            #expect(try directory.asn(of: address(text)) == nil, "\(text)")
        }
    }

    @Test("A database of IPv4 alone knows nothing of IPv6")
    func v4Only() throws {
        var image = DatabaseImage(v4Only: true)
        try image.add("10.0.0.0/8", DatabaseImage.record(asn: .uint32(7)))
        let directory = try Self.directory(image)
        #expect(try directory.asn(of: address("10.1.2.3")) == 7)
        #expect(try directory.asn(of: address("11.1.2.3")) == nil)
        #expect(try directory.asn(of: address("2001:db8::1")) == nil)
    }

    @Test("A valid database of another kind is refused, because it would refuse every client")
    func otherKind() throws {
        var image = DatabaseImage()
        try image.add("10.0.0.0/8", .map([("city", .text("Oslo"))]))
        let file = try TemporaryFile(image.bytes)
        defer { file.remove() }
        #expect(throws: AddressFileError.noNumbers(path: file.path)) { try ASNDirectory.open(database: file.path) }
        let empty = try TemporaryFile(DatabaseImage().bytes)
        defer { empty.remove() }
        #expect(throws: AddressFileError.noNumbers(path: empty.path)) { try ASNDirectory.open(database: empty.path) }
    }

    @Test("The path of a missing file, a directory or a pipe is an error that names it")
    func wrongPath() throws {
        let file = try TemporaryFile("")
        defer { file.remove() }
        let missing = file.path + ".missing"
        #expect(throws: AddressFileError.unreadable(path: missing, code: ENOENT)) {
            try ASNDirectory.open(database: missing)
        }
        #expect(throws: AddressFileError.unreadable(path: missing, code: ENOENT)) {
            try ASNDirectory.open(csv: missing)
        }
        #expect(throws: AddressFileError.notAFile(path: "/")) { try ASNDirectory.open(database: "/") }
        #expect(throws: AddressFileError.notAFile(path: "/")) { try ASNDirectory.open(csv: "/") }
        let pipe = file.path + ".pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        #expect(throws: AddressFileError.notAFile(path: pipe)) { try ASNDirectory.open(csv: pipe) }
        #expect(
            AddressFileError.unreadable(path: missing, code: ENOENT).description
                == "\(missing): No such file or directory"
        )
    }

    @Test("A new file is taken when it is opened again, and a broken or missing one is refused (T17)")
    func reopened() throws {
        let file = try TemporaryFile(Self.image(asn: 1).bytes)
        defer { file.remove() }
        let directory = try ASNDirectory.open(database: file.path)
        let probe = try address("10.0.0.1")
        try file.replace(with: Self.image(asn: 2, built: 1_800_000_000).bytes)
        #expect(directory.asn(of: probe) == 1)
        let second = try ASNDirectory.open(database: file.path)
        #expect(second.asn(of: probe) == 2 && second.buildTime == UnixTime(seconds: 1_800_000_000))
        let broken = Self.image(asn: 3).bytes
        try file.replace(with: Array(broken.prefix(broken.count / 2)))
        #expect(throws: AddressFileError.self) { try ASNDirectory.open(database: file.path) }
        unlink(file.path)
        #expect(throws: AddressFileError.unreadable(path: file.path, code: ENOENT)) {
            try ASNDirectory.open(database: file.path)
        }
        #expect(directory.asn(of: probe) == 1 && second.asn(of: probe) == 2)
    }

    @Test("A file that is truncated and rewritten in place does not change the readers' content")
    func overwrittenInPlace() throws {
        let file = try TemporaryFile(Self.image(asn: 1).bytes)
        defer { file.remove() }
        let directory = try ASNDirectory.open(database: file.path)
        let probe = try address("10.0.0.1")
        // A mapping of the file itself would raise SIGBUS here.
        try file.overwrite(with: [])
        #expect(directory.asn(of: probe) == 1)
        try file.overwrite(with: [UInt8](repeating: 0xFF, count: 5000))
        #expect(directory.asn(of: probe) == 1)
    }

    @Test("Many tasks look up at once")
    func concurrentLookups() async throws {
        let file = try TemporaryFile(Self.image(asn: 1).bytes)
        defer { file.remove() }
        let directory = try ASNDirectory.open(database: file.path)
        let probe = try address("10.0.0.1")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<2000 { #expect(directory.asn(of: probe) == 1) }
                }
            }
        }
    }

    @Test("Databases that were read, successfully or not, leave no descriptors and no mappings open")
    func noLeak() throws {
        let good = Self.image(asn: 1).bytes
        let file = try TemporaryFile(good)
        defer { file.remove() }
        var directory = try ASNDirectory.open(database: file.path)
        for round in 0..<3000 {
            if round == 1500 { try file.replace(with: Array(good.dropLast(40))) }
            directory = (try? ASNDirectory.open(database: file.path)) ?? directory
        }
        // Tests that run at the same time hold a few databases, and descriptors of other kinds.
        // `String(contentsOfFile:)` reads the first 4 KiB of such a file.
        let handle = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
        let maps = String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
        #expect((1..<200).contains(maps.split(separator: "\n").count { $0.contains("memfd:addresses.mmdb") }))
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { descriptor in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        }
        #expect(open.count { $0.contains("memfd:addresses.mmdb") } < 200)
        #expect(!open.contains { $0.contains(file.path) })
        #expect(try directory.asn(of: address("10.0.0.1")) == 1)
    }

    private static func image(asn: UInt32, built: UInt64 = 1_700_000_000) -> DatabaseImage {
        var image = DatabaseImage()
        image.metadata = [("build_epoch", .uint64(built))]
        do {
            try image.add("10.0.0.0/8", DatabaseImage.record(asn: .uint32(asn)))
        } catch {
            Issue.record(error)
        }
        return image
    }

    private static func directory(_ image: DatabaseImage) throws -> ASNDirectory {
        let file = try TemporaryFile(image.bytes)
        defer { file.remove() }
        return try ASNDirectory.open(database: file.path)
    }
}
