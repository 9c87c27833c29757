import Foundation
import GatewayBench
import Testing

/// The memory that bursts leave behind.
@Suite(
    "Memory after bursts",
    .blocking,
    .serialized,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] == "1" && getenv("ASAN_OPTIONS") == nil, "only with SOAK")
)
struct MemoryTests {
    private static let readers = 200
    private static let body = 100 << 20

    /// Takes a part of so many large answers at once, each slowly, and leaves.
    private func burst(_ gateway: Gateway) throws {
        let wires = try (0..<Self.readers).map { _ in try Wire(to: gateway.port, receiveBuffer: 4096) }
        for wire in wires { wire.send(Request.get("/large")) }
        for wire in wires { #expect(wire.receive(through: "\r\n\r\n", seconds: 30) != nil) }
        for _ in 0..<200 {
            for wire in wires { #expect(wire.receive(count: 1000, seconds: 30) != nil) }
        }
        for wire in wires { wire.close() }
    }

    @Test("F14: what a burst of slow readers took is given back when the gateway is quiet, and nothing stays in use")
    func slowReaders() throws {
        DescriptorLimit.raise()
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.body)\r\n\r\n")
            let block = [UInt8](repeating: 0x61, count: 65_536)
            for _ in 0..<(Self.body >> 16) where !link.wire.send(block) { return }
        }
        defer { app.stop() }
        let more = "limits:\n  connections: 2000\ntimeouts:\n  connect: 30s\nlog: {level: debug}\n"
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway throws in
            let said = "memory is given back to the system"
            func count() -> Int { gateway.output.components(separatedBy: said).count - 1 }
            var rest: [Int] = []
            for round in 1...6 {
                let before = gateway.residentBytes
                try self.burst(gateway)
                let peak = gateway.residentBytes
                #expect(peak - before > 16 << 20, "no burst: \(peak - before)")
                #expect(eventually { count() == round }, "round \(round)")
                rest.append(gateway.residentBytes)
                #expect(peak - rest[round - 1] > (peak - before) / 2, "\(before), \(peak), \(rest[round - 1])")
            }
            // What the first round made once is there afterwards; the others add nothing.
            #expect(rest[rest.count - 1] - rest[0] < 4 << 20, "\(rest)")
            print("report: resident after bursts of \(Self.readers) slow readers: \(rest.map { $0 >> 10 }) KiB")
        }
    }
}
