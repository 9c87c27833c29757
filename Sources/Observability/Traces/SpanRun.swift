import Synchronization

/// The bytes that many spans share: attributes, optionally preceded by the end of the name. Never changed.
package final class SpanRun: @unchecked Sendable {
    private static let lastNumber = Atomic<UInt64>(0)

    // Immutable after init. The memory is freed in deinit.
    let bytes: UnsafeRawBufferPointer
    /// The number of bytes at the start that belong to the name.
    let nameLength: Int
    /// Identifies the run for the life of the process; never 0. An address could be reused.
    package let number: UInt64

    /// - Parameter write: Writes the attributes.
    package convenience init(_ write: (SpanBuffer) -> Void) {
        self.init(name: "", write)
    }

    /// - Parameter name: The name of the spans without its beginning. A long name is cut.
    package init(name: String, _ write: (SpanBuffer) -> Void) {
        let limit = SpanBuffer.textLimit
        // A character has at most four bytes.
        let end = name.utf8.count <= limit ? name : String(name.unicodeScalars.prefix(limit / 4))
        let bytes = Array(end.utf8) + SpanBuffer(capacity: 1024).run(write)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
        self.bytes = UnsafeRawBufferPointer(memory)
        self.nameLength = end.utf8.count
        self.number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    }

    deinit {
        self.bytes.deallocate()
    }
}

/// The name of an attribute that nearly every span has, as the bytes before a value of less than 128 bytes.
@usableFromInline
package struct SpanKey: @unchecked Sendable {
    /// The number of bytes that are copied for every key, including unused bytes: copying a constant number takes few
    /// instructions.
    @usableFromInline static let room = 48

    @usableFromInline let name: StaticString
    /// The bytes of the key. Never freed, as keys are constants. Lengths are written into each copy.
    @usableFromInline let bytes: UnsafeRawPointer
    @usableFromInline let count: Int

    /// - Precondition: The name has at most 40 bytes.
    package init(_ name: StaticString) {
        let text = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        // Field 9 of the span, 1 of the attribute, 2 of the attribute, 1 of the value: each has a length.
        let bytes = [0x4A, 0, 0x0A, UInt8(text.count)] + Array(text) + [0x12, 0, 0x0A, 0]
        precondition(bytes.count <= Self.room, "the name of an attribute is too long")
        let memory = UnsafeMutableRawPointer.allocate(byteCount: Self.room, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: Self.room)
        memory.copyMemory(from: bytes, byteCount: bytes.count)
        self.name = name
        self.bytes = UnsafeRawPointer(memory)
        self.count = bytes.count
    }
}
