import Foundation
import NIOCore
import NIOPosix
import Observability
import Testing
import Vocabulary

@Suite("What is called for a request that is traced")
struct CallTraceTests {
    private static let origin = "http://[::1]:8080"

    private func trace(_ queue: SpanQueue, namesPaths: Bool = true, store: String? = "redis") throws -> CallTrace {
        let id = try #require(TraceID(high: 1, low: 2))
        return CallTrace(of: id, below: 7, namesPaths: namesPaths, store: store, to: queue)
    }

    private func call(_ status: Int?, failure: String? = nil, origin: String = Self.origin) -> TracedCall {
        TracedCall(
            .provider(method: "POST", origin: origin, path: "/token", status: status),
            for: "token",
            began: 1000,
            ended: 3000,
            failure: failure
        )
    }

    private func spans(_ queue: SpanQueue) throws -> [(span: [String: Any], attributes: [String: String])] {
        let body = Array(buffer: ExportRequest(attributes: [], version: "1", form: .json).body(queue.next()))
        let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        let resource = (object?["resourceSpans"] as? [[String: Any]])?.first
        let scope = (resource?["scopeSpans"] as? [[String: Any]])?.first
        return (scope?["spans"] as? [[String: Any]] ?? []).map { span in
            let pairs = (span["attributes"] as? [[String: Any]] ?? []).map { attribute -> (String, String) in
                let value = attribute["value"] as? [String: Any]
                let text = value?["stringValue"] as? String ?? value?["intValue"] as? String
                return (attribute["key"] as? String ?? "?", text ?? "?")
            }
            return (span, Dictionary(pairs) { first, _ in first })
        }
    }

    @Test("a call of a provider is a client's span below the request's, with the URL but for its query")
    func provider() throws {
        let queue = SpanQueue(capacity: 64, batch: 64) {}
        try self.trace(queue).note(self.call(200))
        try self.trace(queue, namesPaths: false).note(self.call(503, failure: "503", origin: "https://id.example.com"))
        let spans = try self.spans(queue)
        try #require(spans.count == 2)
        #expect(spans[0].span["traceId"] as? String == "00000000000000010000000000000002")
        #expect(spans[0].span["parentSpanId"] as? String == "0000000000000007")
        #expect(spans[0].span["kind"] as? Int == 3)
        #expect(spans[0].span["name"] as? String == "POST")
        #expect(spans[0].span["status"] == nil)
        #expect(spans[0].attributes["url.full"] == "http://[::1]:8080/token")
        #expect(spans[0].attributes["server.address"] == "[::1]")
        #expect(spans[0].attributes["server.port"] == "8080")
        #expect(spans[0].attributes["sallyport.call"] == "token")
        #expect(spans[0].attributes["http.response.status_code"] == "200")
        let times = ["startTimeUnixNano", "endTimeUnixNano"].map { UInt64(spans[0].span[$0] as? String ?? "") ?? 0 }
        #expect(times[1] == times[0] + 2000)
        #expect(spans[1].attributes["url.full"] == nil)
        #expect(spans[1].attributes["server.address"] == "id.example.com")
        #expect(spans[1].attributes["server.port"] == "443")
        #expect(spans[1].attributes["error.type"] == "503")
        #expect((spans[1].span["status"] as? [String: Any])?["code"] as? Int == 2)
    }

    @Test("a command of the store is one where the store is a server, and none where it is in this process")
    func store() throws {
        let queue = SpanQueue(capacity: 64, batch: 64) {}
        let call = TracedCall(.store(operation: "create"), for: "create", began: 1, ended: 2, failure: "timeout")
        try self.trace(queue, store: nil).note(call)
        #expect(queue.waiting == 0)
        try self.trace(queue).note(call)
        let spans = try self.spans(queue)
        #expect(spans.map { $0.attributes["db.operation.name"] } == ["create"])
        #expect(spans.map { $0.attributes["db.system.name"] } == ["redis"])
        #expect(spans.map { $0.attributes["error.type"] } == ["timeout"])
    }

    @Test("tasks inherit the trace of the work that begins them, and others have none")
    func inherited() async throws {
        let queue = SpanQueue(capacity: 64, batch: 64) {}
        let trace = try self.trace(queue)
        #expect(CallTrace.current == nil)
        let inner = CallTrace.with(trace) { Task { await Task { CallTrace.current != nil }.value } }
        let outer = CallTrace.with(trace) { Task.detached { CallTrace.current != nil } }
        #expect(await inner.value)
        #expect(await !outer.value)
        #expect(CallTrace.with(nil) { CallTrace.current } == nil)
        // On a loop, where no task runs.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let onLoop = try await loop.submit { CallTrace.with(trace) { CallTrace.current != nil } }.get()
        #expect(onLoop)
        #expect(try await loop.submit { CallTrace.current == nil }.get())
    }
}
