/// Bytes that must never be printed. Both descriptions are `<redacted>`, and the mirror is empty.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The secret bytes, unprotected. Use them only where they are needed.
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
