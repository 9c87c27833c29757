import Cryptography
import Synchronization
package import Vocabulary

/// The nonces that the gateway requests in proofs (RFC 9449 8 and 9). No store is needed: a nonce contains the number
/// of a time window, and an HMAC of this number and an epoch (`current`).
///
/// All hosts, gateways and clients share the nonce of a window, because a client keeps a single nonce. The nonce limits
/// the age of a proof, and `jti` prevents replays.
///
/// Form: base64url of `keyID(1) window(4) code(16)`, 28 characters.
package final class DPoPNonces: Sendable {
    /// The result of checking the nonce of a proof.
    package enum Reading: Sendable, Hashable {
        /// The nonce is from the current or the next window and the current secret, and accepted before `end`.
        case current(end: UnixTime)
        /// The nonce is from an earlier window or secret, and accepted before `end`. The answer should have the current
        /// nonce.
        case aging(end: UnixTime)
        /// The nonce is too old, from another epoch, or not from this deployment.
        case unusable
    }

    /// The time for which one nonce is issued.
    package static let window = Duration.seconds(60)
    /// The number of earlier windows whose nonces are accepted. A nonce is therefore valid for up to five minutes.
    package static let earlierWindows: Int64 = 4

    private static let seconds = DPoPNonces.window.components.seconds
    private static let codeLength = 16
    private static let length = 28

    private struct Key: Sendable {
        /// Identifies the key that made a nonce. Two keys may have equal ids.
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

    /// The keys. The first makes nonces; nonces of all keys are accepted.
    private let keys: [Key]
    private let last = Mutex<Made?>(nil)

    package init(_ secrets: SecretRing) {
        self.keys = secrets.all.map(Key.init)
    }

    /// Returns the nonce that is issued now.
    ///
    /// - Parameter epoch: A number that all gateways share. It changes when the store may have lost the ids of proofs.
    ///   Nonces of earlier epochs are invalid.
    package func current(at now: UnixTime, epoch: UInt64) -> String {
        let window = Self.window(at: now)
        if let last = self.lastMade(of: window, epoch) { return last }
        let text = Base64URL.encode(self.keys[0].nonce(of: window, epoch: epoch))
        _ = self.last.withLockIfAvailable { $0 = Made(window: window, epoch: epoch, text: text) }
        return text
    }

    /// Returns the last nonce that was made; `nil` unless it is for this window and epoch.
    private func lastMade(of window: Int64, _ epoch: UInt64) -> String? {
        // If the lock is taken, the nonce is computed again: this costs less than waiting.
        guard let last = self.last.withLockIfAvailable({ $0 }) ?? nil, last.window == window, last.epoch == epoch else {
            return nil
        }
        return last.text
    }

    /// Checks the nonce of a proof. The current nonce is compared as text, without constant time: every client has it,
    /// so it is not secret.
    package func read(_ nonce: String, at now: UnixTime, epoch: UInt64) -> Reading {
        let present = Self.window(at: now)
        if let last = self.lastMade(of: present, epoch), nonce.utf8.elementsEqual(last.utf8) {
            return .current(end: Self.end(of: present))
        }
        guard nonce.utf8.count == Self.length, let bytes = Base64URL.decode(nonce) else { return .unusable }
        let number = bytes[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        // The clock of the gateway that made the nonce may be ahead.
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

    /// Returns the time at which the nonce of a window expires.
    private static func end(of window: Int64) -> UnixTime {
        UnixTime(seconds: (window + Self.earlierWindows + 1) * Self.seconds)
    }
}
