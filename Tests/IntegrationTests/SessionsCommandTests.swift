import Foundation
import GatewayBench
import Testing
import Vocabulary

/// `sallyport sessions`: who is signed in, and signing users out.
@Suite("The command sessions", .blocking) struct SessionsCommandTests {
    /// The command's exit status and output.
    private typealias Answer = (status: Int32, output: String)

    private func with(_ body: (Gateway, (_ arguments: [String], _ token: String) throws -> Answer) throws -> Void)
        throws
    {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port).replacing(
            "admin:\n  listen: 127.0.0.1:0\n",
            with: "admin: {listen: \"127.0.0.1:0\", tokens_file: operator-tokens}\n"
        )
        try Gateway.with(settings, files: ["operator-tokens": OperatorTokens.file]) { gateway throws in
            try body(gateway) { arguments, token in
                let all = ["sessions"] + arguments + ["--token-file", "-", "--admin", "127.0.0.1:\(gateway.adminPort)"]
                return try Servers.run(Gateway.binary.path, all, input: Array("\(token)\n".utf8))
            }
        }
    }

    @Test("It shows all sessions, those of an address, of a subject and of a provider, and one in full")
    func show() throws {
        try self.with { gateway, run throws in
            #expect(try run(["list"], OperatorTokens.reader).output.isEmpty)
            _ = try gateway.browser()
            _ = try gateway.native()
            let all = try run([], OperatorTokens.reader)
            let lines = all.output.split(separator: "\n")
            #expect(all.status == 0 && lines.count == 2, "\(all.output)")
            #expect(
                lines.allSatisfy { $0.contains("ada@example.com (user-1815)") && $0.contains("  127.0.0.1  since 20") }
            )
            for question in [["--email", "ADA@example.com"], ["--subject", "user-1815"], ["--all"]] {
                #expect(try run(["list"] + question, OperatorTokens.reader).output.split(separator: "\n").count == 2)
            }
            #expect(try run(["list", "--email", "grace@example.com"], OperatorTokens.reader).output.isEmpty)
            let handle = try #require(lines.first?.split(separator: " ").first.map(String.init))
            let shown = try run(["show", handle], OperatorTokens.reader)
            #expect(shown.status == 0 && shown.output.contains("handle: \(handle)\n"), "\(shown.output)")
            #expect(shown.output.contains("email: ada@example.com\n"))
            let unknown = try run(["show", Self.unknown], OperatorTokens.reader)
            #expect(unknown.status == 2, "\(unknown.output)")
            #expect(unknown.output == "no session matches \(Self.unknown)\n")
        }
    }

    /// A handle that no session has.
    private static let unknown = "AAAAAAAAAA." + String(repeating: "A", count: 43)

    @Test("An end that ends nothing says so and has a status of its own, unless it may find nobody")
    func nobody() throws {
        try self.with { gateway, run throws in
            let token = try gateway.native()
            for choice in [[Self.unknown], ["--email", "grace@example.com"], ["--subject", "user-1816"]] {
                for more in [[], ["--dry-run"]] {
                    let answer = try run(["end"] + choice + more, OperatorTokens.all)
                    let sentence = "no session matches \(choice.joined(separator: " "))\n"
                    #expect(answer.status == 2 && answer.output == sentence, "\(answer.output)")
                    let ignored = try run(["end", "--ignore-not-found"] + choice + more, OperatorTokens.all)
                    #expect(ignored.status == 0 && ignored.output == sentence, "\(ignored.output)")
                }
            }
            // What could not be asked is another thing than nobody.
            for choice in [[Self.unknown], ["--email", "grace@example.com"]] {
                #expect(try run(["end", "--ignore-not-found"] + choice, "another-token").status == 1)
            }
            let missing = try gateway.operate("DELETE", "/sessions/\(Self.unknown)", token: OperatorTokens.all)
            #expect(missing.status == 404 && missing.text.contains(#""status":404,"reason":"session.unknown""#))
            #expect(missing.value("www-authenticate") == nil)
            #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(token)"]).status == 200)
            #expect(try run(["end", "--all"], OperatorTokens.all).status == 0)
            let again = try run(["end", "--all"], OperatorTokens.all)
            #expect(again.status == 0 && again.output == "nobody is signed in\n", "\(again.output)")
        }
    }

    @Test("It ends one session, or signs a user out by address, and only says so with --dry-run")
    func end() throws {
        try self.with { gateway, run throws in
            let tokens = try [gateway.native(), gateway.native()]
            func live() throws -> Int {
                try tokens.count { try gateway.get("/sessions/whoami", ["X-Session-Token: \($0)"]).status == 200 }
            }
            let dry = try run(["end", "--email", "ada@example.com", "--dry-run"], OperatorTokens.reader)
            #expect(dry.status == 0 && dry.output.hasSuffix("would sign out 1 user of 2 sessions\n"), "\(dry.output)")
            #expect(try live() == 2)
            let handle = try #require(dry.output.split(separator: " ").first.map(String.init))
            #expect(try run(["end", handle], OperatorTokens.reader).output.contains("needs the scope read to show"))
            #expect(try run(["end", handle, "--dry-run"], OperatorTokens.reader).output.hasPrefix(handle))
            #expect(try live() == 2)
            #expect(try run(["end", handle], OperatorTokens.all).output == "ended\n")
            #expect(try live() == 1)
            let signedOut = try run(["end", "--email", "Ada@example.com"], OperatorTokens.all)
            #expect(signedOut.output == "signed out 1 user of 1 session\n", "\(signedOut.output)")
            #expect(try live() == 0)
            #expect(eventually { gateway.output.contains(#""act":"subjects.sign_out""#) })
            _ = try gateway.native()
            #expect(try run(["end", "--all"], OperatorTokens.all).output == "signed out 1 user of 1 session\n")
            #expect(try run(["list"], OperatorTokens.all).output.isEmpty)
        }
    }

    @Test("A user is signed out whatever the id is made of, and whichever provider the sessions are of")
    func names() throws {
        try self.with { gateway, run throws in
            // Signed out all the same: a session may be in no list yet.
            for subject in ["https://id.example.com/users/7", "a|b/c", "..", "%2F", "a?b#c&d=e f", "\u{e4}/\u{1F600}"] {
                let answer = try run(["end", "--subject", subject], OperatorTokens.all)
                #expect(answer.status == 2, "\(answer.output)")
                #expect(answer.output == "no session matches --subject \(subject)\n")
            }
            #expect(eventually { gateway.output.contains("id.example.com") })
            for query in [
                "", "?subject=", "?subject=a&subject=b", "?subject=a&provider=nobody", "?email=ada@example.com",
            ] {
                let answer = try gateway.operate("DELETE", "/sessions\(query)", token: OperatorTokens.all)
                #expect(answer.status == 400, "\(query): \(answer.text)")
            }
            let target = "/sessions?subject=user-1815"
            let token = try gateway.native()
            #expect(try gateway.operate("DELETE", target, token: OperatorTokens.reader).status == 403)
            #expect(try gateway.operate("DELETE", target, token: OperatorTokens.all).status == 204)
            #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(token)"]).status == 401)
        }
    }

    @Test("It says what is wrong with its arguments, and what the gateway refuses")
    func mistakes() throws {
        try self.with { gateway, run throws in
            for (arguments, sentence) in [
                (["end"], "Use one of: a handle, --email, --subject, --provider, --all."),
                (["end", "--all", "--email", "ada@example.com"], "Use one of"),
                (["list", "--email", "ada"], "--email must be an email address"),
                (["list", "--email", "ada@example.com", "--subject", "ada"], "exclude each other"),
                (["list", "--provider", "nobody"], "the provider or session is unknown"),
                (["show", "x"], "answers 400"),
            ] {
                let answer = try run(arguments, OperatorTokens.all)
                #expect(answer.status != 0 && answer.output.contains(sentence), "\(arguments): \(answer.output)")
            }
            let place = "https://127.0.0.1:\(gateway.adminPort)"
            let plain = try Servers.run(Gateway.binary.path, ["healthcheck", "--admin", place])
            #expect(
                plain.status == 1 && plain.output.contains("answers without TLS: remove https://"),
                "\(plain.output)"
            )
            #expect(!plain.output.contains("BoringSSL"), "\(plain.output)")
            #expect(try run([], "another-token").output.contains("the token is not in its admin.tokens_file"))
            for query in [
                "email=", "email=a@b.example&email=a@b.example", "page=x", "page=1&page=1", "subject=", "provider=x",
            ] {
                let answer = try gateway.operate("GET", "/sessions?\(query)", token: OperatorTokens.all)
                #expect(answer.status == 400, "\(query): \(answer.text)")
            }
        }
    }

    @Test("Live sessions are a metric")
    func metric() throws {
        try self.with { gateway, _ throws in
            let line = "\nsallyport_sessions_live 0"
            #expect(eventually { (try? gateway.admin("/metrics").text.contains(line)) == true })
        }
    }
}
