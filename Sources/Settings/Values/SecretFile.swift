package import Vocabulary

/// The content of `secret_file`: one secret on each line.
///
/// The first one signs and seals, and all are accepted. The gateway ignores blank lines and lines that begin with `#`;
/// `sallyport keys` uses the latter to mark a secret that was added and not promoted yet.
package struct SecretFile: Sendable, Equatable {
    /// What is wrong with the content, in words that do not show it.
    package struct Fault: Error, Sendable, Hashable {
        /// E.g. `a secret of 12 bytes in line 3`.
        package let found: String
        package let mend: String
    }

    /// One secret and its state.
    package struct Entry: Sendable, Equatable {
        package var secret: Secret
        /// Accepted, but not used to make anything: it was added and is not promoted yet.
        package var isWaiting = false
    }

    /// The fewest bytes of a secret: the keys derived from it have 256 bits.
    package static let minBytes = 32
    /// The most secrets in one file, because each one is one more key to try and one more name to look up.
    package static let maxSecrets = 8
    /// The most bytes of a file.
    package static let maxBytes = 65_536
    /// The mark above a secret that waits for its promotion.
    package static let waitingMark = "# waiting: accepted, but nothing is made with it before `sallyport keys promote`"

    private static let preface =
        "# Secrets of Sallyport: the first one signs and seals, all are accepted. `sallyport keys` rotates them."
    private static let waitingPrefix = "# waiting"

    /// Never empty; the first one signs.
    package private(set) var entries: [Entry]

    /// A file of one secret.
    package init(_ secret: Secret) {
        self.entries = [Entry(secret: secret)]
    }

    /// Reads the content of a file.
    package init(_ bytes: [UInt8]) throws(Fault) {
        var entries: [Entry] = []
        var isWaiting = false
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let text = line.trimmingBlanks
            if text.isEmpty { continue }
            if text.first == UInt8(ascii: "#") {
                isWaiting = text.starts(with: Self.waitingPrefix.utf8)
                continue
            }
            guard text.count >= Self.minBytes else {
                throw Fault(
                    found: "a secret of \(text.count) bytes\(index == 0 ? "" : " in line \(index + 1)")",
                    mend: "write a longer one: sallyport keys make, or openssl rand -base64 48"
                )
            }
            let secret = Secret(Array(text))
            guard !entries.contains(where: { $0.secret == secret }) else {
                throw Fault(found: "a secret a second time in line \(index + 1)", mend: "remove one of them")
            }
            entries.append(Entry(secret: secret, isWaiting: isWaiting && !entries.isEmpty))
            isWaiting = false
        }
        guard !entries.isEmpty else {
            throw Fault(found: "no secret", mend: "make one: sallyport keys make, or openssl rand -base64 48")
        }
        guard entries.count <= Self.maxSecrets else {
            throw Fault(
                found: "\(entries.count) secrets",
                mend: "remove old ones: sallyport keys retire"
            )
        }
        self.entries = entries
    }

    /// The secrets in the form that the gateway uses.
    package var ring: SecretRing {
        SecretRing(current: self.entries[0].secret, accepted: self.entries.dropFirst().map(\.secret))
    }

    /// The content, which `init` reads as this value.
    package var bytes: [UInt8] {
        var bytes = Array("\(Self.preface)\n".utf8)
        for entry in self.entries {
            if entry.isWaiting { bytes += Array("\(Self.waitingMark)\n".utf8) }
            bytes += entry.secret.bytes + [0x0A]
        }
        return bytes
    }

    /// Adds a secret that waits. False, without a change, when there is no room or one waits already.
    package mutating func add(_ secret: Secret) -> Bool {
        guard self.entries.count < Self.maxSecrets, !self.entries.contains(where: \.isWaiting) else { return false }
        self.entries.append(Entry(secret: secret, isWaiting: true))
        return true
    }

    /// Makes the waiting secret the one that signs; the others stay accepted. False when none waits.
    package mutating func promote() -> Bool {
        guard let index = self.entries.firstIndex(where: \.isWaiting) else { return false }
        let promoted = self.entries.remove(at: index)
        self.entries.insert(Entry(secret: promoted.secret), at: 0)
        return true
    }

    /// Removes every secret that does not sign, and returns them.
    package mutating func retire() -> [Secret] {
        let dropped = self.entries.dropFirst().map(\.secret)
        self.entries = [self.entries[0]]
        return dropped
    }
}

extension ArraySlice<UInt8> {
    /// Without spaces, tabs and carriage returns at both ends, which editors may leave.
    fileprivate var trimmingBlanks: ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        var rest = self.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
