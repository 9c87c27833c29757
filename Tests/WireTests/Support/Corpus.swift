import Foundation
import Testing

/// The corpora of others, which lie outside the package: `$TESTDATA_DIR`, else `../shared/testdata` beside the package.
enum Corpus {
    /// One raw request or several, and what their authors' parsers make of it.
    struct Item: Decodable, Sendable, CustomTestStringConvertible {
        var id: String
        /// Each scalar is a byte.
        var raw: String
        var `class`: String

        var bytes: [UInt8] { self.raw.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
        var mustBeRefused: Bool { self.class == "reject" }
        var testDescription: String { self.id }
    }

    static let files = ["llhttp-requests.jsonl", "gunicorn-137.jsonl"]
    static let absence: Comment = "the corpora are absent: set TESTDATA_DIR"

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static var directory: URL {
        if let path = ProcessInfo.processInfo.environment["TESTDATA_DIR"] { return URL(filePath: path) }
        return self.root.deletingLastPathComponent().appending(path: "shared/testdata")
    }

    /// Whether tests that read them run: they skip where these are absent, but under `CI=true` they run and fail.
    static var isExpected: Bool {
        ProcessInfo.processInfo.environment["CI"] == "true"
            || self.files.allSatisfy { FileManager.default.fileExists(atPath: self.directory.appending(path: $0).path) }
    }

    static func items(_ file: String) throws -> [Item] {
        let text = try String(contentsOf: self.directory.appending(path: file), encoding: .utf8)
        return try text.split(whereSeparator: \.isNewline).map {
            try JSONDecoder().decode(Item.self, from: Data($0.utf8))
        }
    }

    static func all() throws -> [Item] {
        try self.files.flatMap { try self.items($0) }
    }
}
