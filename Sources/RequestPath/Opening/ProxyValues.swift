/// The values (TLVs) that are kept from a version 2 header of the PROXY protocol. Clients can influence the values, so
/// they are not assumed to be text.
package struct ProxyValues: Equatable, Sendable {
    /// The name that the client requested in its TLS handshake.
    package private(set) var authority: [UInt8]?
    /// The proxy's id of the connection, at most 128 bytes.
    package private(set) var uniqueID: [UInt8]?
    /// Whether the client used TLS with the proxy.
    package private(set) var isTLS = false
    /// The AWS PrivateLink endpoint that the client used. `nil` if the proxy sent none.
    package private(set) var awsEndpoint: [UInt8]?
    /// The id of the client's connection by Google's Private Service Connect. `nil` if the proxy sent none.
    package private(set) var googleConnection: UInt64?
    /// The id of the client's link by Azure's Private Link. `nil` if the proxy sent none.
    package private(set) var azureLink: UInt32?

    package init() {}

    private enum Kind {
        static let authority: UInt8 = 0x02
        static let checksum: UInt8 = 0x03
        static let uniqueID: UInt8 = 0x05
        static let tls: UInt8 = 0x20
        static let google: UInt8 = 0xE0
        static let aws: UInt8 = 0xEA
        static let azure: UInt8 = 0xEE
    }

    /// Reads all values.
    ///
    /// - Parameters:
    ///   - header: The complete header, for its checksum.
    ///   - start: The offset of the values, which extend to the end of `header`.
    /// - Returns: `nil` if a value is cut off or invalid, or the checksum is wrong.
    init?(in header: UnsafeRawBufferPointer, from start: Int) {
        var hasChecksum = false
        let isWhole = Self.walk(header, from: start) { kind, value in
            guard kind == Kind.checksum else { return self.take(kind, header, value) }
            guard !hasChecksum, value.count == 4 else { return false }
            hasChecksum = true
            let expected = header[value].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            return CRC32C.checksum(of: header, zeroing: value) == expected
        }
        guard isWhole else { return nil }
    }

    /// Calls `body` with each value. Returns false if `body` returns false or a value is cut off.
    private static func walk(
        _ bytes: UnsafeRawBufferPointer,
        from start: Int,
        _ body: (_ kind: UInt8, _ value: Range<Int>) -> Bool
    ) -> Bool {
        var index = start
        while index < bytes.count {
            guard index + 3 <= bytes.count else { return false }
            let value = index + 3
            let end = value + (Int(bytes[index + 1]) << 8 | Int(bytes[index + 2]))
            guard end <= bytes.count, body(bytes[index], value..<end) else { return false }
            index = end
        }
        return true
    }

    /// Keeps a value of a known kind. Returns false if the value is invalid. Invalid cloud values are ignored instead.
    private mutating func take(_ kind: UInt8, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        let value = bytes[range]
        switch kind {
        case Kind.authority:
            guard value.count <= 255 else { return false }
            self.authority = Array(value)
        case Kind.uniqueID:
            guard value.count <= 128 else { return false }
            self.uniqueID = Array(value)
        case Kind.tls:
            // Flags and the verification result precede nested values.
            let tls = UnsafeRawBufferPointer(rebasing: value)
            guard tls.count >= 5, Self.walk(tls, from: 5, { _, _ in true }) else { return false }
            self.isTLS = tls[0] & 0x01 != 0
        case Kind.aws where value.first == 0x01 && (2...128).contains(value.count):
            let name = value.dropFirst()
            let isName = name.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == UInt8(ascii: "-") }
            if isName { self.awsEndpoint = Array(name) }
        case Kind.google where value.count == 8:
            self.googleConnection = value.reduce(0) { $0 << 8 | UInt64($1) }
        case Kind.azure where value.first == 0x01 && value.count == 5:
            self.azureLink = value.dropFirst().reversed().reduce(0) { $0 << 8 | UInt32($1) }
        default: break
        }
        return true
    }
}

/// The CRC-32C checksum, named after Castagnoli (RFC 9260, appendix A).
enum CRC32C {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0x82F6_3B78 }
    }

    /// - Parameter range: The bytes that are treated as zero.
    static func checksum(of bytes: UnsafeRawBufferPointer, zeroing range: Range<Int>) -> UInt32 {
        var value = UInt32.max
        for index in bytes.indices {
            let byte = range.contains(index) ? 0 : bytes[index]
            value = value >> 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: value) ^ byte)]
        }
        return ~value
    }
}
