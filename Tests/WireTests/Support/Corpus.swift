import Foundation
import Testing

/// Corpora of other projects, which are outside the package: in `$TESTDATA_DIR`, else in `../shared/testdata` beside
/// the package.
enum Corpus {
    /// One or several raw requests, and how their authors' parsers read them.
    struct Item: Decodable, Sendable, CustomTestStringConvertible {
        var id: String
        /// Each scalar is one byte.
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

    /// Whether tests that read them run. They are skipped when the corpora are absent, but run and fail under
    /// `CI=true`.
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
