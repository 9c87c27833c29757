internal import AddressIntelligence
internal import Cryptography
internal import Sessions
internal import Vocabulary

// The parts that several records share.

extension CompactWriter {
    mutating func write(_ time: UnixTime) { self.write(time.milliseconds) }

    /// Exact, as both parts that the standard library keeps.
    mutating func write(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.write(seconds)
        self.write(attoseconds)
    }

    mutating func write(_ key: RecordKey) {
        self.write(byte: key.kind == .session ? 1 : 2)
        self.write(key.lineage.tag)
        self.write(key.digest.base64URL)
    }

    mutating func write(_ device: DeviceFacts) {
        let bits = device.address.bits
        self.write(UInt64(truncatingIfNeeded: bits >> 64))
        self.write(UInt64(truncatingIfNeeded: bits))
        self.write(optional: device.asn) { $0.write(UInt64($1)) }
        self.write(optional: device.userAgent) { $0.write($1) }
    }
}

extension CompactReader {
    mutating func time() throws(CompactFormatError) -> UnixTime {
        UnixTime(milliseconds: try self.signed())
    }

    mutating func duration() throws(CompactFormatError) -> Duration {
        let seconds = try self.signed()
        return Duration(secondsComponent: seconds, attosecondsComponent: try self.signed())
    }

    mutating func key() throws(CompactFormatError) -> RecordKey {
        let kind: TokenKind
        switch try self.byte() {
        case 1: kind = .session
        case 2: kind = .transfer
        default: throw CompactFormatError()
        }
        let lineage = Lineage(tag: try self.text())
        guard let digest = Digest256(base64URL: Array(try self.text().utf8)[...]) else { throw CompactFormatError() }
        return RecordKey(kind: kind, lineage: lineage, digest: digest)
    }

    mutating func device() throws(CompactFormatError) -> DeviceFacts {
        let high = try self.unsigned()
        let address = IPAddress(v6High: high, v6Low: try self.unsigned())
        let asn = try self.optional { (reader) throws(CompactFormatError) in
            guard let asn = UInt32(exactly: try reader.unsigned()) else { throw CompactFormatError() }
            return asn
        }
        return DeviceFacts(
            address: address,
            asn: asn,
            userAgent: try self.optional { (reader) throws(CompactFormatError) in try reader.text() }
        )
    }

    mutating func texts() throws(CompactFormatError) -> [String] {
        try self.list { (reader) throws(CompactFormatError) in try reader.text() }
    }

    mutating func optionalText() throws(CompactFormatError) -> String? {
        try self.optional { (reader) throws(CompactFormatError) in try reader.text() }
    }
}
