import Synchronization

/// Encoded attributes that many spans share, optionally with the end of the span's name. Immutable.
package final class SpanRun: @unchecked Sendable {
    private static let lastNumber = Atomic<UInt64>(0)

    // Immutable, and freed in `deinit`.
    let bytes: UnsafeRawBufferPointer
    /// The number of leading bytes that belong to the name.
    let nameLength: Int
    /// Identifies the run within this process; never 0. An address could be reused after `deinit`.
    package let number: UInt64

    /// - Parameter write: Writes the attributes.
    package convenience init(_ write: (SpanBuffer) -> Void) {
        self.init(name: "", write)
    }

    /// - Parameter name: The end of the spans' names. A long text is cut.
    package init(name: String, _ write: (SpanBuffer) -> Void) {
        let limit = SpanBuffer.textLimit
        // A character has at most four bytes in UTF-8.
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

/// The name of a frequent attribute, encoded as the bytes before a value of less than 128 bytes.
@usableFromInline
package struct SpanKey: @unchecked Sendable {
    /// The number of bytes to copy for any key. Copying a constant number takes few instructions.
    @usableFromInline static let room = 48

    @usableFromInline let name: StaticString
    /// The encoded key, without lengths. Never freed, because keys are constants.
    @usableFromInline let bytes: UnsafeRawPointer
    @usableFromInline let count: Int

    /// - Precondition: The name has at most 40 bytes.
    package init(_ name: StaticString) {
        let text = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        // The tags of field 9 of a span, of key and value of an attribute, and of a text value, each with its length.
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
