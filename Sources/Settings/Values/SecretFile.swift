package import Vocabulary

/// The content of `secret_file`: one secret on each line.
///
/// The first secret signs and seals, and all secrets are accepted. The gateway ignores blank lines and lines that begin
/// with `#`. `sallyport keys` writes a `#` line above a secret that was added and not yet promoted.
package struct SecretFile: Sendable, Equatable {
    /// The error in a file's content, described without the content.
    package struct Fault: Error, Sendable, Hashable {
        /// The error, such as `a secret of 12 bytes in line 3`.
        package let found: String
        package let fix: String
    }

    /// One secret and its state.
    package struct Entry: Sendable, Equatable {
        package var secret: Secret
        /// True if the secret was added and not yet promoted. It is accepted, but signs and seals nothing.
        package var isWaiting = false
    }

    /// The minimum length of a secret in bytes: the keys derived from it have 256 bits.
    package static let minBytes = 32
    /// The maximum number of secrets in a file. Each secret makes it slower to verify tokens and find records.
    package static let maxSecrets = 8
    /// The maximum size of a file in bytes.
    package static let maxBytes = 65_536
    /// The mark above a secret that waits for its promotion.
    package static let waitingMark = "# waiting: accepted, but nothing is made with it before `sallyport keys promote`"

    private static let preface =
        "# Secrets of Sallyport: the first one signs and seals, all are accepted. `sallyport keys` rotates them."
    private static let waitingPrefix = "# waiting"

    /// The secrets; never empty. The first secret signs.
    package private(set) var entries: [Entry]

    /// Creates a file with one secret.
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
                    fix: "write a longer one: sallyport keys make, or openssl rand -base64 48"
                )
            }
            let secret = Secret(Array(text))
            guard !entries.contains(where: { $0.secret == secret }) else {
                throw Fault(found: "a secret a second time in line \(index + 1)", fix: "remove one of them")
            }
            entries.append(Entry(secret: secret, isWaiting: isWaiting && !entries.isEmpty))
            isWaiting = false
        }
        guard !entries.isEmpty else {
            throw Fault(found: "no secret", fix: "make one: sallyport keys make, or openssl rand -base64 48")
        }
        guard entries.count <= Self.maxSecrets else {
            throw Fault(
                found: "\(entries.count) secrets",
                fix: "remove old ones: sallyport keys retire"
            )
        }
        self.entries = entries
    }

    /// The secrets as the gateway uses them: the first signs and seals, and all others are only accepted.
    package var ring: SecretRing {
        SecretRing(current: self.entries[0].secret, accepted: self.entries.dropFirst().map(\.secret))
    }

    /// The content of the file. `init(_:)` reads it as this value.
    package var bytes: [UInt8] {
        var bytes = Array("\(Self.preface)\n".utf8)
        for entry in self.entries {
            if entry.isWaiting { bytes += Array("\(Self.waitingMark)\n".utf8) }
            bytes += entry.secret.bytes + [0x0A]
        }
        return bytes
    }

    /// Adds a waiting secret. Returns false, without a change, if the file is full or a secret already waits.
    package mutating func add(_ secret: Secret) -> Bool {
        guard self.entries.count < Self.maxSecrets, !self.entries.contains(where: \.isWaiting) else { return false }
        self.entries.append(Entry(secret: secret, isWaiting: true))
        return true
    }

    /// Makes the waiting secret sign. All other secrets stay accepted. Returns false if no secret waits.
    package mutating func promote() -> Bool {
        guard let index = self.entries.firstIndex(where: \.isWaiting) else { return false }
        let promoted = self.entries.remove(at: index)
        self.entries.insert(Entry(secret: promoted.secret), at: 0)
        return true
    }

    /// Removes and returns all secrets that do not sign.
    package mutating func retire() -> [Secret] {
        let dropped = self.entries.dropFirst().map(\.secret)
        self.entries = [self.entries[0]]
        return dropped
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without spaces, tabs and carriage returns at both ends.
    fileprivate var trimmingBlanks: ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        var rest = self.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
