import Foundation
import Testing

/// `check`, as an operator calls it.
@Suite struct CheckTests {
    private static func check(_ yaml: String, _ arguments: [String] = []) throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-check-\(UUID()).yaml")
        try Data(yaml.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try Shell.run(Demo.binary.path, ["check", "--config", file.path] + arguments)
    }

    private static let valid = """
        public_url: https://app.example.com
        upstream: http://127.0.0.1:3000
        provider:
          static:
            users:
              - identifier: ada
                password_hash: "scrypt:1024:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        """

    @Test func printsWhatValidSettingsComeTo() throws {
        let result = try Self.check(Self.valid)
        #expect(result.status == 0 && result.output.hasPrefix("valid\n"), "\(result.output)")
        let parts = [
            "routes of https://app.example.com", "/**", "/oauth/token", "/.sallyport/login", "session.idle: 30m",
        ]
        for text in parts {
            #expect(result.output.contains(text), "\(text): \(result.output)")
        }
        #expect(!result.output.contains("scrypt:1024"), "a hash is a secret")
    }

    @Test func namesLineAndMendOfEveryProblem() throws {
        let result = try Self.check(Self.valid + "\nsesion:\n  idle: 5 minutes\nlisten: nowhere\n")
        #expect(result.status == 1 && result.output.hasPrefix("invalid: "), "\(result.output)")
        #expect(result.output.contains(".yaml:8:1:") && result.output.contains("session"), "\(result.output)")
        #expect(result.output.contains(".yaml:10:"), "\(result.output)")
    }

    @Test func saysNothingMoreWhenQuiet() throws {
        let result = try Self.check(Self.valid, ["--quiet"])
        #expect(result.status == 0 && !result.output.contains("session.idle"), "\(result.output)")
    }

    @Test func checksTheFilesThatAreShipped() throws {
        for name in ["Config/sallyport.yaml", "Config/sallyport.reference.yaml"] {
            let path = Demo.root.appending(path: name).path
            let result = try Shell.run(Demo.binary.path, ["check", "--quiet", "--config", path])
            // What they name (users, secrets) need not be there; all else must be right.
            let problems = result.output.split(separator: "\n").dropFirst().filter { !$0.contains("no such file") }
            #expect(result.status == 0 || problems.allSatisfy { $0.contains("file") }, "\(result.output)")
        }
    }
}
