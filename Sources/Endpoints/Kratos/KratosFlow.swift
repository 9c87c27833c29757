import Cryptography
import SignOn
import Vocabulary

/// A native sign-in in progress. Its id, a UUID of version 8 (RFC 9562 5.8), contains the time of issue and an HMAC.
/// From the id alone, any node knows whether the gateway issued the flow, and when.
///
/// ```
/// byte   0  1  2  3 | 4  5 | 6          7 | 8             9 | 10 ... 15
///        issued, s  |  nonce, without the bits of version and variant | 48 bits of HMAC-SHA-256(key, bytes 0...9)
/// ```
///
/// The last bit of byte 5 is set if state is stored under the id (`KeptFlow`). An id proves nothing, because any client
/// may request a flow.
struct KratosFlow: Sendable, Equatable {
    let kind: KeptFlow.Kind
    let id: String
    let isKept: Bool
    let issuedAt: UnixTime
    let expiresAt: UnixTime

    func isExpired(at now: UnixTime) -> Bool { now >= self.expiresAt }
}

/// Issues and recognises flows of one kind.
struct KratosFlows: Sendable {
    /// The lifetime of a flow without stored state. It is Kratos's default.
    private static let lifetime: Duration = .seconds(3600)
    /// The maximum time by which another node's clock may be ahead.
    private static let skew: Duration = .seconds(300)

    private let kind: KeptFlow.Kind
    /// The keys that recognise flows. The first key also issues flows.
    private let keys: [HMACKey]
    private let clock: Clock

    /// - Parameters:
    ///   - current: The deployment's secret. A separate key is derived from it.
    ///   - accepted: Former secrets of the deployment. Their flows are still recognised.
    init(_ kind: KeptFlow.Kind, current: Secret, accepted: [Secret], clock: Clock) {
        self.kind = kind
        self.keys = ([current] + accepted).map {
            HMACKey(HKDF(secret: $0.bytes).bytes(for: "sallyport \(kind.rawValue) flow", count: 32))
        }
        self.clock = clock
    }

    /// Issues a flow.
    ///
    /// - Parameter isKept: Whether state will be stored under the flow's id.
    func issue(isKept: Bool = false) -> KratosFlow {
        let seconds = UInt32(truncatingIfNeeded: self.clock.now().seconds)
        let time = (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * UInt32($0))) }
        var nonce = Random.bytes(6)
        nonce[1] = nonce[1] & 0xFE | (isKept ? 1 : 0)
        return self.flow(issued: seconds, bytes: Self.sealed(time + nonce, self.keys[0]))
    }

    /// Returns the flow with this id, expired or not. `nil` if the gateway did not issue the id, or if its time is in
    /// the future by more than `skew`.
    func recognise(_ id: String) -> KratosFlow? {
        // Only the issued spelling of the id is accepted.
        guard let bytes = UUIDText.bytes(id), UUIDText.text(bytes) == id,
            self.keys.contains(where: { constantTimeEqual(Self.sealed(Array(bytes.prefix(10)), $0), bytes) })
        else { return nil }
        let seconds = bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let flow = self.flow(issued: seconds, bytes: bytes)
        return flow.issuedAt > self.clock.now().advanced(by: Self.skew) ? nil : flow
    }

    private func flow(issued seconds: UInt32, bytes: [UInt8]) -> KratosFlow {
        let issuedAt = UnixTime(seconds: Int64(seconds))
        return KratosFlow(
            kind: self.kind,
            id: UUIDText.text(bytes),
            isKept: bytes[5] & 1 == 1,
            issuedAt: issuedAt,
            expiresAt: issuedAt.advanced(by: Self.lifetime)
        )
    }

    /// Returns the ten bytes of `head`, with the bits of version and variant set, and six bytes of their HMAC.
    private static func sealed(_ head: [UInt8], _ key: HMACKey) -> [UInt8] {
        var bytes = head
        UUIDText.stamp(&bytes)
        return bytes + key.sha256(bytes).bytes.prefix(6)
    }
}
