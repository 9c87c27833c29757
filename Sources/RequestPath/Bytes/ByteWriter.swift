import Glibc
import NIOCore

/// Writes bytes one after another into memory that the caller has reserved.
package struct ByteWriter {
    package let base: UnsafeMutablePointer<UInt8>
    package private(set) var count = 0

    @inline(__always)
    package init(_ base: UnsafeMutablePointer<UInt8>) {
        self.base = base
    }

    @inline(__always)
    package mutating func write(_ bytes: Bytes, _ length: Int) {
        memcpy(self.base + self.count, bytes, length)
        self.count &+= length
    }

    @inline(__always)
    package mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
        if let start = bytes.baseAddress { self.write(start, bytes.count) }
    }

    @inline(__always)
    package mutating func write(_ text: StaticString) {
        self.write(text.utf8Start, text.utf8CodeUnitCount)
    }

    @inline(__always)
    package mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { self.write($0) }
    }

    @inline(__always)
    package mutating func write(_ byte: UInt8) {
        self.base[self.count] = byte
        self.count &+= 1
    }

    /// Copies `length` bytes from offset `start` of the bytes already written.
    @inline(__always)
    package mutating func writeAgain(from start: Int, _ length: Int) {
        self.write(self.base + start, length)
    }

    /// Writes the 16 hexadecimal digits of `value`.
    @inline(__always)
    package mutating func writeHexadecimal(_ value: UInt64) {
        self.write(word: ByteWord.hexadecimal(UInt32(truncatingIfNeeded: value &>> 32)))
        self.write(word: ByteWord.hexadecimal(UInt32(truncatingIfNeeded: value)))
    }

    /// Writes the eight bytes of `word`, lowest byte first.
    @inline(__always)
    private mutating func write(word: UInt64) {
        UnsafeMutableRawPointer(self.base + self.count).storeBytes(of: word.littleEndian, as: UInt64.self)
        self.count &+= 8
    }

    /// Writes `value` in hexadecimal without leading zeros, as in a chunk size.
    @inline(__always)
    package mutating func writeHex(_ value: Int) {
        var shift = 60
        while shift > 0, (value >> shift) & 0xF == 0 { shift &-= 4 }
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: (value >> shift) & 0xF)
            self.write(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
            shift &-= 4
        }
    }
}

extension ByteBuffer {
    /// Appends the bytes that `body` writes. `body` must not write more than `room` bytes.
    @inline(__always)
    mutating func append(atMost room: Int, _ body: (inout ByteWriter) -> Void) {
        self.reserveCapacity(minimumWritableBytes: room)
        let end = self.writerIndex
        let count = self.withVeryUnsafeMutableBytes { storage -> Int in
            guard let start = storage.baseAddress else { return 0 }
            var writer = ByteWriter((start + end).assumingMemoryBound(to: UInt8.self))
            body(&writer)
            return writer.count
        }
        self.moveWriterIndex(forwardBy: count)
    }
}
