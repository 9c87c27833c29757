import Cryptography
import Foundation
import GatewayBench
import Testing
import Vocabulary

/// `hash-password`, `--version`, and words that are no command.
@Suite struct HashPasswordTests {
    private func hash(_ input: String) throws -> (status: Int32, output: String) {
        try Servers.run(Gateway.binary.path, ["hash-password"], input: Array(input.utf8))
    }

    @Test(arguments: ["analytical engine", "pässwörd ✓", String(repeating: "x", count: 1024)])
    func printsAHashOfTheFirstLine(_ password: String) throws {
        for input in [password, password + "\n", password + "\r\n", password + "\nmore\n"] {
            let result = try self.hash(input)
            #expect(result.status == 0)
            let lines = result.output.split(separator: "\n")
            #expect(lines.count == 1)
            let hash = Secret(String(lines.first ?? ""))
            #expect(Scrypt.verify(password: Array(password.utf8), encoded: hash))
            #expect(!Scrypt.verify(password: Array("another".utf8), encoded: hash))
        }
        #expect(try self.hash(password).output != self.hash(password).output, "each has a salt of its own")
    }

    @Test(arguments: ["", "\n", String(repeating: "x", count: 1025)])
    func refusesWhatCannotBeUsed(_ password: String) throws {
        let result = try self.hash(password)
        #expect(result.status == 1 && result.output.contains("allowed are 1 to 1024"))
        #expect(!result.output.contains("scrypt:"))
    }

    @Test func tellsTheVersion() throws {
        let result = try Servers.run(Gateway.binary.path, ["--version"])
        #expect(result.status == 0 && result.output.firstMatch(of: /^[0-9]+\.[0-9]+\.[0-9]+\n$/) != nil)
    }

    @Test(arguments: [(["rnu"], "run"), (["chek", "--quiet"], "check"), (["keys", "mkae"], "make")])
    func namesTheCommandThatIsMeant(_ words: [String], _ command: String) throws {
        let result = try Servers.run(Gateway.binary.path, words)
        #expect(result.status == 64 && result.output.contains("did you mean \(command)?"), "\(result.output)")
    }

    @Test(arguments: [["help", "run"], ["--help"], ["keys", "--help"]])
    func showsHelp(_ words: [String]) throws {
        let result = try Servers.run(Gateway.binary.path, words)
        #expect(result.status == 0 && result.output.contains("USAGE: sallyport"), "\(result.output)")
    }
}
