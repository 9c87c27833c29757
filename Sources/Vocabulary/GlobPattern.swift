/// A pattern for a whole text. `*` matches zero or more characters, and every other character matches itself.
package struct GlobPattern: Sendable, Equatable {
    private let bytes: [UInt8]

    package init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// Returns whether the pattern matches the whole text, byte by byte. The time is at most proportional to the
    /// product of both lengths.
    package func matches(_ text: String) -> Bool {
        let text = Array(text.utf8)
        var (position, next) = (0, 0)
        // The position of the last `*` in the pattern. `retry` is the end of its match in the text.
        var star: Int?
        var retry = 0
        while position < text.count {
            if next < self.bytes.count, self.bytes[next] == UInt8(ascii: "*") {
                star = next
                retry = position
                next += 1
            } else if next < self.bytes.count, self.bytes[next] == text[position] {
                position += 1
                next += 1
            } else if let star {
                retry += 1
                position = retry
                next = star + 1
            } else {
                return false
            }
        }
        return self.bytes[next...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
