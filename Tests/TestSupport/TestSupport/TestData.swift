package import Foundation
package import Testing

/// The test corpora of other projects. They are outside the package: in `$TESTDATA_DIR`, or else in
/// `../shared/testdata`.
package enum TestData {
    /// The reason that is shown when a test that needs them is skipped.
    package static let absence: Comment = "the corpora are absent: set TESTDATA_DIR"

    /// The folder that holds them.
    package static var directory: URL {
        if let path = Self.environment["TESTDATA_DIR"] { return URL(filePath: path) }
        return PackageFolder.root.deletingLastPathComponent().appending(path: "shared/testdata")
    }

    /// Whether tests that read all of `names` run. If a file is missing they are skipped, except under `CI=true`, where
    /// they run and fail.
    package static func isExpected(_ names: String...) -> Bool {
        Self.environment["CI"] == "true"
            || names.allSatisfy { FileManager.default.fileExists(atPath: Self.file($0).path) }
    }

    /// The path of `name`, whether or not the file exists.
    package static func file(_ name: String) -> URL { Self.directory.appending(path: name) }

    /// The path of `name`. Fails the test if the file does not exist.
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
