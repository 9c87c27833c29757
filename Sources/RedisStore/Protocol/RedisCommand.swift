package import NIOCore

/// A command and its arguments, encoded for sending as an array of bulk strings (RESP). Arguments may be any bytes.
package struct RedisCommand: Sendable, Hashable, CustomStringConvertible {
    /// The maximum length of one command in bytes. The gateway's records are far smaller.
    package static let maxBytes = 1 << 20
    private static let maxArguments = 1024

    package let name: String
    private let bytes: [UInt8]
    /// The range of the first argument within the bytes.
    private let first: Range<Int>?

    package init(_ name: StaticString, _ arguments: [[UInt8]] = []) {
        self.name = name.description
        let total = arguments.reduce(name.utf8CodeUnitCount) { $0 + $1.count }
        guard arguments.count < Self.maxArguments, total <= Self.maxBytes else {
            self.bytes = []
            self.first = nil
            return
        }
        // The size of marks and lengths is overestimated.
        var bytes = [UInt8](repeating: 0, count: total + Self.framingBytes * (arguments.count + 2))
        var first: Range<Int>?
        let count = bytes.withUnsafeMutableBytes { target in
            var writer = Writer(target: target)
            writer.header(0x2A, arguments.count + 1)
            _ = name.withUTF8Buffer { writer.string(UnsafeRawBufferPointer($0)) }
            for argument in arguments {
                let place = argument.withUnsafeBytes { writer.string($0) }
                if first == nil { first = place }
            }
            return writer.count
        }
        bytes.removeLast(bytes.count - count)
        self.bytes = bytes
        self.first = first
    }

    package init(_ name: StaticString, _ arguments: String...) {
        self.init(name, arguments.map { Array($0.utf8) })
    }

    /// The key that determines the command's node: the first argument.
    var key: ArraySlice<UInt8>? { self.first.map { self.bytes[$0] } }

    /// The name only, because arguments may be secrets.
    package var description: String { self.name }

    /// The kind under which metrics count the command.
    var kind: RedisMeter.Kind {
        switch self.name {
        case "MGET": .mget
        case "GET": .get
        default: .other
        }
    }

    /// Appends the command to `buffer`. If the command is too large, appends nothing and returns false.
    package func write(to buffer: inout ByteBuffer) -> Bool {
        guard !self.bytes.isEmpty else { return false }
        buffer.writeBytes(self.bytes)
        return true
    }

    /// Enough bytes for a mark, the digits of a count (at most `maxBytes`) and two line ends.
    private static let framingBytes = 16

    /// Writes a command into memory that is large enough. Fast, because a read of an uncached session needs a command.
    private struct Writer {
        let target: UnsafeMutableRawBufferPointer
        private(set) var count = 0

        /// Writes `*` or `$`, the count, and the end of the line.
        mutating func header(_ mark: UInt8, _ count: Int) {
            self.byte(mark)
            self.digits(of: count)
            self.endLine()
        }

        /// Writes a bulk string and returns the range of its bytes.
        mutating func string(_ bytes: UnsafeRawBufferPointer) -> Range<Int> {
            self.header(0x24, bytes.count)
            let place = self.count..<(self.count + bytes.count)
            UnsafeMutableRawBufferPointer(rebasing: self.target[place]).copyMemory(from: bytes)
            self.count = place.upperBound
            self.endLine()
            return place
        }

        private mutating func byte(_ byte: UInt8) {
            self.target[self.count] = byte
            self.count += 1
        }

        private mutating func digits(of count: Int) {
            if count >= 10 { self.digits(of: count / 10) }
            self.byte(0x30 + UInt8(truncatingIfNeeded: count % 10))
        }

        private mutating func endLine() {
            self.byte(0x0D)
            self.byte(0x0A)
        }
    }
}
