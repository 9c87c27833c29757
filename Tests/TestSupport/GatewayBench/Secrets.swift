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
        guard bytes.count < 1 << 20 else { return }
        for word in Self.words(in: bytes) {
            // sps_, spt_ and their like; what stands before it is no part of it.
            let start = word.indices.first { index in
                word[index...].starts(with: [0x73, 0x70]) && index + 3 < word.endIndex && word[index + 3] == 0x5F
            }
            if let start, word.endIndex - start >= 44 {
                self.known.withLock { _ = $0.insert(String(decoding: word[start...], as: UTF8.self)) }
            }
        }
    }

    /// Runs of at least 40 of the characters that tokens are made of. By hand, since tests log many megabytes.
    private static func words(in bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var words: [ArraySlice<UInt8>] = []
        var start = 0
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: continue
            default:
                if index - start >= 40 { words.append(bytes[start..<index]) }
                start = index + 1
            }
        }
        if bytes.count - start >= 40 { words.append(bytes[start...]) }
        return words
    }

    /// Remembers this one.
    package func note(_ secret: String) {
        self.known.withLock { _ = $0.insert(secret) }
    }

    /// The secrets that stand in `text`, whole or by their random part.
    package func found(in text: String) -> [String] {
        var words: Set<String> = []
        for word in Self.words(in: Array(text.utf8)) {
            words.insert(String(decoding: word, as: UTF8.self))
            words.insert(String(decoding: word.suffix(43), as: UTF8.self))
        }
        let longWords = words.filter { $0.utf8.count > 59 }
        return self.known.withLock { known in
            known.filter { secret in
                secret.utf8.count < 40
                    ? text.contains(secret)
                    : words.contains(secret) || words.contains(String(secret.suffix(43)))
                        || longWords.contains { $0.contains(secret) }
            }
        }
    }
}
