internal import Foundation

/// Reads the files that settings name: from the file system in production, from a value in tests.
package struct SettingsFiles: Sendable {
    /// Why a file cannot be read, e.g. `no such file`.
    package struct Fault: Error, Sendable {
        package let sentence: String

        package init(_ sentence: String) {
            self.sentence = sentence
        }
    }

    /// The content of a file with at most this many bytes; a larger file is a fault.
    let read: @Sendable (_ path: String, _ limit: Int) throws(Fault) -> [UInt8]
    /// Whether a file can be opened.
    let isReadable: @Sendable (_ path: String) -> Bool

    package init(
        read: @escaping @Sendable (_ path: String, _ limit: Int) throws(Fault) -> [UInt8],
        isReadable: @escaping @Sendable (_ path: String) -> Bool
    ) {
        self.read = read
        self.isReadable = isReadable
    }

    /// The file system.
    package static let system = SettingsFiles(
        read: { path, limit throws(Fault) in
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
                throw Fault("no such file")
            }
            guard !isDirectory.boolValue else { throw Fault("a directory") }
            guard let handle = FileHandle(forReadingAtPath: path) else {
                throw Fault("a file without permission to read it")
            }
            defer { try? handle.close() }
            var bytes: [UInt8] = []
            while bytes.count <= limit {
                let piece: Data?
                do {
                    piece = try handle.read(upToCount: limit + 1 - bytes.count)
                } catch {
                    throw Fault("a file that cannot be read")
                }
                guard let piece, !piece.isEmpty else { return bytes }
                bytes += piece
            }
            throw Fault("a file of more than \(Quantity.text(bytes: limit))")
        },
        isReadable: { path in
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
                && FileManager.default.isReadableFile(atPath: path)
        }
    )
}
