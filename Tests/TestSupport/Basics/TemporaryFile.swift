import Foundation

/// A file of a test, to be removed at its end.
package struct TemporaryFile {
    /// Where it lies.
    package let path: String

    /// Writes a new file.
    package init(_ content: [UInt8]) throws {
        self.path = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID())").path
        try self.replace(with: content)
    }

    /// Writes a new file.
    package init(_ text: String) throws {
        try self.init(Array(text.utf8))
    }

    /// Removes it.
    package func remove() {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Puts a new file in the old one's place.
    package func replace(with content: [UInt8]) throws {
        try Data(content).write(to: URL(filePath: self.path), options: .atomic)
    }

    /// Writes over the file itself, as `cp` does.
    package func overwrite(with content: [UInt8]) throws {
        try Data(content).write(to: URL(filePath: self.path))
    }
}
