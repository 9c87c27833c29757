import Foundation
import NIOCore
import RedisStore
import TestSupport
import Testing

@Suite struct ReplyReaderTests {
    /// Reads `text` fed in pieces of `size` bytes.
    private static func read(
        _ text: String,
        piece size: Int = Int.max,
        limits: ReplyLimits = ReplyLimits()
    ) throws -> [RedisReply] {
        let reader = ReplyReader(limits: limits)
        var replies: [RedisReply] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            let result: Result<Void, ReplyError> = piece.withUnsafeBytes { bytes in
                do throws(ReplyError) {
                    try reader.feed(bytes) {
                        replies.append($0)
                        return true
                    }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            try result.get()
        }
        return replies
    }

    private static let stream =
        "+OK\r\n:-42\r\n$5\r\na\r\nbc\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n-ERR no\r\n*3\r\n$1\r\nx\r\n*2\r\n:1\r\n$-1\r\n+y\r\n"
    private static let replies: [RedisReply] = [
        .status("OK"), .integer(-42), .bulk(Array("a\r\nbc".utf8)), .null, .null, .array([]), .bulk([]),
        .error(RedisServerError(line: "ERR no")),
        .array([.bulk([0x78]), .array([.integer(1), .null]), .status("y")]),
    ]

    @Test("Replies of every type are read, however they are cut", arguments: [1, 2, 3, 5, 7, 1000])
    func pieces(size: Int) throws {
        #expect(try Self.read(Self.stream, piece: size) == Self.replies)
    }

    @Test("Invalidation messages of RESP2 are read")
    func invalidation() throws {
        let text = "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1\r\n$3\r\ns:1\r\n"
        #expect(
            try Self.read(text) == [
                .array([
                    .bulk(Array("message".utf8)), .bulk(Array("__redis__:invalidate".utf8)),
                    .array([.bulk(Array("s:1".utf8))]),
                ])
            ]
        )
    }

    @Test(
        "RESP3 types and nonsense are errors",
        arguments: [
            "%1\r\n+a\r\n+b\r\n", "~1\r\n:1\r\n", ",1.5\r\n", "#t\r\n", ">1\r\n:1\r\n", "_\r\n", "=5\r\ntxt:a\r\n",
            "(123\r\n", "HTTP/1.1 400 Bad Request\r\n", "\r\n", "\0", ":x\r\n", "*2147483648\r\n", "*-2\r\n",
        ]
    )
    func nonsense(text: String) {
        #expect(throws: ReplyError.malformed) { try Self.read(text) }
    }

    @Test("A string with a wrong terminator is an error, in whatever pieces", arguments: [1, 4, 100])
    func terminator(size: Int) {
        #expect(throws: ReplyError.malformed) { try Self.read("$3\r\nabcXX+OK\r\n", piece: size) }
    }

