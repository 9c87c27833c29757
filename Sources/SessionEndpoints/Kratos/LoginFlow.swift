import Cryptography
internal import Vocabulary

/// A native sign-in in progress. It is not stored: its id, a UUID of version 8 (RFC 9562 5.8), contains the time of
/// issue and an HMAC, so that any node can distinguish its own flows from invented and expired ones.
///
/// ```
/// byte   0  1  2  3 | 4  5  | 6          7 | 8           9 ... 15
///        issued, s  | nonce | 8 + 4 bits   | 0b10 + 6 bits      74 bits of HMAC-SHA-256(key, bytes 0...5)
/// ```
///
/// That is sufficient: any client may request a flow, and having one proves nothing.
struct LoginFlow: Sendable, Equatable {
    let id: String
    let issuedAt: UnixTime
    let expiresAt: UnixTime
}

/// Issues and recognises login flows.
struct LoginFlows: Sendable {
    enum Recognition: Sendable, Equatable {
        case live(LoginFlow)
        case expired(LoginFlow)
        case unknown
    }

    /// Kratos's default.
    private static let lifetime: Duration = .seconds(3600)
    /// How far another node's clock may be ahead.
    private static let skew: Duration = .seconds(300)

    /// The first issues flows; all recognise them.
    private let keys: [HMACKey]
    private let clock: Clock

    /// - Parameters:
    ///   - current: The deployment's secret, from which a separate key is derived.
    ///   - accepted: Former secrets of the deployment, whose flows are still recognised.
    init(current: Secret, accepted: [Secret], clock: Clock) {
        self.keys = ([current] + accepted).map {
            HMACKey(HKDF.sha256(secret: $0.bytes, salt: [], info: "sallyport login flow", count: 32))
        }
        self.clock = clock
    }

    func issue() -> LoginFlow {
        let seconds = UInt32(truncatingIfNeeded: self.clock.now().seconds)
        let time = (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * UInt32($0))) }
        return self.flow(issued: seconds, bytes: Self.sealed(time + Random.bytes(2), self.keys[0]))
    }

    func recognise(_ id: String) -> Recognition {
        // Only the spelling in which it was issued is accepted.
        guard let bytes = UUIDText.bytes(id), UUIDText.text(bytes) == id,
            self.keys.contains(where: { constantTimeEqual(Self.sealed(Array(bytes.prefix(6)), $0), bytes) })
        else { return .unknown }
        let seconds = bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let flow = self.flow(issued: seconds, bytes: bytes)
        let now = self.clock.now()
        if flow.issuedAt > now.advanced(by: Self.skew) { return .unknown }
        return flow.expiresAt > now ? .live(flow) : .expired(flow)
    }

    private func flow(issued seconds: UInt32, bytes: [UInt8]) -> LoginFlow {
        let issuedAt = UnixTime(seconds: Int64(seconds))
        return LoginFlow(id: UUIDText.text(bytes), issuedAt: issuedAt, expiresAt: issuedAt.advanced(by: Self.lifetime))
    }

    /// The sixteen bytes that begin with these six.
    private static func sealed(_ head: [UInt8], _ key: HMACKey) -> [UInt8] {
        var bytes = head + key.sha256(head).bytes.prefix(10)
        UUIDText.stamp(&bytes)
        return bytes
    }
}
