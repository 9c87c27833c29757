/// The two forms of an ECDSA signature: r followed by s at full length (RFC 7518 3.4), and OpenSSL's DER,
/// `SEQUENCE { INTEGER r, INTEGER s }` (RFC 3279 2.2.3).
enum ECDSASignature {
    private static let sequence: UInt8 = 0x30
    private static let integer: UInt8 = 0x02

    /// Converts `raw` to DER; `nil` unless it is twice as long as a coordinate.
    static func der(_ raw: ArraySlice<UInt8>, on curve: EllipticCurve) -> [UInt8]? {
        guard raw.count == 2 * curve.length else { return nil }
        let (r, s) = (Number(raw.prefix(curve.length)), Number(raw.suffix(curve.length)))
        let length = 2 + r.length + 2 + s.length
        var der: [UInt8] = []
        der.reserveCapacity(length + 3)
        der.append(Self.sequence)
        // DER writes lengths above 127 in two bytes. Only signatures of P-521 are that long.
        if length >= 0x80 { der.append(0x81) }
        der.append(UInt8(length))
        r.append(to: &der)
        s.append(to: &der)
        return der
    }

    /// One half of a signature as an INTEGER.
    private struct Number {
        private let digits: ArraySlice<UInt8>
        /// Whether a zero byte comes first, because a leading 1 bit would make the number negative.
        private let isPadded: Bool

        init(_ half: ArraySlice<UInt8>) {
            let digits = half.drop { $0 == 0 }
            self.digits = digits.isEmpty ? half.suffix(1) : digits
            self.isPadded = (digits.first ?? 0) >= 0x80
        }

        var length: Int { self.digits.count + (self.isPadded ? 1 : 0) }

        func append(to der: inout [UInt8]) {
            der.append(ECDSASignature.integer)
            der.append(UInt8(self.length))
            if self.isPadded { der.append(0) }
            der.append(contentsOf: self.digits)
        }
    }

    /// Converts a signature from OpenSSL's DER to the raw form; `nil` if it is not a signature.
    static func raw(_ der: ArraySlice<UInt8>, on curve: EllipticCurve) -> [UInt8]? {
        var rest = der
        guard rest.popFirst() == Self.sequence, let length = Self.length(&rest), length == rest.count else {
            return nil
        }
        var raw: [UInt8] = []
        for _ in 0..<2 {
            guard rest.popFirst() == Self.integer, let count = Self.length(&rest), count <= rest.count else {
                return nil
            }
            let digits = rest.prefix(count).drop { $0 == 0 }
            rest = rest.dropFirst(count)
            guard digits.count <= curve.length else { return nil }
            raw += [UInt8](repeating: 0, count: curve.length - digits.count) + digits
        }
        return rest.isEmpty ? raw : nil
    }

    private static func length(_ rest: inout ArraySlice<UInt8>) -> Int? {
        guard let first = rest.popFirst() else { return nil }
        if first < 0x80 { return Int(first) }
        return first == 0x81 ? rest.popFirst().map(Int.init) : nil
    }
}
