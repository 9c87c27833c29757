import Foundation
import GatewayBench
import RedisServers
import Synchronization
import TestSupport

/// Signs sessions out at a steady rate at all gateways, whatever happens to Redis, and checks that acknowledged
/// sign-outs last.
final class SignOuts: Sendable {
    /// A sign-out that was acknowledged to its client.
    private struct Done: Sendable {
        let cookie: String
        let gateway: Int
    }

    private struct State {
        /// Sessions that have not ended yet, by the index of the gateway that is to end them.
        var waiting: [[String]]
        var done: [Done] = []
        var refused = 0
        var isStopped = false
    }

    private let fleet: Fleet
    private let pause: useconds_t
    private let state: Mutex<State>
    private let running = Flag()
    private let ended = Flag()

    /// - Parameters:
    ///     - sessions: Cookies of live sessions; they are ended in turn.
    ///     - rate: Sign-outs per second at all gateways together.
    init(_ fleet: Fleet, sessions: [String], rate: Int) {
        self.fleet = fleet
        self.pause = useconds_t(1_000_000 * fleet.count / rate)
        var waiting = [[String]](repeating: [], count: fleet.count)
        for (index, session) in sessions.enumerated() { waiting[index % fleet.count].append(session) }
        self.state = Mutex(State(waiting: waiting))
        for index in 0..<fleet.count {
            self.running.raise()
            let thread = Thread { [self] in
                self.run(index)
                self.ended.raise()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    /// Cookies of `count` new sessions. Most come from a handoff and end alone, the others end with their family.
    static func sessions(_ count: Int, of fleet: Fleet, _ minter: Minter) throws -> [String] {
        let consumer = Consumer { fleet[0].port }
        return try (0..<count).map { number in
            try patiently {
                if number % 40 == 0 {
                    let address = "127.3.\(number / 200 % 250).\(number % 200 + 1)"
                    return try fleet[0].browser(.grace, from: address)
                }
                guard case .signedIn(let cookie) = consumer.complete(try minter.mint()) else {
                    throw BenchFailure("no session of a transfer token")
                }
                return cookie
            }
        }
    }

    /// The number of acknowledged sign-outs so far.
    var doneCount: Int { self.state.withLock { $0.done.count } }

    /// Waits until `count` more are acknowledged.
    func waitUntilDone(_ count: Int) async throws {
        let before = self.doneCount
        try await waitUntil("sign-outs are acknowledged") { self.doneCount >= before + count }
    }

    /// Stops signing out and waits for the last answer.
    func stop() {
        self.state.withLock { $0.isStopped = true }
        _ = eventually { self.ended.count == self.running.count }
    }

    /// How many of the acknowledged sessions live, at the gateway that acknowledged the end or, if `elsewhere`, at
    /// another.
    func revived(elsewhere: Bool) -> Int {
        self.state.withLock(\.done).count { done in
            let gateway = self.fleet[elsewhere ? (done.gateway + 1) % self.fleet.count : done.gateway]
            var status = 0
            // 503 proves neither.
            _ = eventually {
                status = (try? gateway.get("/", ["Cookie: sallyport=\(done.cookie)"]).status) ?? 0
                return [200, 401].contains(status)
            }
            return status != 401
        }
    }

    /// Prints the result to the test's output.
    func report(_ what: String) {
        let (done, refused) = self.state.withLock { ($0.done.count, $0.refused) }
        print("report: \(what): \(done) sign-outs acknowledged, \(refused) answered with 503 or not at all")
    }

    /// Signs out one session after the other. A session whose sign-out fails is tried again later, as browsers do.
    private func run(_ index: Int) {
        while let cookie = self.next(index) {
            let began = ContinuousClock.now
            let isDone = (try? self.fleet[index].signOut(cookie).status) == 303
            self.state.withLock { state in
                if isDone {
                    state.done.append(Done(cookie: cookie, gateway: index))
                } else {
                    state.refused += 1
                    state.waiting[index].insert(cookie, at: state.waiting[index].count / 2)
                }
            }
            let left = Int(self.pause) - Int((ContinuousClock.now - began) / .microseconds(1))
            if left > 0 { usleep(useconds_t(left)) }
        }
    }

    private func next(_ index: Int) -> String? {
        self.state.withLock { $0.isStopped ? nil : $0.waiting[index].popLast() }
    }
}
