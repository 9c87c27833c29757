extension UInt8 {
    /// True if the byte is an ASCII letter or digit.
    @inlinable package var isAlphanumeric: Bool { self &- 0x30 <= 9 || (self | 0x20) &- 0x61 < 26 }

    /// True if the byte needs no escape in a URL (RFC 3986 2.3 `unreserved`).
    @inlinable package var isUnreserved: Bool { self.isAlphanumeric || "-._~".utf8.contains(self) }
}
