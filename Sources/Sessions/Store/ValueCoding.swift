import AddressIntelligence
package import Cryptography
package import Vocabulary

// The formats of values in several kinds of record.

extension CompactWriter {
    /// Writes a time as milliseconds since 1970.
    package mutating func write(_ time: UnixTime) { self.write(time.milliseconds) }

    /// Writes a duration exactly, as its seconds and attoseconds.
    package mutating func write(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.write(seconds)
        self.write(attoseconds)
    }

    /// Writes the kind in one byte (1 for sessions, 2 for transfer tokens, otherwise the letter), the lineage's tag,
    /// and the digest.
    package mutating func write(_ key: RecordKey) {
        switch key.kind {
        case .session: self.write(byte: 1)
        case .transfer: self.write(byte: 2)
        default: self.write(byte: key.kind.letter)
        }
        self.write(key.lineage.tag)
        self.write(key.digest.base64URL)
    }

    /// Writes the address in 128 bits, the ASN, and the user agent.
    package mutating func write(_ device: DeviceFacts) {
        let bits = device.address.bits
        self.write(UInt64(truncatingIfNeeded: bits >> 64))
        self.write(UInt64(truncatingIfNeeded: bits))
        self.write(optional: device.asn) { $0.write(UInt64($1)) }
        self.write(optional: device.userAgent) { $0.write($1) }
    }
}

extension CompactReader {
    /// The valid range of times and durations in milliseconds, in which sums cannot overflow.
    private static let milliseconds: ClosedRange<Int64> = (-1 << 52)...(1 << 52)

    /// Reads a time.
    package mutating func time() throws(CompactFormatError) -> UnixTime {
        let milliseconds = try self.signed()
        guard Self.milliseconds.contains(milliseconds) else { throw CompactFormatError() }
        return UnixTime(milliseconds: milliseconds)
    }

    /// Reads an optional time.
    package mutating func optionalTime() throws(CompactFormatError) -> UnixTime? {
        try self.optional { (reader) throws(CompactFormatError) in try reader.time() }
    }

    /// Reads a duration.
    package mutating func duration() throws(CompactFormatError) -> Duration {
        let seconds = try self.signed()
        let attoseconds = try self.signed()
        guard Self.milliseconds.contains(seconds.multipliedWithinBounds(by: 1000)),
            attoseconds.magnitude < 1_000_000_000_000_000_000
        else { throw CompactFormatError() }
        return Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
    }

    /// Reads the tag of a lineage.
    package mutating func lineage() throws(CompactFormatError) -> Lineage {
        guard let lineage = Lineage(stored: try self.text()) else { throw CompactFormatError() }
        return lineage
    }

    /// Reads the key of a record of this kind. Any other kind is an error.
    package mutating func key(of kind: RecordKind) throws(CompactFormatError) -> RecordKey {
        let key = try self.key()
        guard key.kind == kind else { throw CompactFormatError() }
        return key
    }

    /// Reads the key of a record.
    package mutating func key() throws(CompactFormatError) -> RecordKey {
        let kind: RecordKind
        switch try self.byte() {
        case 1: kind = .session
        case 2: kind = .transfer
        case let letter where (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter):
            kind = RecordKind(letter: letter)
        default: throw CompactFormatError()
        }
        return RecordKey(kind: kind, lineage: try self.lineage(), digest: try self.digest())
    }

    /// Reads a digest in base64url.
    package mutating func digest() throws(CompactFormatError) -> Digest256 {
        guard let digest = Digest256(base64URL: Array(try self.text().utf8)[...]) else { throw CompactFormatError() }
        return digest
    }

    /// Reads a 32-bit number.
    package mutating func number() throws(CompactFormatError) -> UInt32 {
        guard let number = UInt32(exactly: try self.unsigned()) else { throw CompactFormatError() }
        return number
    }

    /// Reads the facts of a device.
    package mutating func device() throws(CompactFormatError) -> DeviceFacts {
        DeviceFacts(
            address: IPAddress(v6High: try self.unsigned(), v6Low: try self.unsigned()),
            asn: try self.optional { (reader) throws(CompactFormatError) in try reader.number() },
            userAgent: try self.optionalText()
        )
    }

    /// Reads a list of texts.
    package mutating func texts() throws(CompactFormatError) -> [String] {
        try self.list { (reader) throws(CompactFormatError) in try reader.text() }
    }

    /// Reads an optional text.
    package mutating func optionalText() throws(CompactFormatError) -> String? {
        try self.optional { (reader) throws(CompactFormatError) in try reader.text() }
    }
}
