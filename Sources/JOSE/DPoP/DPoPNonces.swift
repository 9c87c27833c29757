import Cryptography
import Synchronization
package import Vocabulary

/// The nonces that the gateway wants in proofs (RFC 9449 8 and 9). They are made and checked without a store: a nonce is
/// the number of a span of time and the HMAC of that number.
///
/// There is one family for all hosts, endpoints and gateways, because clients keep one nonce for all of them. Within a
/// window everybody gets the same nonce: it shows that a proof is not older than the window, and the proof's `jti` that
/// it is used once.
///
/// Form: base64url of `keyID(1) window(4) code(16)`, 28 characters.
package final class DPoPNonces: Sendable {
    /// What a nonce in a proof is worth.
    package enum Reading: Sendable, Hashable {
        /// That of the present window, accepted before `end`.
        case current(end: UnixTime)
        /// Of an earlier window or secret: accepted before `end`, and the answer should bring the present one.
        case aging(end: UnixTime)
        /// Not ours, of another epoch, or too old.
        case unusable
    }

    /// How long one nonce is given out.
    package static let window = Duration.seconds(60)
    /// The windows before the present one whose nonces are accepted: five minutes in all, so that a client that calls
    /// every few minutes is not sent back each time.
    package static let earlierWindows: Int64 = 4

    private static let seconds = DPoPNonces.window.components.seconds
    private static let codeLength = 16
    private static let length = 28

    /// The values derived from one secret.
    private struct Key: Sendable {
        /// Tells which secret a nonce is of; not unique.
        let id: UInt8
        let hmac: HMACKey

        init(_ secret: Secret) {
            let derived = HKDF(secret: secret.bytes).bytes(for: "sallyport dpop nonce 1", count: 33)
            self.id = derived[32]
            self.hmac = HMACKey(Array(derived[..<32]))
        }

        func nonce(of window: Int64, epoch: UInt64) -> [UInt8] {
            var message: [UInt8] = []
            message.reserveCapacity(16)
            Self.append(UInt64(bitPattern: window), to: &message)
            Self.append(epoch, to: &message)
            let number = UInt32(truncatingIfNeeded: window)
            let code = self.hmac.sha256(message).withUnsafeBytes { Array($0.prefix(DPoPNonces.codeLength)) }
            return [self.id] + (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } + code
        }

        private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
    }

    private struct Made: Sendable {
        let window: Int64
        let epoch: UInt64
        let text: String
    }

    /// The first makes nonces; all are accepted.
    private let keys: [Key]
    private let last = Mutex<Made?>(nil)

    package init(_ secrets: SecretRing) {
        self.keys = secrets.all.map(Key.init)
    }

    /// The nonce that is given out now. It is computed once a window.
    ///
    /// - Parameter epoch: Another number ends all nonces before it: for a failover after which the store may have
    ///   forgotten the ids of proofs. It must be the same on all gateways. Proofs without a nonce do not depend on it:
    ///   for `DPoPJudge.greatestAge` after such a failover the caller requires one.
    package func current(at now: UnixTime, epoch: UInt64) -> String {
        let window = Self.window(at: now)
        if let last = self.lastMade(of: window, epoch) { return last }
        let text = Base64URL.encode(self.keys[0].nonce(of: window, epoch: epoch))
        _ = self.last.withLockIfAvailable { $0 = Made(window: window, epoch: epoch, text: text) }
        return text
    }

    /// The nonce of the present window, if it was made before.
    private func lastMade(of window: Int64, _ epoch: UInt64) -> String? {
        // A thread never waits for another here: it would rather compute the code once more.
        guard let last = self.last.withLockIfAvailable({ $0 }) ?? nil, last.window == window, last.epoch == epoch else {
            return nil
        }
        return last.text
    }

    /// Reads the nonce of a proof. What cannot be ours by its form costs no HMAC, nor does the one that is given out now:
    /// every client has it, so it is no secret.
    package func read(_ nonce: String, at now: UnixTime, epoch: UInt64) -> Reading {
        let present = Self.window(at: now)
        if let last = self.lastMade(of: present, epoch), nonce.utf8.elementsEqual(last.utf8) {
            return .current(end: Self.end(of: present))
        }
        guard nonce.utf8.count == Self.length, let bytes = Base64URL.decode(nonce) else { return .unusable }
        let number = bytes[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        // The clock of the gateway that made it may be ahead of this one.
        let age = Int64(Int32(bitPattern: UInt32(truncatingIfNeeded: present) &- number))
        guard (-1...Self.earlierWindows).contains(age) else { return .unusable }
        let window = present - age
        let key = self.keys.firstIndex { key in
            key.id == bytes[0] && constantTimeEqual(key.nonce(of: window, epoch: epoch), bytes)
        }
        guard let key else { return .unusable }
        let end = Self.end(of: window)
        return age <= 0 && key == 0 ? .current(end: end) : .aging(end: end)
    }

    private static func window(at now: UnixTime) -> Int64 { now.seconds / Self.seconds }

    /// Until when the nonce of a window is accepted.
    private static func end(of window: Int64) -> UnixTime {
        UnixTime(seconds: (window + Self.earlierWindows + 1) * Self.seconds)
    }
}
