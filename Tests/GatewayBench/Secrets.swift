import Foundation
import Synchronization

/// Everything secret that the gateway has issued to this suite; none of it may stand in what the gateway writes.
package final class Secrets: Sendable {
    /// Those of the whole run.
    package static let shared = Secrets()
    private let known = Mutex<Set<String>>(["analytical-engine", "compiler-a0"])

    /// How many are known.
    package var count: Int { self.known.withLock { $0.count } }

    /// Remembers every token of ours that stands in `bytes`.
    package func note(in bytes: [UInt8]) {
        guard bytes.count < 1 << 20, bytes.firstRange(of: Array("sp".utf8)) != nil else { return }
        for match in String(latin1: bytes).matches(of: /sp[a-z]_[A-Za-z0-9_-]{40,}/) {
            self.known.withLock { _ = $0.insert(String(match.0)) }
        }
    }

    /// Remembers this one.
    package func note(_ secret: String) {
        self.known.withLock { _ = $0.insert(secret) }
    }

    /// The secrets that stand in `text`, whole or by their random part.
    package func found(in text: String) -> [String] {
        let words = Set(
            text.matches(of: /[A-Za-z0-9_-]{40,}/).flatMap { match -> [String] in
                let word = String(match.0)
                return [word, String(word.suffix(43))]
            }
        )
        return self.known.withLock { known in
            known.filter { secret in
                secret.utf8.count < 40
                    ? text.contains(secret)
                    : words.contains(secret) || words.contains(String(secret.suffix(43)))
                        || words.contains { $0.utf8.count > 59 && $0.contains(secret) }
            }
        }
    }
}
