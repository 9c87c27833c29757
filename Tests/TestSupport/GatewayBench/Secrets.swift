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
        // Not searched under the lock, for which the servers of other tests would wait.
        let patterns = SecretPatterns(self.known.withLock { $0 })
        var text = text
        return text.withUTF8 { patterns.found(in: UnsafeRawBufferPointer($0)) }
    }
}

/// What is searched for. It looks at each place of a text once, because tests log many megabytes and know thousands of
/// secrets.
private struct SecretPatterns {
    /// How many bytes of a pattern decide whether it is compared.
    private static let width = 8
    /// The random part of the gateway's tokens, and what is searched for of any longer secret.
    private static let longest = 43

    private struct Pattern {
        let secret: String
        let bytes: [UInt8]
    }

    /// Those that are shorter than `width`: a few, made up by tests.
    private var short: [Pattern] = []
    /// The others, by their first bytes.
    private var patterns: [UInt64: [Pattern]] = [:]
    /// Whether first bytes of this hash exist.
    private var mayExist = [Bool](repeating: false, count: 1 << 16)

    init(_ secrets: Set<String>) {
        for secret in secrets {
            let bytes = Array(secret.utf8.suffix(Self.longest))
            guard bytes.count >= Self.width else {
                self.short.append(Pattern(secret: secret, bytes: bytes))
                continue
            }
            let start = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
            self.mayExist[Self.hash(start)] = true
            self.patterns[start, default: []].append(Pattern(secret: secret, bytes: bytes))
        }
    }

    private static func hash(_ start: UInt64) -> Int { Int((start &* 0x9E37_79B9_7F4A_7C15) >> 48) }

    func found(in text: UnsafeRawBufferPointer) -> [String] {
        var found = self.short.filter { pattern in
            text.indices.contains { text[$0] == pattern.bytes.first && text[$0...].starts(with: pattern.bytes) }
        }.map(\.secret)
        guard text.count >= Self.width else { return found }
        for place in 0...(text.count - Self.width) {
            let start = text.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            guard self.mayExist[Self.hash(start)], let candidates = self.patterns[start] else { continue }
            let rest = UnsafeRawBufferPointer(rebasing: text[place...])
            found += candidates.filter { rest.starts(with: $0.bytes) }.map(\.secret)
        }
        return found
    }
}
