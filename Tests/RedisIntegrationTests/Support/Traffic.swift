import Foundation
import GatewayBench
import RedisServers
import Synchronization
import TestSupport

/// Browsers that race for tokens without a pause at all gateways, whatever happens to gateways and to Redis.
final class Traffic: Sendable {
    let ledger = Ledger()
    private let fleet: Fleet
    /// Gateways of another region, which has nothing of the tokens.
    private let elsewhere: Fleet?
    private let isStopped = Mutex(false)
    private let running = Flag()
    private let done = Flag()
    /// Minted tokens that are not presented yet, with the time of their mint.
    private let held = Mutex<[(token: String, since: ContinuousClock.Instant)]>([])
    private let accepted = Mutex(0)

    /// The lifetime of tokens in tests that kill gateways and servers. It is short, so that tokens and their markers
    /// also expire during the test.
    static let lifetime = "3s"
    /// How long some tokens are held back, to be minted before a failover and presented after it, within their
    /// lifetime.
    private static let delay = Duration.seconds(2)

    /// Starts the threads. Each has two browsers at every gateway.
    ///
    /// - Parameter elsewhere: The gateways of another region, at which every token is presented as well.
    init(_ fleet: Fleet, threads: Int = 4, elsewhere: Fleet? = nil) {
        self.fleet = fleet
        self.elsewhere = elsewhere
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

    /// The number of accepted tokens so far.
    var acceptedCount: Int { self.accepted.withLock { $0 } }

    /// Waits until `count` more tokens are accepted, which shows that service is back.
    func waitUntilServed(_ count: Int = 20) async throws {
        let before = self.acceptedCount
        try await waitUntil("tokens are accepted") { self.acceptedCount >= before + count }
    }

    /// Stops the browsers and waits for the last answer.
    func stop() {
        self.isStopped.withLock { $0 = true }
        _ = eventually { self.done.count == self.running.count }
    }

    /// Presents the held tokens, and again all tokens that were presented before, at every gateway.
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

    /// Prints the result to the test's output.
    func report(_ what: String) {
        let totals = self.ledger.totals
        print(
            "report: \(what): \(totals.tokens) tokens, \(totals.accepted) accepted, \(totals.acceptedTwice) twice,",
            "\(totals.possible) perhaps in an answer that was lost, \(totals.refusedToAll) refused to all"
        )
    }

    private func consumers() -> [Consumer] {
        [self.fleet, self.elsewhere].compactMap { $0 }.flatMap { fleet in
            (0..<fleet.count * 2).map { number in Consumer { fleet[number % fleet.count].port } }
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

    /// Presents the token with all browsers at the same time. A browser that gets 503 repeats its attempt, for a while.
    private func race(for token: String, _ consumers: [Consumer]) {
        let presented = consumers.filter { $0.present(token) }
        for consumer in presented {
            var outcome = consumer.answer()
            var tries = 0
            while case .unavailable(let attempt) = outcome, tries < 20, !self.isStopped.withLock({ $0 }) {
                usleep(50_000)
                tries += 1
                let next = consumer.consume(token, attempt: attempt)
                // A try whose answer was lost may have been accepted.
                if next == .lost { self.ledger.note(.lost, of: token) }
                outcome = next == .unsent || next == .lost ? outcome : next
            }
            if case .signedIn = outcome { self.accepted.withLock { $0 += 1 } }
            self.ledger.note(outcome, of: token)
        }
    }
}