    @Test("An announced length is not trusted and not waited for")
    func hugeString() {
        let limits = ReplyLimits(bytes: 1000, elements: 10)
        let body = String(repeating: "a", count: 1001)
        #expect(throws: ReplyError.tooLarge) {
            try Self.read("$9223372036854775807\r\n" + body + body, piece: 100, limits: limits)
        }
        #expect(throws: ReplyError.malformed) { try Self.read("$1001\r\n\(body)\r\n", limits: limits) }
    }

    @Test(
        "A string of the largest size is read however it is cut; its framing does not count",
        arguments: [1, 7, 999]
    )
    func stringAtTheLimit(size: Int) throws {
        let limits = ReplyLimits(bytes: 1000, elements: 10)
        let body = String(repeating: "a", count: 1000)
        for text in ["+\(body)\r\n", "-\(body)\r\n", "$1000\r\n\(body)\r\n", "*1\r\n$1000\r\n\(body)\r\n"] {
            #expect(try Self.read(text, piece: size, limits: limits).count == 1)
        }
    }

    @Test("A line without an end is not waited for")
    func endlessLine() {
        let limits = ReplyLimits(bytes: 1000, elements: 10)
        #expect(throws: ReplyError.tooLarge) {
            try Self.read("+" + String(repeating: "a", count: 2000), piece: 100, limits: limits)
        }
    }

    @Test("Elements are counted as they arrive, over all levels")
    func manyElements() throws {
        let limits = ReplyLimits(bytes: 1000, elements: 10)
        // An array that announces two thousand million elements costs nothing until they arrive.
        #expect(try Self.read("*2147483647\r\n:1\r\n", limits: limits) == [])
        #expect(throws: ReplyError.malformed) {
            try Self.read("*2147483647\r\n" + String(repeating: ":1\r\n", count: 11), limits: limits)
        }
        let nested = "*3\r\n" + String(repeating: "*4\r\n" + String(repeating: ":1\r\n", count: 4), count: 3)
        #expect(throws: ReplyError.malformed) { try Self.read(nested, limits: limits) }
        // Below the limit, again and again, with one reader.
        let small = "*10\r\n" + String(repeating: ":1\r\n", count: 10)
        #expect(try Self.read(small + small + small, limits: limits).count == 3)
    }

    @Test("The strings of one reply are counted together")
    func manyBytes() throws {
        let limits = ReplyLimits(bytes: 1000, elements: 100)
        let part = "$300\r\n" + String(repeating: "a", count: 300) + "\r\n"
        #expect(try Self.read("*3\r\n" + part + part + part, piece: 100, limits: limits).count == 1)
        #expect(throws: ReplyError.malformed) {
            try Self.read("*4\r\n" + part + part + part + part, piece: 100, limits: limits)
        }
        #expect(try Self.read(part + part + part + part, piece: 100, limits: limits).count == 4)
    }

    @Test("Arrays nest as deep as hiredis allows, and no deeper")
    func nesting() throws {
        let deep = String(repeating: "*1\r\n", count: 7) + ":1\r\n"
        #expect(try Self.read(deep).count == 1)
        #expect(throws: ReplyError.malformed) { try Self.read(String(repeating: "*1\r\n", count: 50) + ":1\r\n") }
    }

    @Test("An error is final, whatever comes after it")
    func sticky() {
        let reader = ReplyReader()
        for text in ["?", "+OK\r\n"] {
            #expect(throws: ReplyError.malformed) {
                try Array(text.utf8).withUnsafeBytes { try reader.feed($0) { _ in true } }
            }
        }
    }

    /// Replies, whole and broken, that are built of the characters of RESP.
    private static func readNoise(_ count: Int, seed: UInt64) -> (read: Int, refused: Int) {
        var numbers = SeededNumbers(seed: seed)
        let alphabet = Array("+-:$*0123456789\r\n\r\n\r\nab%~".utf8)
        var (read, refused) = (0, 0)
        for _ in 0..<count {
            let bytes = (0..<60).map { _ in alphabet.randomElement(using: &numbers) ?? 0 }
            do {
                read += try self.read(String(decoding: bytes, as: UTF8.self), piece: 7).count
            } catch {
                refused += 1
            }
        }
        return (read, refused)
    }

    @Test("Random bytes are replies or an error, and never a crash", arguments: 0..<4 as Range<UInt64>)
    func randomBytes(seed: UInt64) {
        let (read, refused) = Self.readNoise(1000, seed: seed)
        #expect(read > 0 && refused > 500)
    }

    @Test(
        "Whatever is read or refused, no memory stays in use",
        .enabled(if: getenv("ASAN_OPTIONS") == nil, "not with the address sanitizer")
    )
    func memory() async {
        // In a process of its own, where nothing else takes memory.
        await #expect(processExitsWith: .success) {
            // What is made once is there afterwards.
            _ = ReplyReaderTests.readNoise(1000, seed: 5)
            let before = Heap.bytesInUse
            _ = ReplyReaderTests.readNoise(3000, seed: 6)
            // Two bytes for each reader, of which any leak has more.
            #expect(Heap.bytesInUse - before < 6000)
        }
    }

    @Test("A command is written as RESP, whatever its bytes")
    func command() {
        var buffer = ByteBuffer()
        #expect(RedisCommand("SET", [Array("k\0\r\n".utf8), [], [0xFF]]).write(to: &buffer))
        let expected = Array("*4\r\n$3\r\nSET\r\n$4\r\nk\0\r\n\r\n$0\r\n\r\n$1\r\n".utf8) + [0xFF, 0x0D, 0x0A]
        #expect(Array(buffer.readableBytesView) == expected)
        let before = buffer
        #expect(!RedisCommand("SET", [[UInt8](repeating: 0, count: RedisCommand.maxBytes)]).write(to: &buffer))
        #expect(buffer == before)
    }

    @Test(
        "The first word of an error decides its class",
        arguments: [
            ("LOADING Redis is loading the dataset in memory", RedisServerError.Class.unavailable),
            ("MISCONF Redis is configured to save RDB snapshots", .unavailable),
            ("OOM command not allowed when used memory > 'maxmemory'.", .unavailable),
            ("NOREPLICAS Not enough good replicas to write.", .unavailable),
            ("CLUSTERDOWN The cluster is down", .unavailable),
            ("BUSY Redis is busy running a script.", .unavailable),
            ("MASTERDOWN Link with MASTER is down", .unavailable),
            ("TRYAGAIN Multiple keys request during rehashing of slot", .unavailable),
            ("READONLY You can't write against a read only replica.", .elsewhere),
            ("MOVED 3999 127.0.0.1:6381", .elsewhere), ("ASK 3999 127.0.0.1:6381", .elsewhere),
            ("NOAUTH Authentication required.", .notPermitted), ("WRONGPASS invalid pair", .notPermitted),
            ("NOPERM this user has no permissions", .notPermitted), ("NOSCRIPT No matching script.", .noScript),
            ("ERR unknown command", .other), ("", .other),
        ]
    )
    func errorClass(line: String, expected: RedisServerError.Class) {
        #expect(RedisServerError(line: line).errorClass == expected)
    }
}
