import Foundation
import NIOCore
import Observability
import TestSupport
import Testing
import Vocabulary

@Suite struct SpanTests {
    private static let id = TraceID(high: 0x4bf9_2f35_77b3_4da6, low: 0xa3ce_929d_0e0e_4736)

    private func head(_ span: UInt64 = 0xF067, parent: UInt64 = 0) throws -> SpanHead {
        var head = SpanHead(trace: try #require(Self.id), span: span, kind: .server, start: 1000, end: 2500)
        head.parent = parent
        head.isParentRemote = parent != 0
        return head
    }

    private func request(_ form: ExportRequest.Form = .json) -> ExportRequest {
        ExportRequest(attributes: [("service.name", "sallyport")], version: "1", form: form)
    }

    /// The spans of a buffer as the JSON form has them.
    private func spans(_ buffer: SpanBuffer) throws -> [[String: Any]] {
        let body = Array(buffer: self.request().body([buffer]))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
        let resource = try #require((object["resourceSpans"] as? [[String: Any]])?.first)
        let scope = try #require((resource["scopeSpans"] as? [[String: Any]])?.first)
        return try #require(scope["spans"] as? [[String: Any]])
    }

    private func attributes(_ span: [String: Any]) -> [String: String] {
        let pairs = (span["attributes"] as? [[String: Any]] ?? []).map { attribute -> (String, String) in
            let value = attribute["value"] as? [String: Any]
            let text = value?["stringValue"] as? String ?? (value?["intValue"] as? String).map { "#\($0)" } ?? "?"
            return (attribute["key"] as? String ?? "?", text)
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private func write(_ name: String, to buffer: SpanBuffer, _ head: SpanHead, _ more: (SpanBuffer) -> Void = { _ in })
    {
        buffer.begin(head)
        Array(name.utf8).withUnsafeBytes { buffer.name($0) }
        more(buffer)
        buffer.end()
    }

    @Test func aSpanHasItsIdsTimesAndAttributes() throws {
        let buffer = SpanBuffer(capacity: 64)
        let link = try #require(
            Array("00-\(String(repeating: "a", count: 32))-\(String(repeating: "b", count: 16))-01".utf8)
                .withUnsafeBufferPointer { TraceContext($0) }
        )
        self.write("GET /x", to: buffer, try self.head(parent: 7)) { span in
            Array("a=1,b=2".utf8).withUnsafeBytes { span.state($0) }
            span.attribute("http.request.method", "GET" as StaticString)
            span.attribute("http.response.status_code", 503)
            span.link(to: link)
            span.failed()
        }
        #expect(buffer.spans == 1)
        let span = try #require(try self.spans(buffer).first)
        #expect(span["traceId"] as? String == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(span["spanId"] as? String == "000000000000f067")
        #expect(span["parentSpanId"] as? String == "0000000000000007")
        #expect(span["traceState"] as? String == "a=1,b=2")
        #expect(span["name"] as? String == "GET /x")
        #expect(span["kind"] as? Int == 2)
        #expect(span["startTimeUnixNano"] as? String == "1000")
        #expect(span["endTimeUnixNano"] as? String == "2500")
        #expect(span["flags"] as? Int == 0x301)
        #expect((span["status"] as? [String: Any])?["code"] as? Int == 2)
        let attributes = self.attributes(span)
        #expect(attributes == ["http.request.method": "GET", "http.response.status_code": "#503"])
        let links = try #require(span["links"] as? [[String: Any]])
        #expect(links.count == 1)
        #expect(links[0]["traceId"] as? String == String(repeating: "a", count: 32))
        #expect(links[0]["flags"] as? Int == 0x301)
    }

    private static let userAgent = SpanKey("user_agent.original")

    @Test("an attribute that most spans have is the bytes of any other")
    func keys() throws {
        let status = SpanKey("http.response.status_code")
        let (quick, other) = (SpanBuffer(capacity: 64), SpanBuffer(capacity: 64))
        let head = try self.head()
        let name: StaticString = "user_agent.original"
        for count in 0..<300 {
            for first in [UInt8(0x41), 0xC3] {
                let bytes = [first] + [UInt8](repeating: 0xA9, count: first == 0xC3 ? 1 : 0)
                let text = (bytes + [UInt8](repeating: 0x61, count: count)).prefix(count)
                Array(text).withUnsafeBytes { text in
                    self.write("", to: quick, head) { #expect($0.attribute(Self.userAgent, text) >= text.count) }
                    self.write("", to: other, head) { $0.attribute(name, text) }
                }
            }
        }
        for number in [0, 1, 127, 128, 200, 503, 16_383, 16_384, .max, -1] {
            self.write("", to: quick, head) { $0.attribute(status, number) }
            self.write("", to: other, head) { $0.attribute("http.response.status_code", number) }
        }
        let fingerprint = Fingerprint(0x0123_4567_89AB_CDEF)
        self.write("", to: quick, head) { $0.attribute(SpanKey("sallyport.session"), fingerprint) }
        self.write("", to: other, head) { $0.attribute("sallyport.session", fingerprint.description) }
        #expect(quick.bytes.elementsEqual(other.bytes))
        #expect(quick.spans == 611)
    }

    @Test("what many spans have alike is a part of each, with the end of its name")
    func runs() throws {
        let buffer = SpanBuffer(capacity: 64)
        let long = String(repeating: "é", count: 2000)
        for name in [" /app/**", "", long] {
            let run = SpanRun(name: name) { $0.attribute("http.route", name) }
            buffer.removeAll()
            buffer.begin(try self.head())
            buffer.name("GET", run)
            buffer.add(SpanRun { $0.attribute("url.scheme", "https") })
            buffer.attribute(Self.userAgent, Array("probe".utf8))
            buffer.end()
            let span = try #require(try self.spans(buffer).first)
            let written = try #require(span["name"] as? String)
            #expect(("GET" + name).hasPrefix(written) && written.utf8.count <= SpanBuffer.textLimit + 3)
            #expect(name == long || written == "GET" + name)
            let attributes = self.attributes(span)
            #expect(attributes.count == 3)
            #expect(name.hasPrefix(attributes["http.route"] ?? "?"))
            #expect(attributes["url.scheme"] == "https")
            #expect(attributes["user_agent.original"] == "probe")
        }
    }

    @Test("a span that is like another one is written as if it were the first", arguments: [0, 7])
    func patterns(parent: UInt64) throws {
        let patterns = SpanPatterns()
        let (status, session) = (SpanKey("http.response.status_code"), SpanKey("sallyport.session"))
        let url = SpanKey("url.full")
        let run = SpanRun(name: " /app/**") { $0.attribute("http.route", "/app/**") }
        let more = SpanRun { $0.attribute("url.scheme", "https") }
        let (like, whole) = (SpanBuffer(capacity: 64), SpanBuffer(capacity: 64))
        for number in UInt64(1)...40 {
            var head = try self.head(number &* 0x0102_0304_0506_0708, parent: parent == 0 ? 0 : parent + number)
            (head.start, head.end) = (number &* 0x1122_3344, number &* 0x1122_3344 &+ number)
            let fingerprint = Fingerprint(number &* 0x0123_4567_89AB_CDEF)
            let path = Array("/\(String(repeating: "p", count: Int(number)))".utf8)
            let likeness = SpanPatternKey(run.number, traits: parent + 1)
            #expect((patterns.find(likeness) == nil) == (number == 1))
            let pattern =
                patterns.find(likeness)
                ?? patterns.make(likeness, head, hasStatus: true, hasSession: true) { span in
                    span.name("GET", run)
                    return Array("https://app".utf8).withUnsafeBytes { span.attribute(url, $0) }
                }
            like.begin(like: pattern, head, status: 200 + Int(number))
            like.put(fingerprint.characters, at: pattern.sessionAt)
            path.withUnsafeBufferPointer { like.complete(url, begun: pattern.textCount, $0) }
            like.add(more)
            like.end()
            whole.begin(head)
            whole.attribute(status, 200 + Int(number))
            whole.attribute(session, fingerprint)
            whole.name("GET", run)
            whole.attribute(url, Array("https://app".utf8) + path)
            whole.attribute("url.scheme", "https")
            whole.end()
        }
        #expect(like.bytes.elementsEqual(whole.bytes))
        #expect(try self.spans(like).count == 40)
    }

    @Test("of two likenesses at one place the last one is kept, and each finds its own pattern or none")
    func likenesses() throws {
        let patterns = SpanPatterns()
        let head = try self.head()
        for first in UInt64(1)...2000 {
            let likeness = SpanPatternKey(first, traits: 1)
            #expect(patterns.find(likeness) == nil)
            let made = patterns.make(likeness, head, hasStatus: false) { span in
                span.attribute("number", Int(first))
                return Int(first)
            }
            #expect(made.textCount == Int(first))
            #expect(patterns.find(likeness)?.textCount == Int(first))
        }
        let kept = (UInt64(1)...2000).compactMap { first -> Bool? in
            patterns.find(SpanPatternKey(first, traits: 1)).map { $0.textCount == Int(first) }
        }
        #expect(kept.count > 100 && kept.allSatisfy { $0 })
    }

    @Test("no two runs have the same number, also none at the same address")
    func numbers() {
        var numbers: Set<UInt64> = []
        for _ in 0..<1000 {
            let run = SpanRun { $0.attribute("a", "b") }
            #expect(run.number != 0)
            numbers.insert(run.number)
        }
        #expect(numbers.count == 1000)
    }

    @Test("a span that begins its trace has no parent, and its end is not before its start")
    func root() throws {
        let buffer = SpanBuffer(capacity: 64)
        var head = try self.head()
        head.end = 10
        self.write("HTTP", to: buffer, head)
        let span = try #require(try self.spans(buffer).first)
        #expect(span["parentSpanId"] == nil)
        #expect(span["flags"] as? Int == 0x101)
        #expect(span["endTimeUnixNano"] as? String == "1000")
    }

    @Test("texts of any bytes are valid UTF-8 in the span, cut at a character, and a span never grows beyond its limit")
    func anyTexts() throws {
        var dice = SeededNumbers(seed: 3)
        let buffer = SpanBuffer(capacity: 64)
        for _ in 0..<200 {
            let count = Int.random(in: 0...5000, using: &dice)
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &dice) }
            let text = String(repeating: "é€😀", count: Int.random(in: 0...300, using: &dice))
            buffer.removeAll()
            self.write(text, to: buffer, try self.head()) { span in
                bytes.withUnsafeBytes { for _ in 0..<20 { span.attribute(Self.userAgent, $0) } }
                span.attribute("url.path", text)
            }
            #expect(buffer.bytes.count < 16_384 + 8)
            let span = try #require(try self.spans(buffer).first)
            let name = try #require(span["name"] as? String)
            #expect(text.hasPrefix(name) && name.utf8.count <= SpanBuffer.textLimit)
            #expect(self.attributes(span)["user_agent.original"] != nil)
        }
    }

    @Test("a request to the collector in protobuf holds the same spans, with the fields of resource and scope")
    func protobuf() throws {
        let buffer = SpanBuffer(capacity: 64)
        for number in 1...40 { self.write("GET /\(number)", to: buffer, try self.head(UInt64(number))) }
        let body = Array(buffer: self.request(.protobuf).body([buffer, SpanBuffer(capacity: 64)]))
        #expect(body.first == 0x0A)
        #expect(body.suffix(buffer.bytes.count).elementsEqual(buffer.bytes))
        #expect(body.count > buffer.bytes.count + 30)
        #expect(try self.spans(buffer).count == 40)
    }

    @Test("a collector that takes some spans only says how many it refused")
    func partialSuccess() {
        #expect(PartialSuccess([], .protobuf).rejected == 0)
        #expect(PartialSuccess([0x0A, 0x02, 0x08, 0x03], .protobuf).rejected == 3)
        #expect(PartialSuccess([0x0A, 0x00], .protobuf).rejected == 0)
        #expect(PartialSuccess([0x0A, 0xFF, 0xFF], .protobuf).rejected == 0)
        #expect(PartialSuccess(Array(#"{"partialSuccess":{"rejectedSpans":"5"}}"#.utf8), .json).rejected == 5)
        #expect(PartialSuccess(Array(#"{"partialSuccess":{"rejectedSpans":6}}"#.utf8), .json).rejected == 6)
        #expect(PartialSuccess(Array(#"{"partialSuccess":{"rejectedSpans":"-5"}}"#.utf8), .json).rejected == 0)
        #expect(PartialSuccess(Array(#"{"partialSuccess":{"rejectedSpans":-6}}"#.utf8), .json).rejected == 0)
        #expect(PartialSuccess(Array("{}".utf8), .json).rejected == 0)
        // A negative number, which is none.
        let minus = PartialSuccess([0x0A, 11, 0x08] + [UInt8](repeating: 0xFF, count: 9) + [1], .protobuf)
        #expect(minus.rejected == 0)
        #expect(PartialSuccess(Array("<html>".utf8), .json).rejected == 0)
        // Why, or a warning where it has taken all.
        let refusal = PartialSuccess([0x0A, 0x06, 0x12, 0x02, 0x6E, 0x6F, 0x08, 0x03], .protobuf)
        #expect(refusal.rejected == 3)
        #expect(refusal.message == "no")
        #expect(PartialSuccess([0x0A, 0x02, 0x12, 0x00], .protobuf).message == nil)
        #expect(PartialSuccess([0x0A, 0x03, 0x12, 0x01, 0xFF], .protobuf).message == "\u{FFFD}")
        #expect(PartialSuccess(Array(#"{"partialSuccess":{"errorMessage":"old"}}"#.utf8), .json).message == "old")
        let long = #"{"partialSuccess":{"errorMessage":"\#(String(repeating: "x", count: 4000))"}}"#
        #expect(PartialSuccess(Array(long.utf8), .json).message?.count == 512)
    }

    // MARK: The queue

    private func dropped(_ registry: MetricsRegistry) async throws -> [String] {
        String(decoding: try await registry.render(), as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("sallyport_spans_") }.map(String.init)
    }

    @Test("spans beyond the queue's capacity are dropped and counted, and nothing waits")
    func fullQueue() async throws {
        let queue = SpanQueue(capacity: 64, batch: 16) {}
        let registry = MetricsRegistry()
        queue.register(in: registry)
        let log = TraceLog(queue: queue)
        for _ in 0..<200 {
            let head = try self.head(log.nextSpan())
            log.write { self.write("GET", to: $0, head) }
        }
        log.flushIfNeeded()
        #expect(queue.waiting == 64)
        #expect(try await self.dropped(registry).contains("sallyport_spans_dropped_total{reason=\"queue_full\"} 136"))
        var taken = 0
        while case let batch = queue.next(), !batch.isEmpty {
            let spans = batch.reduce(0) { $0 + $1.spans }
            #expect(spans <= 16)
            taken += spans
            queue.giveBack(batch, lost: 1, .refused)
        }
        #expect(taken == 64)
        #expect(try await self.dropped(registry).contains("sallyport_spans_dropped_total{reason=\"refused\"} 4"))
        #expect(try await self.dropped(registry).contains("sallyport_spans_sent_total 60"))
    }

    @Test("after a burst a large queue keeps no more memory than two batches need")
    func memoryAfterBurst() throws {
        let queue = SpanQueue(capacity: 1_000_000, batch: 512) {}
        let log = TraceLog(queue: queue)
        for _ in 0..<200_000 {
            let head = try self.head(log.nextSpan())
            log.write { self.write("GET", to: $0, head) }
        }
        #expect(queue.waiting > 190_000)
        while case let batch = queue.next(), !batch.isEmpty { queue.giveBack(batch) }
        #expect(queue.waiting == 0)
        #expect((4...32).contains(queue.spare))
    }

    @Test("a batch of long spans has no more than a mebibyte, and none of them is lost")
    func longSpans() throws {
        let queue = SpanQueue(capacity: 2048, batch: 512) {}
        let log = TraceLog(queue: queue)
        let text = [UInt8](repeating: 0x61, count: 1024)
        for _ in 0..<1000 {
            let head = try self.head(log.nextSpan())
            log.write { buffer in
                self.write("GET", to: buffer, head) { span in
                    for _ in 0..<12 { text.withUnsafeBytes { _ = span.attribute("user_agent.original", $0) } }
                }
            }
        }
        log.flushIfNeeded()
        #expect(queue.waiting == 1000)
        var batches: [Int] = []
        while case let batch = queue.next(), !batch.isEmpty {
            batches.append(batch.reduce(0) { $0 + $1.bytes.count })
            queue.giveBack(batch)
        }
        #expect(batches.allSatisfy { $0 <= 1 << 20 }, "\(batches)")
        #expect(batches.reduce(0, +) > 12 << 20)
    }

    @Test("a collector that asks for no pause gets one all the same, and each is longer than the one before")
    func pauses() {
        var pauses = ExportPauses()
        #expect(pauses.take(asked: .zero, chance: 0.8) == .milliseconds(800))
        #expect(pauses.take(asked: nil, chance: 1) == .seconds(2))
        #expect(pauses.take(asked: .seconds(30), chance: 1) == .seconds(30))
        #expect(pauses.take(asked: .seconds(1), chance: 1) == .seconds(8))
        for _ in 0..<5 { #expect(pauses.take(asked: .zero, chance: 1) == .seconds(10)) }
    }

    @Test("a collector is left alone for as long as it asks, but not for ever")
    func rest() {
        var rest = ExportRest()
        let now = ContinuousClock.now
        #expect(!rest.isOn(at: now))
        rest.begin(.zero, at: now)
        #expect(!rest.isOn(at: now))
        rest.begin(.seconds(60), at: now)
        #expect(rest.isOn(at: now + .seconds(59)) && !rest.isOn(at: now + .seconds(60)))
        rest.begin(.seconds(1 << 40), at: now)
        #expect(rest.isOn(at: now + .seconds(599)) && !rest.isOn(at: now + .seconds(600)))
    }

    @Test("the exporter is told once when a batch is there, and gets single spans when it asks for all")
    func batches() throws {
        let rings = Counter()
        let queue = SpanQueue(capacity: 1000, batch: 100) { rings.add() }
        let head = try self.head()
        for _ in 0..<99 { queue.write { self.write("GET", to: $0, head) } }
        #expect(queue.next(onlyFull: true).isEmpty)
        #expect(rings.count == 0)
        for _ in 0..<301 { queue.write { self.write("GET", to: $0, head) } }
        #expect(rings.count == 1)
        #expect(!queue.next(onlyFull: true).isEmpty)
        queue.close()
        queue.write { self.write("GET", to: $0, head) }
        for _ in 0..<100 { queue.write { self.write("GET", to: $0, head) } }
        #expect(queue.next(onlyFull: true).isEmpty)
    }
}

/// Counts on any thread.
private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var value = 0

    var count: Int { self.lock.withLock { self.value } }
    func add() { self.lock.withLock { self.value += 1 } }
}
