package import Foundation
package import Testing

/// The corpora of others, which lie outside the package: `$TESTDATA_DIR`, else `../shared/testdata` beside the package.
package enum TestData {
    /// Why a test that needs them is skipped.
    package static let absence: Comment = "the corpora are absent: set TESTDATA_DIR"

    /// Where they lie.
    package static var directory: URL {
        if let path = Self.environment["TESTDATA_DIR"] { return URL(filePath: path) }
        return PackageFolder.root.deletingLastPathComponent().appending(path: "shared/testdata")
    }

    /// Whether tests that read all of `names` run: they skip where one is absent, but under `CI=true` they run and fail.
    package static func isExpected(_ names: String...) -> Bool {
        Self.environment["CI"] == "true"
            || names.allSatisfy { FileManager.default.fileExists(atPath: Self.file($0).path) }
    }

    /// Where `name` lies, whether it is there or not.
    package static func file(_ name: String) -> URL { Self.directory.appending(path: name) }

    /// The path of `name`; fails the test when it is absent.
    package static func path(_ name: String) throws -> String {
        let path = Self.file(name).path
        try #require(FileManager.default.fileExists(atPath: path), "\(name) is absent: set TESTDATA_DIR")
        return path
    }

    /// The content of `name`.
    package static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: Self.file(name)))
    }

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }
}
