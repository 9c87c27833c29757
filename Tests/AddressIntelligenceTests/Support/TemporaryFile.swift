import Foundation

/// A file of a test, which is removed at its end.
struct TemporaryFile {
    let path: String

    init(_ content: [UInt8]) throws {
        self.path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try self.replace(with: content)
    }

    init(_ text: String) throws {
        try self.init(Array(text.utf8))
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Replaces the file by a new one.
    func replace(with content: [UInt8]) throws {
        try Data(content).write(to: URL(fileURLWithPath: self.path), options: .atomic)
    }

    /// Overwrites the file itself, as `cp` does.
    func overwrite(with content: [UInt8]) throws {
        try Data(content).write(to: URL(fileURLWithPath: self.path))
    }
}
