/// A pattern for a whole text, in which `*` stands for any characters or none, and everything else for itself.
package struct GlobPattern: Sendable, Equatable {
    private let bytes: [UInt8]

    package init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// Whether the whole text has this form, compared byte by byte. It takes at most the product of both lengths.
    package func matches(_ text: String) -> Bool {
        let text = Array(text.utf8)
        var (position, next) = (0, 0)
        // Where the last `*` is, and where the text after it is tried.
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
