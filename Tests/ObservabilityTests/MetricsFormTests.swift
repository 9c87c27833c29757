import Foundation
import NIOCore
import NIOPosix
import Observability
import Testing
import Vocabulary

@Suite("Metrics in the form that a scraper asks for")
struct MetricsFormTests {
    @Test(
        "OpenMetrics for those who prefer it, and text for all others",
        arguments: [
            ([], .text), (["*/*"], .text), (["text/plain"], .text), (["text/html, */*;q=0.1"], .text),
            (["application/openmetrics-text"], .openMetrics),
            (["application/openmetrics-text; version=1.0.0; charset=utf-8"], .openMetrics),
            (["application/openmetrics-text;version=0.0.1"], .text),
            (["application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.9"], .text),
            (["application/openmetrics-text;version=1.0.0;q=0"], .text),
            (["application/openmetrics-text;q=nan, */*;q=0.1"], .text),
            (["application/openmetrics-text;q=7"], .text), (["application/openmetrics-text;q=-1"], .text),
            (["text/plain;q=0.5", "Application/OpenMetrics-Text"], .openMetrics), ([",,;,"], .text),
            // What Prometheus 2 and 3 ask for.
            (
                [
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                        + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
                ], .openMetrics
            ),
            (
                [
                    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
                        + "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,*/*;q=0.1"
                ], .openMetrics
            ),
        ] as [([String], MetricsForm)]
    )
    func negotiated(accept: [String], form: MetricsForm) {
        #expect(MetricsForm(accept: accept) == form)
    }

    @Test("a duration has the trace of its last recorded request, in its bucket, in OpenMetrics alone")
    func exemplars() async throws {
        let registry = MetricsRegistry()
        let id = registry.histogram(.histogram("sallyport_test_seconds{route}", "Test."), "app", buckets: [0.001, 1])
        let trace = try #require(TraceID(high: 10, low: 11))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        for (number, loop) in group.makeIterator().enumerated() {
            try await loop.submit {
                let shard = registry.makeShard(on: loop)
                let slot = shard.observe(id, nanoseconds: 2_500_000)
                let at = 1_700_000_000_500 + Int64(number)
                shard.note(Exemplar(trace: trace, nanoseconds: 2_500_000 + Int64(number), at: at), at: slot)
                // The shard grows, and keeps what it has.
                let later = registry.counter(.counter("sallyport_later_total{loop}", "Test."), "\(number)")
                shard.increment(later)
            }.get()
        }
        let open = String(decoding: try await registry.render(as: .openMetrics), as: UTF8.self)
        let line =
            #"sallyport_test_seconds_bucket{route="app",le="1"} 2 # {trace_id="000000000000000a000000000000000b"} "#
        // The later one of the two loops'.
        #expect(open.contains(line + "0.002500001 1700000000.501\n"))
        #expect(open.contains("le=\"0.001\"} 0\n"))
        #expect(open.hasSuffix("# EOF\n"))
        let text = String(decoding: try await registry.render(), as: UTF8.self)
        #expect(!text.contains("trace_id") && !text.contains("EOF"))
        try await group.shutdownGracefully()
    }

    @Test("a counter's family is named without _total in OpenMetrics, and its series are the same")
    func counters() async throws {
        let registry = MetricsRegistry()
        registry.increment(registry.counter(.counter("sallyport_test_total{a}", "Says \"x\"."), "b"))
        let open = String(decoding: try await registry.render(as: .openMetrics), as: UTF8.self)
        #expect(
            open == """
                # HELP sallyport_test Says \\"x\\".
                # TYPE sallyport_test counter
                sallyport_test_total{a="b"} 1
                # EOF

                """
        )
        let text = String(decoding: try await registry.render(), as: UTF8.self)
        #expect(text.contains("# TYPE sallyport_test_total counter\n"))
        #expect(text.contains("sallyport_test_total{a=\"b\"} 1\n"))
    }
}
