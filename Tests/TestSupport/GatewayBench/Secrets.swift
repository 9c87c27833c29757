import Foundation
import Synchronization

/// All secrets that gateways have issued to this test run. None of them may appear in a gateway's output.
package final class Secrets: Sendable {
    /// The secrets of the whole run.
    package static let shared = Secrets()
    private let known = Mutex<Set<String>>(["analytical-engine", "compiler-a0"])

    /// The number of known secrets.
    package var count: Int { self.known.withLock { $0.count } }

    /// Remembers every token of the gateway's that appears in `bytes`.
    package func note(in bytes: [UInt8]) {
        guard bytes.count < 1 << 20 else { return }
        for word in Self.words(in: bytes) {
            // A token begins with `sps_`, `spt_` or similar; bytes before that are not part of it.
            let start = word.indices.first { index in
                word[index...].starts(with: [0x73, 0x70]) && index + 3 < word.endIndex && word[index + 3] == 0x5F
            }
            if let start, word.endIndex - start >= 44 {
                self.known.withLock { _ = $0.insert(String(decoding: word[start...], as: UTF8.self)) }
            }
        }
    }

    /// Runs of at least 40 characters of the token alphabet. Written by hand because tests log many megabytes.
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

    /// Remembers this secret.
    package func note(_ secret: String) {
        self.known.withLock { _ = $0.insert(secret) }
    }

    /// The known secrets that appear in `text`, complete or only by their random part.
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
