import Cryptography
import Synchronization
package import Vocabulary

/// The nonces that the gateway requests in proofs (RFC 9449 8 and 9). The gateway makes and checks them without a
/// store: a nonce contains the number of a time window and an HMAC of this number and the epoch.
///
/// Within a window all hosts, endpoints, gateways and clients use one nonce, because a client keeps a single nonce for
/// all of them. The nonce shows that a proof is not older than the window, and the `jti` shows that the proof is new.
///
/// Form: base64url of `keyID(1) window(4) code(16)`, 28 characters.
package final class DPoPNonces: Sendable {
    /// The result of checking the nonce of a proof.
    package enum Reading: Sendable, Hashable {
        /// The nonce is from the current window, and accepted before `end`.
        case current(end: UnixTime)
        /// A nonce from an earlier window or secret. Accepted before `end`; the answer should have the current nonce.
        case aging(end: UnixTime)
        /// The nonce is too old, from another epoch, or not from this deployment.
        case unusable
    }

    /// The time for which one nonce is issued.
    package static let window = Duration.seconds(60)
    /// The number of earlier windows whose nonces are accepted. A nonce is therefore valid for up to five minutes, so
    /// that clients that send a request every few minutes need not retry each time.
    package static let earlierWindows: Int64 = 4

    private static let seconds = DPoPNonces.window.components.seconds
    private static let codeLength = 16
    private static let length = 28

    private struct Key: Sendable {
        /// Identifies the secret of a nonce; not unique.
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

    /// Returns the nonce that is issued now. It is computed once per window.
    ///
    /// - Parameter epoch: A number that all gateways share. A new number invalidates all earlier nonces after a
    ///   failover in which the store may have lost the ids of proofs. It does not invalidate proofs without a nonce.
    ///   Until they have expired (`DPoPJudge.greatestAge` and `greatestLead`), the caller requires a nonce.
    package func current(at now: UnixTime, epoch: UInt64) -> String {
        let window = Self.window(at: now)
        if let last = self.lastMade(of: window, epoch) { return last }
        let text = Base64URL.encode(self.keys[0].nonce(of: window, epoch: epoch))
        _ = self.last.withLockIfAvailable { $0 = Made(window: window, epoch: epoch, text: text) }
        return text
    }

    /// Returns the nonce of this window and epoch, if it was made before.
    private func lastMade(of window: Int64, _ epoch: UInt64) -> String? {
        // Threads never wait for each other here: computing the code again is cheaper.
        guard let last = self.last.withLockIfAvailable({ $0 }) ?? nil, last.window == window, last.epoch == epoch else {
            return nil
        }
        return last.text
    }

    /// Checks the nonce of a proof. A malformed nonce costs no HMAC. Neither does the current nonce, which is compared
    /// as text: every client has it, so it is not secret.
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
