package import NIOCore

/// A command and its arguments, each any bytes, as it is sent: an array of bulk strings (RESP).
package struct RedisCommand: Sendable, Hashable, CustomStringConvertible {
    /// The most bytes that one command may have: no record of ours comes near.
    package static let maxBytes = 1 << 20
    private static let maxArguments = 1024

    package let name: String
    private let bytes: [UInt8]
    /// Where the first argument lies in them.
    private let first: Range<Int>?

    package init(_ name: StaticString, _ arguments: [[UInt8]] = []) {
        self.name = name.description
        let total = arguments.reduce(name.utf8CodeUnitCount) { $0 + $1.count }
        guard arguments.count < Self.maxArguments, total <= Self.maxBytes else {
            self.bytes = []
            self.first = nil
            return
        }
        var bytes: [UInt8] = []
        // Marks and lengths take little beside what they announce.
        bytes.reserveCapacity(total + 16 * (arguments.count + 2))
        Self.write(0x2A, arguments.count + 1, to: &bytes)
        Self.write(0x24, name.utf8CodeUnitCount, to: &bytes)
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        Self.endLine(&bytes)
        var first: Range<Int>?
        for argument in arguments {
            Self.write(0x24, argument.count, to: &bytes)
            let start = bytes.count
            bytes.append(contentsOf: argument)
            if first == nil { first = start..<bytes.count }
            Self.endLine(&bytes)
        }
        self.bytes = bytes
        self.first = first
    }

    package init(_ name: StaticString, _ arguments: String...) {
        self.init(name, arguments.map { Array($0.utf8) })
    }

    /// The key that says which node serves it: the first argument, for every command that this module sends by itself.
    var key: ArraySlice<UInt8>? { self.first.map { self.bytes[$0] } }

    /// Its name alone: arguments may be secrets.
    package var description: String { self.name }

    /// What it is counted as.
    var kind: RedisMeter.Kind {
        switch self.name {
        case "MGET": .mget
        case "GET": .get
        default: .other
        }
    }

    /// Appends the command to `buffer`; false, and nothing appended, when it is too large.
    package func write(to buffer: inout ByteBuffer) -> Bool {
        guard !self.bytes.isEmpty else { return false }
        buffer.writeBytes(self.bytes)
        return true
    }

    /// `*` or `$`, the count, and the end of the line.
    private static func write(_ mark: UInt8, _ count: Int, to bytes: inout [UInt8]) {
        bytes.append(mark)
        Self.writeDigits(of: count, to: &bytes)
        Self.endLine(&bytes)
    }

    private static func writeDigits(of count: Int, to bytes: inout [UInt8]) {
        if count >= 10 { Self.writeDigits(of: count / 10, to: &bytes) }
        bytes.append(0x30 + UInt8(truncatingIfNeeded: count % 10))
    }

    private static func endLine(_ bytes: inout [UInt8]) {
        bytes.append(0x0D)
        bytes.append(0x0A)
    }
}
