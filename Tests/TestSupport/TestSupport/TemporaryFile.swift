import Foundation

/// A file that a test creates and removes at its end.
package struct TemporaryFile {
    /// Its location.
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

    /// Removes the file.
    package func remove() {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Replaces the file with a new one of the same name.
    package func replace(with content: [UInt8]) throws {
        try Data(content).write(to: URL(filePath: self.path), options: .atomic)
    }

    /// Overwrites the file in place, as `cp` does.
    package func overwrite(with content: [UInt8]) throws {
        try Data(content).write(to: URL(filePath: self.path))
    }
}
