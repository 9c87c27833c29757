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
        #expect(result.status == 1 && result.output.contains("only 1 to 1024 are allowed"))
        #expect(!result.output.contains("scrypt:"))
    }

    @Test func refusesAnEncodingThatNoBrowserSends() throws {
        let latin = try Servers.run(Gateway.binary.path, ["hash-password"], input: [0x70, 0xE4, 0x73, 0x73, 0x0A])
        #expect(latin.status == 1 && latin.output.contains("the password is not UTF-8"), "\(latin.output)")
    }

    @Test func readsNoMoreOfALineThanAPasswordMayHave() throws {
        let script = "yes xx | tr -d '\\n' | \"$0\" hash-password"
        let endless = try Servers.run("/bin/sh", ["-c", script, Gateway.binary.path])
        #expect(endless.output.contains("more than 1024 bytes"), "\(endless.output)")
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

    /// An empty value is mostly a variable of a script that is not set.
    @Test(arguments: [
        (["check", "--config="], "--config has no value"), (["check", "--config", ""], "--config has no value"),
        (["check", "--config"], "--config"), (["check", "--confg", "x"], "--config"),
        (["demo", "--port", "70000"], "--port must be a number from 0 to 65535"), (["keys", "make"], "<file>"),
    ])
    func saysWhichOptionIsWrong(_ words: [String], _ fix: String) throws {
        let result = try Servers.run(Gateway.binary.path, words)
        #expect(result.status == 64 && result.output.contains(fix), "\(result.output)")
    }

    /// A library that sets a variable before the program begins, such as libfaketime, moves the environment.
    @Test func seesItsWordsBesideAPreloadedLibrary() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            at: URL(filePath: "/usr/lib"),
            includingPropertiesForKeys: nil
        )
        let paths = folders.map { $0.appending(path: "faketime/libfaketimeMT.so.1").path }
        guard let library = paths.first(where: FileManager.default.fileExists) else { try Servers.missing("faketime") }
        let environment = ["LD_PRELOAD": library, "FAKETIME": "+0s"]
        let result = try Servers.run(
            Gateway.binary.path,
            ["check", "--config", "/none.yaml"],
            environment: environment
        )
        #expect(result.status == 1 && result.output.contains("/none.yaml"), "\(result.output)")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completesCommandsInAShell(_ shell: String) throws {
        let result = try Servers.run(Gateway.binary.path, ["--generate-completion-script", shell])
        #expect(result.status == 0 && result.output.contains("healthcheck") && result.output.contains("insecure-http"))
    }

    @Test(arguments: [["help", "run"], ["--help"], ["keys", "--help"]])
    func showsHelp(_ words: [String]) throws {
        let result = try Servers.run(Gateway.binary.path, words)
        #expect(result.status == 0 && result.output.contains("USAGE: sallyport"), "\(result.output)")
    }
}
