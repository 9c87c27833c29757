import Glibc

extension UnsafeRawBufferPointer {
    /// Returns the offset of the first `byte` at or after `start`; `nil` if there is none.
    package func place(of byte: UInt8, from start: Int = 0) -> Int? {
        guard start < self.count, let base = self.baseAddress,
            let found = memchr(base + start, Int32(byte), self.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
