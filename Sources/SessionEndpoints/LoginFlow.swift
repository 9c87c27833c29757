import Cryptography
internal import Vocabulary

/// A native sign-in in progress. It is not stored: its id, a UUID of version 8 (RFC 9562 5.8), carries the time of issue
/// and an HMAC, so that any node can tell its own flows from made-up ones and from expired ones.
///
/// ```
/// byte   0  1  2  3 | 4  5  | 6          7 | 8           9 ... 15
///        issued, s  | nonce | 8 + 4 bits   | 0b10 + 6 bits      74 bits of HMAC-SHA-256(key, bytes 0...5)
/// ```
///
/// That is enough: anyone may ask for a flow, and having one proves nothing.
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

    /// The first issues; all recognise.
    private let keys: [HMACKey]
    private let clock: Clock

    /// - Parameters:
    ///   - current: The deployment's secret, from which a key of its own is derived.
    ///   - accepted: Its former secrets, whose flows are still recognised.
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
        guard let bytes = Self.bytes(id),
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
        return LoginFlow(id: Self.text(bytes), issuedAt: issuedAt, expiresAt: issuedAt.advanced(by: Self.lifetime))
    }

    /// The sixteen bytes that begin with these six.
    private static func sealed(_ head: [UInt8], _ key: HMACKey) -> [UInt8] {
        var bytes = head + key.sha256(head).bytes.prefix(10)
        bytes[6] = 0x80 | bytes[6] & 0x0F
        bytes[8] = 0x80 | bytes[8] & 0x3F
        return bytes
    }

    private static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// nil unless it is spelled as `text` spells it.
    private static func bytes(_ id: String) -> [UInt8]? {
        let digits = id.utf8.filter { $0 != UInt8(ascii: "-") }
        guard id.utf8.count == 36, digits.count == 32 else { return nil }
        let bytes = stride(from: 0, to: 32, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        return bytes.count == 16 && self.text(bytes) == id ? bytes : nil
    }
}
