import Cryptography
import Foundation
import GatewayBench
import Testing
import Vocabulary

/// `init`, and what goes with it: entries of users, completion, the manual page, `reload`.
@Suite struct InitTests {
    private static func withFolder(_ body: (String) throws -> Void) throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.path)
    }

    private static func run(_ words: [String], input: String = "") throws -> (status: Int32, output: String) {
        try Servers.run(Gateway.binary.path, words, input: Array(input.utf8))
    }

    private static func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test(
        arguments: [
            ([], ["secret", "users.yaml"]), (["--users", "--user", "ada \"x\" #: '"], ["secret", "users.yaml"]),
            (["--oidc", "--issuer", "https://id.example.com/realms/a"], ["secret", "client-secret"]),
            (["--kratos"], ["secret"]),
            (["--oidc", "--public-url", "https://app.example.com"], ["secret", "client-secret"]),
        ] as [([String], [String])]
    )
    func writesValidSettingsAndSecretsThatOnlyTheOwnerReads(options: [String], secrets: [String]) throws {
        try Self.withFolder { folder throws in
            let made = try Self.run(["init", "--directory", folder] + options)
            #expect(
                made.status == 0 && made.output.contains("\n  \(Gateway.binary.path) run \(folder)/sallyport.yaml\n"),
                "\(made.output)"
            )
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(Set(names) == Set(secrets + ["sallyport.yaml"]))
            for name in secrets { #expect(try Self.mode("\(folder)/\(name)") == 0o600, "\(name)") }
            let check = try Self.run(["check", "--quiet", "\(folder)/sallyport.yaml"])
            #expect(check.status == 0 && !check.output.contains("can read"), "\(check.output)")
            let again = try Self.run(["init", "--directory", folder] + options)
            #expect(again.status == 1 && again.output.contains("exists already: nothing is written"), "\(again.output)")
        }
    }

    @Test func tellsThePasswordOfTheFirstUserOnce() throws {
        try Self.withFolder { folder throws in
            let made = try Self.run(["init", "--directory", folder, "--user", "ada@example.com"])
            let password = try #require(made.output.split(separator: " ").last).trimmingCharacters(in: .newlines)
            let users = try String(contentsOfFile: "\(folder)/users.yaml", encoding: .utf8)
            #expect(users.contains("- identifier: \"ada@example.com\"") && !users.contains(password))
            // What the app gets of the user, and the comments of the settings ask for.
            #expect(users.contains(#"  traits: {email: "ada@example.com", groups: [admins]}"#), "\(users)")
            let hash = try #require(users.firstMatch(of: /password_hash: "([^"]+)"/)?.1)
            #expect(Scrypt.verify(password: Array(password.utf8), encoded: Secret(String(hash))))
        }
    }

    @Test(
        "The gateway listens where its URL on this machine is, and a slash at the end is no part of it",
        arguments: [
            ("http://localhost:9999", "127.0.0.1:9999", "http://localhost:9999"),
            ("http://127.0.0.1:8081/", "127.0.0.1:8081", "http://127.0.0.1:8081"),
            ("http://[::1]:8082", "[::1]:8082", "http://[::1]:8082"),
            ("HTTP://LocalHost/", "127.0.0.1:80", "http://localhost"),
            ("http://127.0.0.1:80", "127.0.0.1:80", "http://127.0.0.1"),
            ("https://app.example.com:8443/", "127.0.0.1:8080", "https://app.example.com:8443"),
            ("https://App.Example.com.:443", "127.0.0.1:8080", "https://app.example.com"),
        ]
    )
    func listens(url: String, address: String, origin: String) throws {
        try Self.withFolder { folder throws in
            let made = try Self.run(["init", "--directory", folder, "--public-url", url])
            #expect(made.status == 0 && made.output.contains("Open \(origin)/ and sign in"), "\(made.output)")
            let text = try String(contentsOfFile: "\(folder)/sallyport.yaml", encoding: .utf8)
            #expect(
                text.contains("\nlisten: \"\(address)\"\n") && text.contains("\npublic_url: \"\(origin)\"\n"),
                "\(text)"
            )
        }
    }

    @Test(
        "The redirect URI that init prints is the one that the gateway sends: in lower case, without the scheme's port",
        arguments: ["https://App.Example.com:443/", "HTTPS://APP.example.com.", "https://app.example.com:0443"]
    )
    func printsTheRedirectURI(_ url: String) throws {
        try Self.withFolder { folder throws in
            let made = try Self.run(["init", "--oidc", "--directory", folder, "--public-url", url])
            let sent = "https://app.example.com/.sallyport/callback"
            #expect(made.status == 0 && made.output.contains("register \(sent) at the provider"), "\(made.output)")
            let text = try String(contentsOfFile: "\(folder)/sallyport.yaml", encoding: .utf8)
            #expect(text.contains("# Register \(sent) as redirect URI there."), "\(text)")
            let explained = try Self.run([
                "explain", "--config", "\(folder)/sallyport.yaml", "--url", "https://app.example.com/",
                "--header", "Accept: text/html",
            ])
            #expect(explained.output.contains("the provider sends it back to \(sent)\n"), "\(explained.output)")
            let kratos = try Self.run(["init", "--kratos", "--directory", "\(folder)/kratos", "--public-url", url])
            #expect(kratos.output.contains("must allow https://app.example.com in"), "\(kratos.output)")
        }
    }

    @Test("The gateway of init leaves the port of Prometheus alone, and its own two ports differ")
    func leavesPrometheusAlone() throws {
        for (url, admin) in [("http://localhost:8080", 9091), ("http://localhost:9091", 9095)] {
            try Self.withFolder { folder throws in
                #expect(try Self.run(["init", "--directory", folder, "--public-url", url]).status == 0)
                let checked = try Self.run(["check", "--config", "\(folder)/sallyport.yaml"])
                #expect(checked.status == 0 && checked.output.contains("127.0.0.1:\(admin)"), "\(checked.output)")
                #expect(!checked.output.contains(":9090"), "\(checked.output)")
            }
        }
    }

    @Test("A name that is taken by a link to nothing, or a folder that cannot be written, leaves no part of the files")
    func writesAllOrNothing() throws {
        try Self.withFolder { folder throws in
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/users.yaml",
                withDestinationPath: "/nowhere/users.yaml"
            )
            let result = try Self.run(["init", "--directory", folder])
            #expect(
                result.status == 1 && result.output.contains("exists already: nothing is written"),
                "\(result.output)"
            )
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["users.yaml"])
        }
    }

    @Test func writesNothingThatTheGatewayWouldRefuse() throws {
        try Self.withFolder { folder throws in
            for options in [
                ["--public-url", "http://app.example.com"], ["--public-url", "https://b\u{FC}cher.example"],
                ["--upstream", "nowhere:"], ["--oidc", "--issuer", "x"], ["--oidc", "--client-id", "\u{1}"],
                ["--kratos", "--kratos-url", "x"],
            ] {
                let result = try Self.run(["init", "--directory", folder] + options)
                #expect(result.status == 1 && result.output.contains("nothing is written"), "\(result.output)")
                // There is no file to look into.
                let option = try #require(options.dropLast().last)
                #expect(result.output.contains("\n  \(option): found "), "\(result.output)")
                #expect(!result.output.contains("sallyport.yaml"), "\(result.output)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    @Test func printsTheEntryOfAUser() throws {
        let result = try Self.run(["hash-password", "--user", "ada: \"x\""], input: "analytical engine\n")
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 2 && lines.first == #"- identifier: "ada: \"x\"""#, "\(result.output)")
        let hash = try #require(lines.last?.firstMatch(of: /^  password_hash: "([^"]+)"$/)?.1)
        #expect(Scrypt.verify(password: Array("analytical engine".utf8), encoded: Secret(String(hash))))
        #expect(try Self.run(["hash-password", "--user", "a\u{1}"], input: "x\n").status == 64)
        let address = try Self.run(["hash-password", "--user", "bob@example.com"], input: "analytical engine\n")
        #expect(address.output.hasSuffix("\n  traits: {email: \"bob@example.com\"}\n"), "\(address.output)")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completes(shell: String) throws {
        let result = try Self.run(["completion", shell])
        #expect(result.status == 0)
        for word in ["hash-password", "without-files", "upstreams"] { #expect(result.output.contains(word), "\(word)") }
        guard shell == "bash" else { return }
        let syntax = try Servers.run("/bin/bash", ["-n"], input: Array(result.output.utf8))
        #expect(syntax.status == 0, "\(syntax.output)")
    }

    @Test func hasAManualPage() throws {
        let result = try Self.run(["man"])
        #expect(result.status == 0 && result.output.hasPrefix(".TH SALLYPORT 1 "))
        for part in [
            ".SS sallyport run\n", ".SS sallyport keys make\n", "\\-\\-without\\-files", "\\-\\-pid\\-file <file>",
        ] {
            #expect(result.output.contains(part), "\(part)")
        }
        #expect(!result.output.contains("\n.SH COMMANDS\n.SH"))
    }

    @Test("A gateway whose file an upgrade has replaced is known all the same, by its name")
    func reloadsAGatewayThatWasUpgraded() throws {
        try Self.withFolder { folder throws in
            #expect(try Self.run(["init", "--directory", folder]).status == 0)
            let copy = URL(filePath: "\(folder)/\(Gateway.binary.lastPathComponent)")
            try FileManager.default.copyItem(at: URL(filePath: "/bin/sleep").resolvingSymlinksInPath(), to: copy)
            let gateway = Foundation.Process()
            gateway.executableURL = copy
            gateway.arguments = ["60"]
            try gateway.run()
            defer { kill(gateway.processIdentifier, SIGKILL) }
            try FileManager.default.removeItem(at: copy)
            let told = try Self.run(["reload", "\(folder)/sallyport.yaml", "--pid", "\(gateway.processIdentifier)"])
            #expect(told.status == 0, "\(told.output)")
        }
    }

    @Test("A gateway ends with the terminal that is closed under it, where SIGHUP means no reload")
    func endsWithItsTerminal() throws {
        try Self.withFolder { folder throws in
            #expect(try Self.run(["init", "--directory", folder]).status == 0)
            let gateway = try TerminalRun(["run", "\(folder)/sallyport.yaml", "--pid-file", "\(folder)/pid"], folder)
            defer { gateway.end() }
            #expect(gateway.shows("ready: "), "\(gateway.output)")
            gateway.closeTerminal()
            #expect(eventually { !gateway.isRunning })
            #expect(eventually { !FileManager.default.fileExists(atPath: "\(folder)/pid") })
        }
    }

    @Test func reloadsOnlyAGatewayAndOnlyValidSettings() throws {
        try Self.withFolder { folder throws in
            #expect(try Self.run(["init", "--directory", folder]).status == 0)
            let file = "\(folder)/sallyport.yaml"
            // A process of another program is not ended by a signal for the gateway.
            let stranger = Foundation.Process()
            stranger.executableURL = URL(filePath: "/bin/sleep")
            stranger.arguments = ["60"]
            try stranger.run()
            defer { stranger.terminate() }
            let other = try Self.run(["reload", file, "--pid", "\(stranger.processIdentifier)"])
            #expect(other.status == 1 && other.output.contains("is not a running gateway"), "\(other.output)")
            #expect(stranger.isRunning)
            for pid in ["0", "-1", "999999999"] {
                #expect(try Self.run(["reload", file, "--pid=\(pid)"]).status == 1, "\(pid)")
            }
            #expect(try Self.run(["reload", file]).status == 64)

            let gateway = try TerminalRun(["run", file, "--pid-file", "\(folder)/pid"], folder)
            defer { gateway.end() }
            #expect(
                gateway.shows(
                    "ready: http://localhost:8080/ -> http://127.0.0.1:3000, sign-in by 1 user of the settings"
                )
            )
            let first = gateway.output.split(separator: "\r\n").first ?? ""
            #expect(first.hasPrefix("ready: "), "\(gateway.output)")
            #expect(!gateway.output.contains("{\"stream\""), "a person reads text: \(gateway.output)")
            let told = try Self.run(["reload", file, "--pid-file", "\(folder)/pid"])
            #expect(told.status == 0, "\(told.output)")
            #expect(gateway.shows("reloaded") || gateway.shows("settings"), "\(gateway.output)")
            let second = try Self.run(["run", file, "--pid-file", "\(folder)/pid"])
            #expect(second.status == 1 && second.output.contains("is already running"), "\(second.output)")
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try Data((text + "\nsesion: {}\n").utf8).write(to: URL(filePath: file))
            let wrong = try Self.run(["reload", file, "--pid-file", "\(folder)/pid"])
            #expect(wrong.status == 1 && wrong.output.contains("invalid: 1 problem"), "\(wrong.output)")
            gateway.interrupt()
            #expect(gateway.shows("stopping") && gateway.hasEnded)
        }
    }

    @Test("The file with the process id goes with the gateway that wrote it, and with no other")
    func pidFile() throws {
        try Self.withFolder { folder throws in
            #expect(try Self.run(["init", "--directory", folder]).status == 0)
            let (file, pid) = ("\(folder)/sallyport.yaml", "\(folder)/pid")
            func content() -> String? { try? String(contentsOfFile: pid, encoding: .utf8) }
            let gateway = try TerminalRun(["run", file, "--pid-file", pid], folder)
            defer { gateway.end() }
            #expect(eventually { content()?.isEmpty == false })
            // One that may not start takes nothing away from the one that runs.
            let second = try Self.run(["run", file, "--pid-file", pid])
            #expect(second.status == 1 && second.output.contains("is already running"), "\(second.output)")
            #expect(content()?.isEmpty == false)
            gateway.interrupt()
            #expect(gateway.hasEnded && content() == nil)
            let told = try Self.run(["reload", file, "--pid-file", pid])
            #expect(told.status == 1 && told.output.contains("contains no process id"), "\(told.output)")

            // Meanwhile somebody else has written to it.
            let another = try TerminalRun(["run", file, "--pid-file", pid], folder)
            defer { another.end() }
            #expect(eventually { content()?.isEmpty == false })
            let own = try #require(content().flatMap { Int32($0.trimmingCharacters(in: .newlines)) })
            try "1\n".write(toFile: pid, atomically: false, encoding: .utf8)
            kill(own, SIGINT)
            #expect(another.hasEnded && content() == "1\n")

            // A start that fails leaves no file behind.
            try FileManager.default.removeItem(atPath: pid)
            let taken = ["SALLYPORT_LISTEN": "192.0.2.1:1"]
            let failed = try Servers.run(
                Gateway.binary.path,
                ["run", file, "--pid-file", pid],
                environment: Gateway.environment.merging(taken) { $1 }
            )
            #expect(failed.status == 1 && content() == nil, "\(failed.output)")
        }
    }
}

/// The gateway on a terminal, as `script` makes one.
private final class TerminalRun {
    private let process = Foundation.Process()
    private let log: URL
    private let pid: URL

    init(_ words: [String], _ folder: String) throws {
        self.log = URL(filePath: "\(folder)/typescript")
        self.pid = URL(filePath: "\(folder)/pid")
        let command = ([Gateway.binary.path] + words).joined(separator: " ")
        self.process.executableURL = URL(filePath: "/usr/bin/script")
        self.process.arguments = ["-qefc", command, self.log.path]
        var environment = Gateway.environment
        environment["SALLYPORT_LISTEN"] = "127.0.0.1:0"
        environment["SALLYPORT_ADMIN_LISTEN"] = "127.0.0.1:0"
        self.process.environment = environment
        self.process.standardInput = FileHandle.nullDevice
        self.process.standardOutput = FileHandle.nullDevice
        try self.process.run()
    }

    var output: String {
        let text = (try? String(contentsOf: self.log, encoding: .utf8)) ?? ""
        return String(text.drop { $0 != "\r\n" && $0 != "\n" }.dropFirst())
    }

    func shows(_ text: String) -> Bool { eventually { self.output.contains(text) } }

    var hasEnded: Bool { eventually { !self.process.isRunning } }

    /// The gateway's process id.
    private var gateway: Int32? {
        let text = (try? String(contentsOf: self.pid, encoding: .utf8)) ?? ""
        return Int32(text.trimmingCharacters(in: .newlines)).flatMap { $0 > 1 ? $0 : nil }
    }

    /// A process that has ended may stay in the table, because nobody asks for its status.
    var isRunning: Bool {
        guard let gateway, let status = try? String(contentsOfFile: "/proc/\(gateway)/stat", encoding: .utf8) else {
            return false
        }
        return !status.contains(") Z ")
    }

    /// Ctrl-C.
    func interrupt() {
        if let gateway { kill(gateway, SIGINT) }
    }

    /// Ends the program that has the other end of the terminal.
    func closeTerminal() { kill(self.process.processIdentifier, SIGKILL) }

    func end() {
        self.interrupt()
        self.process.terminate()
    }
}
