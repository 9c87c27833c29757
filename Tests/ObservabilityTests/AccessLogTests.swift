import Foundation
import Observability
import TestSupport
import Testing
import Vocabulary

@Suite(.timeLimit(.minutes(5)))
struct AccessLogTests {
    /// Records one request per element and returns the lines.
    private func objects(_ requests: [Request]) throws -> [[String: Any]] {
        let sink = try FileSink()
        let log = AccessLog(queue: sink.writer.queue(.access, capacity: 1 << 26))
        for request in requests {
            request.record(in: log)
        }
        log.flushIfNeeded()
        return try sink.objects()
    }

    /// Owns the bytes that an entry refers to.
    private struct Request {
        var time = UnixTime(milliseconds: 1_795_241_820_123)
        var method = bytes("GET")
        var target = bytes("/")
        var host: [UInt8]?
        var userAgent: [UInt8]?
        var referer: [UInt8]?
        var change: (inout AccessEntry) -> Void = { _ in }
        var recorded: (AccessLog, AccessEntry) -> Void = { $0.record($1) }

        private static func text(_ text: StaticString) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        }

        func record(in log: AccessLog) {
            self.method.withUnsafeBytes { method in
                self.target.withUnsafeBytes { target in
                    (self.host ?? []).withUnsafeBytes { host in
                        (self.userAgent ?? []).withUnsafeBytes { userAgent in
                            (self.referer ?? []).withUnsafeBytes { referer in
                                var entry = AccessEntry(
                                    time: self.time,
                                    requestID: Self.text("req"),
                                    client: Self.text("192.0.2.1")
                                )
                                entry.method = method
                                entry.target = target
                                entry.version = "HTTP/1.1"
                                if self.host != nil { entry.host = host }
                                if self.userAgent != nil { entry.userAgent = userAgent }
                                if self.referer != nil { entry.referer = referer }
                                self.change(&entry)
                                self.recorded(log, entry)
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func aFullEntryWritesEveryMember() throws {
        let sink = try FileSink()
        let log = AccessLog(queue: sink.writer.queue(.access, capacity: 1 << 20))
        var request = Request(host: bytes("app.example.com"), userAgent: bytes("Mozilla/5.0 \"x\""))
        request.target = bytes("/a/b?session_transfer_token=SECRET#f")
        request.referer = bytes("https://app.example.com/x?code=SECRET")
        request.change = { entry in
            entry.status = 403
            entry.reason = .bindingIPMismatch
            entry.decision = "deny"
            entry.upstreamReused = true
            entry.bytesIn = 0
            entry.bytesOut = .max
            entry.duration = 1234
            entry.upstreamDuration = -1
        }
        request.recorded = { log, entry in
            log.record(
                entry,
                route: "app",
                session: "ses_1",
                origin: "transfer",
                cache: "l1",
                upstream: "web",
                handoff: "consumed",
                binding: "mismatch"
            )
        }
        request.record(in: log)
        log.flushIfNeeded()
        let expected = #"""
            {"stream":"access","time":"2026-11-21T06:17:00.123Z","request_id":"req",\#
            "client":"192.0.2.1","method":"GET","host":"app.example.com",\#
            "path":"/a/b","protocol":"HTTP/1.1","status":403,"reason":"binding.ip_mismatch",\#
            "route":"app","decision":"deny","session":"ses_1","origin":"transfer","cache":"l1","upstream":"web",\#
            "upstream_reused":true,"bytes_in":0,"bytes_out":9223372036854775807,"duration_us":1234,"upstream_us":-1,\#
            "user_agent":"Mozilla/5.0 \"x\"","referer":"https://app.example.com/x","handoff":"consumed",\#
            "binding":"mismatch"}

            """#
        #expect(String(decoding: try #require(sink.contents()), as: UTF8.self) == expected)
    }

    @Test func unknownMembersAreLeftOut() throws {
        let object = try #require(try self.objects([Request()]).first)
        let keys: Set = [
            "stream", "time", "request_id", "client", "method", "path", "protocol", "status", "bytes_in", "bytes_out",
            "duration_us",
        ]
        #expect(Set(object.keys) == keys)
    }

    /// CWE-117: whatever a client sends, a request is one line of valid JSON that decodes to what was sent.
    @Test func arbitraryBytesStayOneLineAndDecodeToThemselves() throws {
        var random = SeededNumbers(seed: 2026)
        var values: [[UInt8]] = (0...255).map { [UInt8($0)] }
        values += [
            "\r\n{\"stream\":\"audit\"}\n", "a\u{2028}b\u{2029}c", "\u{202E}txt.exe", "\u{85}\u{9B}31m", "é€😀\u{7F}",
        ]
        .map { bytes($0) }
        // Overlong, surrogate, beyond U+10FFFF, truncated.
        values += [[0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0xF0, 0x9F, 0x98]]
        // Lengths and bytes at the boundaries of UTF-8, more often than by chance.
        let edges: [UInt8] = [
            0, 0x0A, 0x22, 0x5C, 0x7F, 0x80, 0xBF, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0x9F, 0xA0, 0x41,
        ]
        for number in 0..<20_000 {
            let count = Int.random(in: 0..<24, using: &random)
            values.append(
                (0..<count).map { _ in
                    number % 2 == 0 ? .random(in: 0...255, using: &random) : edges.randomElement(using: &random) ?? 0
                }
            )
        }
        // One byte that needs escaping at every place of eight, alone and before another one.
        let plain: [UInt8] = [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7E, 0x41, 0x30]
        for count in 1...26 {
            for place in 0..<count {
                for special: UInt8 in [0, 0x1F, 0x22, 0x5C, 0x7F, 0x80, 0xFF] {
                    var value = (0..<count).map { plain[$0 % plain.count] }
                    value[place] = special
                    values.append(value)
                    if place + 1 < count {
                        value[place + 1] = special == 0x5C ? 0x22 : 0x5C
                        values.append(value)
                    }
                }
            }
        }
        let sink = try FileSink()
        let log = AccessLog(queue: sink.writer.queue(.access, capacity: 1 << 26))
        for value in values {
            Request(userAgent: value).record(in: log)
        }
        log.flushIfNeeded()
        let contents = try #require(sink.contents())
        #expect(contents.allSatisfy { $0 == 0x0A || $0 >= 0x20 && $0 != 0x7F })
        #expect(String(validating: contents, as: UTF8.self) != nil)
        let lines = contents.split(separator: 0x0A)
        try #require(lines.count == values.count)
        for (line, value) in zip(lines, values) {
            let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
            #expect(object?["user_agent"] as? String == Self.readable(value), "\(value)")
            for harmful in ["\u{2028}", "\u{202E}", "\u{85}", "\u{9B}"] {
                #expect(Data(line).range(of: Data(harmful.utf8)) == nil)
            }
        }
    }

    /// The characters, or U+00XX for a byte that is not part of one; checked with the standard library.
    private static func readable(_ value: [UInt8]) -> String {
        var result = String.UnicodeScalarView()
        var index = 0
        while index < value.count {
            let character = (1...4).lazy
                .filter { index + $0 <= value.count }
                .compactMap { String(validating: value[index..<(index + $0)], as: UTF8.self) }
                .first { $0.unicodeScalars.count == 1 }
            result.append(character?.unicodeScalars.first ?? Unicode.Scalar(value[index]))
            index += character?.utf8.count ?? 1
        }
        return String(result)
    }

    @Test(arguments: [
        ("/a?b=c", "/a"), ("/a#b", "/a"), ("?b", ""), ("*", "*"), ("/", "/"), ("/a@b", "/a@b"),
        ("//u:p@h/", "//u:p@h/"),
        ("http://h/p?q", "http://h/p"), ("https://user:pass@h:1/p", "h:1/p"), ("user:pass@h:443", "h:443"),
        ("http://h/a@b", "http://h/a@b"), ("https://u:p@h?x", "h"), ("https://u:p@x@h#y", "h"), ("h:443", "h:443"),
        ("", ""), ("@", ""), ("a://", "a://"),
    ])
    func queriesAndPasswordsAreNeverWritten(url: String, logged: String) throws {
        let request = Request(target: bytes(url), referer: bytes(url))
        let object = try #require(try self.objects([request]).first)
        #expect(object["path"] as? String == logged)
        #expect(object["referer"] as? String == logged)
    }

    @Test func longValuesAreCutAtACharacter() throws {
        let long = String(repeating: "x", count: 1022)
        let values = [
            (bytes(long + "yy"), long + "yy"),
            (bytes(long + "yyy"), long + "yy…"),
            (bytes(long + "é€"), long + "é…"),
            (bytes(long + "€"), long + "…"),
            (bytes(long + "😀"), long + "…"),
            ([UInt8](repeating: 0x80, count: 5000), String(repeating: "\u{80}", count: 1024) + "…"),
        ]
        let objects = try self.objects(values.map { Request(userAgent: $0.0) })
        #expect(objects.map { $0["user_agent"] as? String } == values.map(\.1))
    }

    @Test func timesAreRFC3339InUTC() throws {
        var random = SeededNumbers(seed: 1)
        var times: [Int64] = [
            0, -1, -1000, 999, 951_782_399_999, 951_782_400_000, 4_107_542_400_000, 253_402_300_799_999,
        ]
        for _ in 0..<2000 {
            times.append(.random(in: -12_000_000_000_000...250_000_000_000_000, using: &random))
        }
        let objects = try self.objects(times.map { Request(time: UnixTime(milliseconds: $0)) })
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        for (time, object) in zip(times, objects) {
            let seconds = time >= 0 ? time / 1000 : (time - 999) / 1000
            let date = Date(timeIntervalSince1970: Double(seconds))
            let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
            let expected = String(
                format: "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                parts.year ?? 0,
                parts.month ?? 0,
                parts.day ?? 0,
                parts.hour ?? 0,
                parts.minute ?? 0,
                parts.second ?? 0,
                Int(time - seconds * 1000)
            )
            #expect(object["time"] as? String == expected)
        }
        let clamped = try self.objects([.min, .max].map { Request(time: UnixTime(milliseconds: $0)) })
        #expect(clamped.map { $0["time"] as? String } == ["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"])
    }

    @Test func numbersOfEveryLengthAreWritten() throws {
        var numbers: [Int64] = [0, .min, .max, .min + 1, .max - 1]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            numbers += [power, power - 1, power + 1, -power]
        }
        let requests = numbers.map { number in Request(change: { $0.bytesIn = number }) }
        #expect(try self.objects(requests).map { ($0["bytes_in"] as? NSNumber)?.int64Value } == numbers)
    }

    @Test func linesAreHandedOverInBatchesAndAtTheEndOfATick() throws {
        let pipe = PipeSink()
        let writer = try LineWriter(descriptor: pipe.writing)
        let queue = writer.queue(.access, capacity: 1 << 20)
        let log = AccessLog(queue: queue)
        Request(target: bytes("/first")).record(in: log)
        // Nothing is queued yet, so there is nothing to wait for.
        #expect(writer.flush(timeout: .seconds(30)))
        log.flushIfNeeded()
        log.flushIfNeeded()
        #expect(pipe.lines(1).count == 1)
        for number in 0..<500 {
            Request(target: bytes("/\(number)")).record(in: log)
        }
        let early = pipe.lines(100)
        #expect(early.count >= 100)
        log.flushIfNeeded()
        #expect(early.count + pipe.lines(500 - early.count).count == 500)
        writer.stop(timeout: .seconds(30))
        pipe.closeReader()
    }
}
