extension UInt8 {
    /// A letter or a digit of ASCII.
    @inlinable package var isAlphanumeric: Bool { self &- 0x30 <= 9 || (self | 0x20) &- 0x61 < 26 }

    /// Bytes that need no escape in a URL (RFC 3986 2.3 `unreserved`).
    @inlinable package var isUnreserved: Bool { self.isAlphanumeric || "-._~".utf8.contains(self) }
}
