import Foundation
import GatewayBench
import TestSupport
import Testing

/// Corpora of requests that the authors of other parsers wrote.
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
    static let absence = TestData.absence
    /// The interpreter for the scripts that replay them; nil: it is not installed.
    static let python = Servers.find(["/usr/bin/python3", "/usr/local/bin/python3"])

    /// Whether the tests that read the corpora run.
    static var isExpected: Bool { self.files.allSatisfy { TestData.isExpected($0) } }

    static func items(_ file: String) throws -> [Item] {
        let text = try String(contentsOf: TestData.file(file), encoding: .utf8)
        return try text.split(whereSeparator: \.isNewline).map {
            try JSONDecoder().decode(Item.self, from: Data($0.utf8))
        }
    }

    static func all() throws -> [Item] {
        try self.files.flatMap { try self.items($0) }
    }
}
