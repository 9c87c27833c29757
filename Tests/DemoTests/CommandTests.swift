import Foundation
import GatewayBench
import Testing

/// The command line as somebody meets it who knows other programs.
@Suite struct CommandTests {
    private static let settings = """
        public_url: http://localhost:8080
        upstream: http://127.0.0.1:3000
        provider: {static: {users: [{identifier: ada, password_hash: \(hash)}]}}

        """
    private static let hash = "\"scrypt:1024:8:1:AAAAAAAAAAAAAAAAAAAAAA:\(String(repeating: "A", count: 43))\""

    private static func run(_ words: [String], _ settings: String? = nil) throws -> (status: Int32, output: String) {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "sallyport.yaml")
        if let settings { try Data(settings.utf8).write(to: file) }
        return try Servers.run(Gateway.binary.path, words.map { $0 == "FILE" ? file.path : $0 })
    }

    @Test func namesTheFileWithAndWithoutAnOption() throws {
        for words in [["check", "FILE"], ["check", "--config", "FILE"]] {
            let result = try Self.run(words, Self.settings)
            #expect(result.status == 0 && result.output.hasPrefix("valid\n"), "\(result.output)")
        }
        for (command, finding) in [
            (["healthcheck"], "127.0.0.1:1 cannot be reached"), (["upstreams"], "127.0.0.1:1 cannot be reached"),
            (["keys", "rotate-signing"], "store.memory keeps no key"),
        ] {
            for file in [["FILE"], ["--config", "FILE"]] {
                let result = try Self.run(command + file, Self.settings + "admin: {listen: \"127.0.0.1:1\"}\n")
                #expect(result.status == 1 && result.output.contains(finding), "\(result.output)")
            }
        }
        for command in [["check"], ["run"], ["healthcheck"], ["upstreams"], ["keys", "rotate-signing"]] {
            let both = try Self.run(command + ["FILE", "--config", "FILE"], Self.settings)
            #expect(both.status == 64 && both.output.contains("Pass the file only once: "), "\(both.output)")
        }
        let wrong = try Self.run(["run", "FILE"], Self.settings + "sesion: {}\nlisten: 8080\n")
        #expect(wrong.status == 1 && wrong.output.hasPrefix("invalid: 2 problems\n  /"), "\(wrong.output)")
        let absent = try Self.run(["run", "FILE"])
        #expect(absent.status == 1 && absent.output.contains("no such file"), "\(absent.output)")
    }

    @Test func saysTheShortestWayWithoutSettings() throws {
        for command in ["run", "check"] {
            let result = try Self.run([command])
            #expect(result.status == 1 && result.output.split(separator: "\n").count == 1, "\(result.output)")
            for part in ["pass a file", "SALLYPORT_PUBLIC_URL", "sallyport init", "sallyport demo"] {
                #expect(result.output.contains(part), "\(result.output)")
            }
        }
    }

    @Test(arguments: [
        ("serve", "run"), ("start", "run"), ("validate", "check"), ("version", "--version"), ("chek", "check"),
        ("htpasswd", "hash-password"), ("status", "healthcheck"), ("sign-out", "sessions end"), ("users", "sessions"),
    ])
    func knowsTheNamesOfOthersForItsCommands(word: String, command: String) throws {
        let result = try Self.run([word])
        #expect(result.status == 64, "\(result.output)")
        #expect(result.output.contains("there is no command \(word); did you mean \(command)?"), "\(result.output)")
    }

    @Test(
        "Output that cannot be written makes the exit status 1 and is reported on standard error",
        arguments: [
            ["check", "FILE"], ["check", "--for", "nginx", "FILE"],
            ["explain", "--config", "FILE", "--url", "http://localhost:8080/"], ["completion", "bash"], ["man"],
            ["texts"], ["keys", "--help"], ["--version"], ["init", "--directory", "FILE.new"],
            ["hash-password", "--user", "ada"],
        ]
    )
    func reportsOutputThatIsLost(words: [String]) throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "sallyport.yaml")
        let settings = Self.settings + "authorization: {listen: \"127.0.0.1:9092\", peers: [127.0.0.1]}\n"
        try Data(settings.utf8).write(to: file)
        func run(_ line: String, _ number: Int) throws -> (status: Int32, output: String) {
            // A folder of its own for each `init`.
            let words = words.map {
                $0 == "FILE.new" ? "\(file.path).\(number)" : $0.replacing("FILE", with: file.path)
            }
            return try Servers.run(
                "/bin/bash",
                ["-c", line, Gateway.binary.path] + words,
                input: Array("analytical engine\n".utf8)
            )
        }
        let full = try run(#""$0" "$@" >/dev/full"#, 1)
        let sentence = "sallyport: cannot write to standard output: "
        #expect(full.status == 1 && full.output.hasSuffix("\(sentence)No space left on device\n"), "\(full.output)")
        let closed = try run(#""$0" "$@" >&-"#, 2)
        #expect(closed.status == 1 && closed.output.hasSuffix("\(sentence)Bad file descriptor\n"), "\(closed.output)")
        // A reader that has read enough is no fault.
        let enough = try run(#""$0" "$@" | true; exit "${PIPESTATUS[0]}""#, 3)
        #expect(enough.status == 0 && !enough.output.contains(sentence), "\(enough.output)")
    }

    @Test func judgesAnOverlayWithoutTheFilesOfItsCluster() throws {
        let overlay = Gateway.root.appending(path: "deploy/kubernetes/overlays/production/sallyport.yaml").path
        let strict = try Servers.run(Gateway.binary.path, ["check", "--quiet", overlay])
        #expect(strict.status == 1 && strict.output.contains("no such file"), "\(strict.output)")
        let loose = try Servers.run(Gateway.binary.path, ["check", "--quiet", "--without-files", overlay])
        #expect(loose.status == 0, "\(loose.output)")
        #expect(
            loose.output.hasPrefix("valid, except for the files that the settings refer to, which were not read\n"),
            "\(loose.output)"
        )
        let wrong = try Self.run(
            ["check", "--without-files", "FILE"],
            Self.settings + "secret_file: /nowhere\nlog: {level: x}\n"
        )
        #expect(wrong.status == 1 && wrong.output.hasPrefix("invalid: 1 problem\n"), "\(wrong.output)")
        let network = try Self.run(["check", "--without-files", "--network", "FILE"], Self.settings)
        #expect(network.status == 64, "\(network.output)")
    }

    /// What proves the gateway to a provider is in a file, too.
    @Test(
        arguments: [
            "client_secret_file: nowhere", "client_secret_file: nowhere, client_authentication: client_secret_basic",
            "client_secret_file: nowhere, client_authentication: client_secret_post", "client_key_file: nowhere",
            "client_key_file: nowhere, client_authentication: private_key_jwt",
        ]
    )
    func judgesAProviderWithoutTheFileOfItsClient(_ proof: String) throws {
        let oauth2 = "name: id, authorization_url: https://id.example.com/a, token_url: https://id.example.com/t"
        for provider in [
            "oidc: {issuer: https://id.example.com", "introspection: {url: https://id.example.com/i, audiences: [api]",
            "oauth2: {\(oauth2), userinfo_url: https://id.example.com/u, claims: {subject: id}",
        ] {
            let settings = """
                public_url: https://app.example.com
                upstream: http://127.0.0.1:3000
                provider: {\(provider), client_id: gateway, \(proof)}}

                """
            let loose = try Self.run(["check", "--quiet", "--without-files", "FILE"], settings)
            #expect(loose.status == 0, "\(provider): \(loose.output)")
            let strict = try Self.run(["check", "--quiet", "FILE"], settings)
            #expect(strict.status == 1 && strict.output.contains("no such file"), "\(provider): \(strict.output)")
        }
    }
}
