import Foundation
import TestSupport
import Testing

/// The files of the package.
enum PackageFiles {
    static let root = PackageFolder.root

    /// The text of a file by its path below the root.
    static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root.appending(path: path), encoding: .utf8)
    }

    /// The Swift files below `folder` by their paths below the root.
    static func swift(below folder: String) -> [String] {
        let base = self.root.appending(path: folder).path
        return (FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? [])
            .filter { $0.hasSuffix(".swift") }.map { "\(folder)/\($0)" }.sorted()
    }

    /// How long a gateway drains by default, in seconds: `drain.delay` and `drain.timeout`.
    static func drain() throws -> Int {
        let reference = try self.text("Config/sallyport.reference.yaml")
        let drain = try #require(reference.firstMatch(of: /\ndrain:(?s).*?  delay: (\d+)s.*?  timeout: (\d+)s/))
        return try #require(Int(drain.1)) + #require(Int(drain.2))
    }

    /// The documents of a YAML text, with their anchors resolved.
    static func yaml(_ text: String) throws -> [Any] {
        let script = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.argv[1]))))"
        let read = try #require(try self.run(["/usr/bin/python3", "-c", script, text]))
        try #require(read.status == 0, "\(read.output)")
        return try #require(try JSONSerialization.jsonObject(with: Data(read.output.utf8)) as? [Any])
    }

    /// The Python interpreter with packages from PyPI, which `deploy/test.sh` installs if PyPI can be reached.
    static let clientsPython = ".build/clients/bin/python"
    static let hasClientsPython = FileManager.default.isExecutableFile(
        atPath: root.appending(path: clientsPython).path
    )

    /// Whether tests of a program that `deploy/test.sh` installs below the root run: where it is, and in CI, where they fail
    /// without it.
    static func isExpected(_ path: String) -> Bool {
        ProcessInfo.processInfo.environment["CI"] == "true"
            || FileManager.default.isExecutableFile(atPath: self.root.appending(path: path).path)
    }

    /// Whether the package of PyPI is there that has the schemas of GitHub's files and of Compose. Without it the tests that
    /// judge by them are skipped, and fail in CI.
    static let hasSchemas = isExpected(checkSchema)
    private static let checkSchema = ".build/clients/bin/check-jsonschema"

    /// Expects that the files at `paths` are valid by one of the package's schemas, such as `github-workflows`.
    static func expectValid(_ paths: [String], by schema: String) throws {
        let arguments = [self.checkSchema, "--builtin-schema", "vendor.\(schema)"] + paths
        let judged = try #require(try self.run(arguments), "\(self.checkSchema) is not installed")
        #expect(judged.status == 0, "\(judged.output)")
    }

    /// The output and exit status of a program; nil when it is not installed.
    static func run(_ arguments: [String]) throws -> (status: Int32, output: String)? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let candidates = arguments[0].contains("/") ? [arguments[0]] : folders.map { "\($0)/\(arguments[0])" }
        guard let program = candidates.first(where: FileManager.default.isExecutableFile(atPath:)) else { return nil }
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = Array(arguments.dropFirst())
        process.currentDirectoryURL = self.root
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
