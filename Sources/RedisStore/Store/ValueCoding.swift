internal import AddressIntelligence
internal import Sessions
internal import Vocabulary

// The parts that several records share.

extension RecordWriter {
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
        self.write(key.digest)
    }

    mutating func write(_ device: DeviceFacts) {
        let bits = device.address.bits
        self.write(UInt64(truncatingIfNeeded: bits >> 64))
        self.write(UInt64(truncatingIfNeeded: bits))
        self.write(optional: device.asn) { $0.write(UInt64($1)) }
        self.write(optional: device.userAgent) { $0.write($1) }
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: self.write(byte: 0)
        case .bool(let value): self.write(byte: value ? 2 : 1)
        case .integer(let value):
            self.write(byte: 3)
            self.write(value)
        case .number(let value):
            self.write(byte: 4)
            self.write(value.bitPattern)
        case .string(let value):
            self.write(byte: 5)
            self.write(value)
        case .array(let values):
            self.write(byte: 6)
            self.write(list: values) { $0.write($1) }
        case .object(let members):
            self.write(byte: 7)
            self.write(list: members.sorted { $0.key < $1.key }) {
                $0.write($1.key)
                $0.write($1.value)
            }
        }
    }
}

extension RecordReader {
    mutating func time() throws(RecordFormatError) -> UnixTime {
        UnixTime(milliseconds: try self.signed())
    }

    mutating func duration() throws(RecordFormatError) -> Duration {
        let seconds = try self.signed()
        return Duration(secondsComponent: seconds, attosecondsComponent: try self.signed())
    }

    mutating func key() throws(RecordFormatError) -> RecordKey {
        let kind: TokenKind
        switch try self.byte() {
        case 1: kind = .session
        case 2: kind = .transfer
        default: throw RecordFormatError()
        }
        let lineage = Lineage(tag: try self.text())
        return RecordKey(kind: kind, lineage: lineage, digest: try self.text())
    }

    mutating func device() throws(RecordFormatError) -> DeviceFacts {
        let high = try self.unsigned()
        let address = IPAddress(v6High: high, v6Low: try self.unsigned())
        let asn = try self.optional { (reader) throws(RecordFormatError) in
            guard let asn = UInt32(exactly: try reader.unsigned()) else { throw RecordFormatError() }
            return asn
        }
        return DeviceFacts(
            address: address,
            asn: asn,
            userAgent: try self.optional { (reader) throws(RecordFormatError) in try reader.text() }
        )
    }

    mutating func texts() throws(RecordFormatError) -> [String] {
        try self.list { (reader) throws(RecordFormatError) in try reader.text() }
    }

    mutating func optionalText() throws(RecordFormatError) -> String? {
        try self.optional { (reader) throws(RecordFormatError) in try reader.text() }
    }

    /// - Parameter depth: how many more levels are read; providers' documents have a few.
    mutating func json(depth: Int = 64) throws(RecordFormatError) -> JSONValue {
        guard depth > 0 else { throw RecordFormatError() }
        switch try self.byte() {
        case 0: return .null
        case 1: return .bool(false)
        case 2: return .bool(true)
        case 3: return .integer(try self.signed())
        case 4: return .number(Double(bitPattern: try self.unsigned()))
        case 5: return .string(try self.text())
        case 6:
            return .array(
                try self.list { (reader) throws(RecordFormatError) in try reader.json(depth: depth - 1) }
            )
        case 7:
            let members = try self.list { (reader) throws(RecordFormatError) in
                (try reader.text(), try reader.json(depth: depth - 1))
            }
            return .object(Dictionary(members, uniquingKeysWith: { $1 }))
        default: throw RecordFormatError()
        }
    }
}
