import CHiredis
package import NIOCore

/// A command and its arguments, each any bytes.
package struct RedisCommand: Sendable, Hashable {
    /// The command's name is the first; never empty.
    package var arguments: [[UInt8]]

    /// The most bytes that the arguments of one command may have together: hiredis counts in `int`, and no record of
    /// ours comes near.
    package static let maxBytes = 1 << 20

    package init(_ name: StaticString, _ arguments: [[UInt8]] = []) {
        self.arguments = [name.withUTF8Buffer { Array($0) }] + arguments
    }

    package init(_ name: StaticString, _ arguments: String...) {
        self.init(name, arguments.map { Array($0.utf8) })
    }

    /// The key that says which node serves it: the first argument, for every command that this module sends by itself.
    var key: [UInt8]? { self.arguments.count > 1 ? self.arguments[1] : nil }

    /// What it is counted as.
    var kind: RedisMeter.Kind {
        switch self.arguments[0].count {
        case 3 where self.arguments[0].elementsEqual("GET".utf8): .get
        case 4 where self.arguments[0].elementsEqual("MGET".utf8): .mget
        default: .other
        }
    }

    /// Appends the command in RESP to `buffer`; false, and nothing appended, when it is too large.
    package func write(to buffer: inout ByteBuffer) -> Bool {
        let total = self.arguments.reduce(0) { $0 + $1.count }
        guard total <= Self.maxBytes, self.arguments.count <= 1024 else { return false }
        // One block for all arguments, so that hiredis gets pointers that stay put.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(total)
        for argument in self.arguments { bytes.append(contentsOf: argument) }
        let lengths = self.arguments.map(\.count)
        var target: UnsafeMutablePointer<CChar>?
        let count = bytes.withUnsafeBytes { bytes in
            // An argument without bytes still needs a pointer that is not null.
            withUnsafePointer(to: CChar(0)) { empty in
                var position = 0
                var pointers: [UnsafePointer<CChar>?] = []
                pointers.reserveCapacity(lengths.count)
                let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
                for length in lengths {
                    pointers.append(length == 0 ? empty : start.map { $0 + position })
                    position += length
                }
                return Int(redisFormatCommandArgv(&target, Int32(lengths.count), &pointers, lengths))
            }
        }
        guard count > 0, let target else { return false }
        defer { redisFreeCommand(target) }
        buffer.writeBytes(UnsafeRawBufferPointer(start: target, count: count))
        return true
    }
}
