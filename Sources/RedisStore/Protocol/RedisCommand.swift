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
        var target: UnsafeMutablePointer<CChar>?
        let count = self.withPointers(total: total) { pointers, lengths in
            Int(redisFormatCommandArgv(&target, Int32(self.arguments.count), pointers, lengths))
        }
        guard count > 0, let target else { return false }
        defer { redisFreeCommand(target) }
        buffer.writeBytes(UnsafeRawBufferPointer(start: target, count: count))
        return true
    }

    /// Lends the arguments as C wants them. They are copied to one place on the stack (or the heap, when they are large), so
    /// that all of them stay put at once.
    private func withPointers<Answer>(
        total: Int,
        _ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int>?) -> Answer
    ) -> Answer {
        let count = self.arguments.count
        return withUnsafeTemporaryAllocation(byteCount: total + 1, alignment: 1) { bytes in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { pointers in
                withUnsafeTemporaryAllocation(of: Int.self, capacity: count) { lengths in
                    var position = 0
                    for (index, argument) in self.arguments.enumerated() {
                        UnsafeMutableRawBufferPointer(rebasing: bytes[position...]).copyBytes(from: argument)
                        // An argument without bytes still has a place, so no pointer is null.
                        let start = bytes.baseAddress.map { UnsafePointer($0.assumingMemoryBound(to: CChar.self)) }
                        pointers.initializeElement(at: index, to: start.map { $0 + position })
                        lengths.initializeElement(at: index, to: argument.count)
                        position += argument.count
                    }
                    return body(pointers.baseAddress, UnsafePointer(lengths.baseAddress))
                }
            }
        }
    }
}
