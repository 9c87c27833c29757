import Foundation
import GatewayBench
import RedisServers
import Synchronization

/// Browsers that race for tokens without a pause, over all gateways, whatever happens to those and to Redis.
final class Traffic: Sendable {
    let ledger = Ledger()
    private let fleet: Fleet
    private let isStopped = Mutex(false)
    private let running = Flag()
    private let done = Flag()
    /// Tokens that were minted, when, and that nobody has presented.
    private let held = Mutex<[(token: String, since: ContinuousClock.Instant)]>([])
    private let accepted = Mutex(0)

    /// How long tokens live where gateways and servers are killed, so that they, and what is remembered of them, come to
    /// their end meanwhile, too.
    static let lifetime = "3s"
    /// How long some tokens are held back: from before a failover until after it, and not past their lifetime.
    private static let delay = Duration.seconds(2)

    /// Begins with so many threads, each with two browsers at every gateway.
    init(_ fleet: Fleet, threads: Int = 4) {
        self.fleet = fleet
        for number in 0..<threads {
            self.running.raise()
            let thread = Thread { [self] in
                self.race(Minter(fleet, network: number))
                self.done.raise()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    /// How many tokens were accepted so far.
    var acceptedCount: Int { self.accepted.withLock { $0 } }

    /// Waits until so many more are accepted: all is well again.
    func waitUntilServed(_ count: Int = 20) async throws {
        let before = self.acceptedCount
        try await waitUntil("tokens are accepted", within: .seconds(30)) { self.acceptedCount >= before + count }
    }

    /// Ends it and waits for the last answer.
    func stop() {
        self.isStopped.withLock { $0 = true }
        _ = eventually(within: 60) { self.done.count == self.running.count }
    }

    /// Presents tokens that were held back, and those that were presented before, once more: to every gateway.
    func replay() {
        let tokens = self.held.withLock { held in
            defer { held = [] }
            return held
        }
        let consumers = self.consumers()
        for token in tokens.map(\.token) + self.ledger.tokens { self.race(for: token, consumers) }
    }

    /// A token that was held back for long enough.
    private func takeHeld() -> String? {
        self.held.withLock { held in
            guard let first = held.first, .now - first.since > Self.delay else { return nil }
            return held.removeFirst().token
        }
    }

    /// Says in the test's output how it went.
    func report(_ what: String) {
        let totals = self.ledger.totals
        print(
            "report: \(what): \(totals.tokens) tokens, \(totals.accepted) accepted, \(totals.acceptedTwice) twice,",
            "\(totals.possible) perhaps in an answer that was lost, \(totals.refusedToAll) refused to all"
        )
    }

    private func consumers() -> [Consumer] {
        (0..<self.fleet.count * 2).map { number in
            Consumer { [fleet] in fleet[number % fleet.count].port }
        }
    }

    private func race(_ minter: Minter) {
        let consumers = self.consumers()
        var count = 0
        while !self.isStopped.withLock({ $0 }) {
            guard let token = try? minter.mint() else {
                usleep(5000)
                continue
            }
            count += 1
            if count.isMultiple(of: 8) {
                self.held.withLock { $0.append((token, .now)) }
            } else {
                self.race(for: token, consumers)
            }
            if let token = self.takeHeld() { self.race(for: token, consumers) }
        }
    }

    /// All present it at the same time; who is told to try again does, as the same attempt, for a while.
    private func race(for token: String, _ consumers: [Consumer]) {
        let presented = consumers.filter { $0.present(token) }
        for consumer in presented {
            var outcome = consumer.answer()
            var tries = 0
            while case .unavailable(let attempt) = outcome, tries < 20, !self.isStopped.withLock({ $0 }) {
                usleep(50_000)
                tries += 1
                let next = consumer.consume(token, attempt: attempt)
                // A try whose answer is lost may have been the one.
                if next == .lost { self.ledger.note(.lost, of: token) }
                outcome = next == .unsent || next == .lost ? outcome : next
            }
            if case .signedIn = outcome { self.accepted.withLock { $0 += 1 } }
            self.ledger.note(outcome, of: token)
        }
    }
}
