import Glibc

/// Distinguishes fields from comments in an event stream (HTML 9.2.5). Comments only keep the stream open.
package struct EventStreamLines: Equatable {
    private enum Place {
        case begin, comment, field
    }

    private var place = Place.begin

    package init() {}

    /// Reads forwarded content. Returns true if it contains a part of a field.
    package mutating func pass(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var hasField = false
        var rest = bytes[...]
        while let first = rest.first {
            if Self.isLineEnd(first) {
                self.place = .begin
                rest.removeFirst()
                continue
            }
            if self.place == .begin { self.place = first == UInt8(ascii: ":") ? .comment : .field }
            if self.place == .field { hasField = true }
            rest = rest[Self.lineEnd(in: UnsafeBufferPointer(rebasing: rest), from: rest.startIndex)...]
        }
        return hasField
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    /// Returns the index of the first line feed or carriage return, or the end.
    private static func lineEnd(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard let base = bytes.baseAddress else { return start }
        var count = bytes.count
        for end: Int32 in [0x0A, 0x0D] {
            if let found = memchr(base, end, count) { count = UnsafeRawPointer(found) - UnsafeRawPointer(base) }
        }
        return start + count
    }
}
