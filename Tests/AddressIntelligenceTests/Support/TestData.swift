import Foundation
import Testing

/// Corpora of other projects, which are outside the package: in `$TESTDATA_DIR`, else in `../shared/testdata` beside
/// the package.
enum TestData {
    static let absence: Comment = "the corpora are absent: set TESTDATA_DIR"

    /// Whether tests that read `name` run. They are skipped when it is absent, but run and fail under `CI=true`.
    static func isExpected(_ name: String) -> Bool {
        Self.environment["CI"] == "true" || Self.find(name) != nil
    }

    /// The path of `name`.
    static func path(_ name: String) throws -> String {
        try #require(Self.find(name), "\(name) is absent: set TESTDATA_DIR")
    }

    private static func find(_ name: String) -> String? {
        guard let path = Self.directory?.appendingPathComponent(name).path else { return nil }
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }

    private static var directory: URL? {
        if let path = Self.environment["TESTDATA_DIR"] { return URL(fileURLWithPath: path) }
        var folder = URL(fileURLWithPath: #filePath)
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            if FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path) {
                return folder.deletingLastPathComponent().appendingPathComponent("shared/testdata")
            }
        }
        return nil
    }
}
