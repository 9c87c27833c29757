import Foundation
import GatewayBench
import RedisServers
import Synchronization
import TestSupport
import Testing

/// Every answer belongs to the session of its own request.
@Suite("Canaries", .blocking) struct CanaryTests {
    private struct Canary: Sendable {
        let request: String
        /// Text that an app receives for this session and for no other.
        let mark: String
    }

    private struct Tally {
        var own = 0
        var unavailable = 0
        var aborted = 0
        var wrong: [String] = []
    }

    /// How long requests are sent.
    private static let duration: Duration = isSoak ? .seconds(600) : .seconds(10)
    private static let threadCount = 6

    @Test("F31: no answer contains data of another session, even if clients and connections break off")
    func aborts() async throws {
        try await RedisServer.with { server in
            try await FaultProxy.with(to: server.port) { proxy in
                try await Fleet.with([RedisURLs.standalone(proxy.port)], loops: 2, logsAccess: false) { fleet in
                    try await fleet.waitUntilReady()
                    let canaries = try (0..<60).map { try Self.canary($0, at: fleet[0]) }
                    #expect(Set(canaries.map(\.mark)).count == canaries.count)
                    let tally = Mutex(Tally())
                    let end = ContinuousClock.now + Self.duration
                    let done = Flag()
                    for number in 0..<Self.threadCount {
                        let thread = Thread {
                            var numbers = SeededNumbers(seed: UInt64(number))
                            Self.ask(canaries, of: fleet[0], until: end, tally, &numbers)
                            done.raise()
                        }
                        thread.stackSize = 1 << 20
                        thread.start()
                    }
                    // The feed breaks, so that every session is read again, and the connections break within replies.
                    var numbers = SeededNumbers(seed: 31)
                    while ContinuousClock.now < end {
                        try await proxy.set(.cut(after: Int.random(in: 0...6000, using: &numbers)))
                        try server.command("CLIENT", "KILL", "TYPE", "pubsub")
                        try await Task.sleep(for: .milliseconds(100))
                        try await proxy.set(.none)
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    #expect(eventually { done.count == Self.threadCount })
                    let sums = tally.withLock { $0 }
                    #expect(sums.wrong.isEmpty, "\(sums.wrong.prefix(3))")
                    let reads = try server.calls(of: "mget")
                    #expect(sums.own > 100 && sums.aborted > 10 && reads > 100)
                    print(
                        "report: \(sums.own) answers with their own canary, \(sums.unavailable) with 503,",
                        "\(sums.aborted) requests given up, \(reads) reads of Redis"
                    )
                }
            }
        }
    }

    private static func canary(_ number: Int, at gateway: Gateway) throws -> Canary {
        let user: User = [.ada, .grace, .mary][number % 3]
        let cookie = try patiently { try gateway.browser(user, from: "127.2.7.\(number / 9 + 1)") }
        let request = Request.get("/", ["Cookie: sallyport=\(cookie)"])
        let mark = try patiently {
            let lines = try gateway.request(request).text.split(separator: "\r\n")
            guard let line = lines.first(where: { $0.hasPrefix("X-Auth-Session-Id: ") }) else {
                throw BenchFailure("no session's id")
            }
            return "\(line)\r\n"
        }
        return Canary(request: request, mark: mark)
    }

    /// Sends requests of several sessions over a few connections, several at once on each, and gives up some of them:
    /// before the answer, or before the request is complete.
    private static func ask(
        _ canaries: [Canary],
        of gateway: Gateway,
        until end: ContinuousClock.Instant,
        _ tally: borrowing Mutex<Tally>,
        _ numbers: inout SeededNumbers
    ) {
        var wires: [Wire?] = Array(repeating: nil, count: 8)
        while ContinuousClock.now < end {
            var asked: [(index: Int, canary: Canary)] = []
            for index in wires.indices {
                guard let wire = wires[index] ?? (try? gateway.connect()) else { continue }
                wires[index] = wire
                let canary = canaries[Int.random(in: canaries.indices, using: &numbers)]
                if Int.random(in: 0..<20, using: &numbers) == 0 {
                    let count = Int.random(in: 1..<canary.request.utf8.count, using: &numbers)
                    wire.send(Array(canary.request.utf8.prefix(count)))
                    wire.reset()
                    wires[index] = nil
                    tally.withLock { $0.aborted += 1 }
                } else if wire.send(canary.request) {
                    asked.append((index, canary))
                } else {
                    wires[index] = nil
                }
            }
            for (index, canary) in asked {
                guard let wire = wires[index] else { continue }
                if Int.random(in: 0..<20, using: &numbers) == 0 {
                    wire.reset()
                    wires[index] = nil
                    tally.withLock { $0.aborted += 1 }
                    continue
                }
                guard let answer = try? wire.answer(seconds: 10) else {
                    wires[index] = nil
                    continue
                }
                tally.withLock { tally in
                    switch answer.status {
                    case 200 where answer.text.contains(canary.mark): tally.own += 1
                    case 503: tally.unavailable += 1
                    default: tally.wrong.append("\(answer.status) \(answer.text)")
                    }
                }
                if answer.value("connection")?.lowercased() == "close" { wires[index] = nil }
            }
        }
    }
}
