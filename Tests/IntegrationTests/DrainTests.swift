import Foundation
import GatewayBench
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Clients that connect until the port is closed.
@Suite("Drain", .blocking) struct DrainTests {
    @Test("Every client that connects before the port is closed gets an answer, since a proxy may not repeat a POST")
    func lastConnections() throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "ok") })
        defer { app.stop() }
        let settings = Config.open(upstream: app.port).replacing("delay: 0s", with: "delay: 200ms")
        for _ in 0..<5 {
            try Gateway.with(settings) { gateway throws in
                let failures = Mutex<[String]>([])
                let (served, done) = (Flag(), Flag())
                let threads = 12
                for _ in 0..<threads {
                    Thread.detachNewThread {
                        // Repeats until the port is closed.
                        while let wire = try? gateway.connect() {
                            do {
                                let answer = try wire.request(Request.post("/", body: "a=1"))
                                guard answer.text == "ok" else { throw BenchFailure("\(answer.lines)") }
                                served.raise()
                            } catch {
                                failures.withLock { $0.append("\(error)") }
                            }
                        }
                        done.raise()
                    }
                }
                #expect(eventually { served.count > threads * 4 })
                gateway.signal(SIGTERM)
                #expect(eventually { done.count == threads })
                let failed = failures.withLock { $0 }
                #expect(failed.isEmpty, "\(failed.count) of \(served.count): \(failed.prefix(3))")
                #expect(gateway.exitStatus() == 0)
            }
        }
    }
}
