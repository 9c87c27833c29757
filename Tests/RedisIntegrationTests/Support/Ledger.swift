import Synchronization

/// Records what all clients saw of every token.
final class Ledger: Sendable {
    private struct Entry {
        /// The sessions that were returned for the token.
        var sessions: Set<String> = []
        /// The number of answers that were lost.
        var lost = 0
        /// The number of clients that got 503 to their last try.
        var unresolved = 0
        var refused = 0
    }

    /// Sums over all tokens.
    struct Totals: Sendable, Equatable {
        var tokens = 0
        /// Tokens that signed at least one client in.
        var accepted = 0
        /// Tokens for which more than one session was returned.
        var acceptedTwice = 0
        /// Tokens that signed no client in, although every answer arrived and was final.
        var refusedToAll = 0
        /// Tokens that may have been accepted in an answer that was lost.
        var possible = 0
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// Records what one client saw.
    func note(_ outcome: Consumption, of token: String) {
        self.entries.withLock { entries in
            switch outcome {
            case .signedIn(let session): entries[token, default: Entry()].sessions.insert(session)
            case .refused: entries[token, default: Entry()].refused += 1
            case .unavailable: entries[token, default: Entry()].unresolved += 1
            case .lost: entries[token, default: Entry()].lost += 1
            case .unsent: break
            }
        }
    }

    /// All presented tokens.
    var tokens: [String] { self.entries.withLock { Array($0.keys) } }

    /// Up to `count` of the returned sessions.
    func sessions(_ count: Int) -> [String] {
        self.entries.withLock { Array($0.values.lazy.flatMap(\.sessions).prefix(count)) }
    }

    /// Tokens that signed no client in, although every answer arrived and was final.
    var refusedToAll: [String] {
        self.entries.withLock { entries in
            entries.filter { $0.value.sessions.isEmpty && $0.value.lost + $0.value.unresolved == 0 }.map(\.key)
        }
    }

    var totals: Totals {
        self.entries.withLock { entries in
            entries.values.reduce(into: Totals()) { totals, entry in
                totals.tokens += 1
                if !entry.sessions.isEmpty {
                    totals.accepted += 1
                } else if entry.lost + entry.unresolved > 0 {
                    totals.possible += 1
                } else {
                    totals.refusedToAll += 1
                }
                if entry.sessions.count > 1 { totals.acceptedTwice += 1 }
            }
        }
    }
}
