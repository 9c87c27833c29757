import Foundation
import GatewayBench
import Testing
import Vocabulary

/// Operators see and end the sessions of users at the admin listener.
@Suite("Operators", .blocking) struct OperatorTests {
    private func with(_ admin: String, _ body: (Gateway) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port).replacing(
            "admin:\n  listen: 127.0.0.1:0\n",
            with: "admin: {\(admin)}\n"
        )
        try Gateway.with(settings, files: ["operator-tokens": OperatorTokens.file], body)
    }

    private static let admin = "listen: \"127.0.0.1:0\", tokens_file: operator-tokens"

    private func sessions(_ gateway: Gateway) throws -> [JSONValue] {
        let answer = try gateway.operate("GET", "/sessions?subject=user-1815", token: OperatorTokens.reader)
        #expect(answer.status == 200, "\(answer.text)")
        guard case .array(let sessions) = JSONText.decode(Array(answer.text.utf8))?["sessions"] else { return [] }
        return sessions
    }

    @Test("Operators list the sessions of a user and end one or all of them, and every call is in the audit stream")
    func walk() throws {
        try self.with(Self.admin) { gateway throws in
            let native = try gateway.native()
            let browser = try gateway.browser()
            let last = try gateway.native()
            let listed = try self.sessions(gateway)
            #expect(listed.count == 3 && Set(listed.compactMap { $0["kind"]?.string }) == ["web", "native"])
            let web = try #require(listed.first { $0["kind"] == "web" })
            let id = try #require(web["id"]?.string)
            #expect(try gateway.operate("DELETE", "/sessions/\(id)", token: OperatorTokens.all).status == 400)
            let target = "/sessions/\(id)?subject=user-1815"
            #expect(try gateway.operate("DELETE", target, token: OperatorTokens.reader).status == 403)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(browser)"]).status == 200)
            #expect(try gateway.operate("DELETE", target, token: OperatorTokens.all).status == 204)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(browser)"]).status == 401)
            let handle = try #require(try self.sessions(gateway).last?["handle"]?.string)
            #expect(try gateway.operate("DELETE", "/sessions/\(handle)", token: OperatorTokens.all).status == 204)
            #expect(try self.sessions(gateway).count == 1)
            #expect(
                try gateway.operate("POST", "/subjects/user-1815/sign-out", token: OperatorTokens.all).status == 204
            )
            for token in [native, last] {
                #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(token)"]).status == 401)
            }
            for act in ["sessions.list", "sessions.end", "subjects.sign_out"] {
                #expect(eventually { gateway.output.contains("\"act\":\"\(act)\"") })
            }
            #expect(gateway.output.contains("operator ops"))
            for secret in [OperatorTokens.all, OperatorTokens.reader] { #expect(!gateway.output.contains(secret)) }
        }
    }

    @Test(
        "Operators see what is counted against an address, and empty it by sallyport limits, which is in the audit stream"
    )
    func limits() throws {
        try self.with(Self.admin) { gateway throws in
            func signIn(_ password: String) throws -> Int {
                let fields = ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"]
                let body = "identifier=\(User.ada.identifier)&password=\(password)&return_to=/"
                return try gateway.request(Request.post("/.sallyport/login", fields, body: body)).status
            }
            func run(_ arguments: [String], token: String = OperatorTokens.all) throws -> (
                status: Int32, output: String
            ) {
                let admin = "127.0.0.1:\(gateway.adminPort)"
                let all = ["limits"] + arguments + ["--token-file", "-", "--admin", admin]
                return try Servers.run(Gateway.binary.path, all, input: Array("\(token)\n".utf8))
            }
            var status = 422
            for _ in 0..<40 where status == 422 { status = try signIn("wrong") }
            #expect(status == 429)
            #expect(try signIn(User.ada.password) == 429)
            let question = ["--address", "127.0.0.1", "--account", "ADA@example.com"]
            let shown = try run(question, token: OperatorTokens.reader)
            #expect(
                shown.status == 0 && shown.output.contains("signin.user: 10 of 10, throttled for "),
                "\(shown.output)"
            )
            #expect(shown.output.contains("signin.ipv4_network: ") && shown.output.contains("exchange.flow: 0 of 60"))
            #expect(try run(["--address", "127.0.0.1"]).output.contains("signin.user:") == false)
            #expect(try run(["clear"] + question, token: OperatorTokens.reader).status == 1)
            // Another address, and all accounts together, are another count.
            #expect(try run(["clear", "--address", "127.0.0.2", "--account", User.ada.identifier]).status == 0)
            #expect(try run(["clear", "--address", "127.0.0.1"]).status == 0)
            #expect(try signIn(User.ada.password) == 429)
            #expect(try run(["clear"] + question).output.contains("cleared"))
            #expect(try signIn(User.ada.password) == 303)
            #expect(
                try run(question, token: "another-token").output.contains("the token is not in its admin.tokens_file")
            )
            #expect(try run(["--address", "nowhere"]).status != 0)
            #expect(try gateway.operate("GET", "/limits", token: OperatorTokens.all).status == 400)
            #expect(eventually { gateway.output.contains(#""act":"limits.clear of 127.0.0.1""#) })
            #expect(eventually { gateway.output.contains(#""act":"limits.list""#) })
        }
    }

    @Test("Without a token, or with another one, nothing is shown; health and metrics need none")
    func refused() throws {
        try self.with(Self.admin) { gateway throws in
            for token in [nil, "", "x", OperatorTokens.all + "x"] {
                #expect(try gateway.operate("GET", "/sessions?subject=user-1815", token: token).status == 401)
            }
            #expect(try gateway.admin("/healthz").status == 200)
            #expect(try gateway.get("/subjects/user-1815/sign-out").status != 204)
        }
    }

    @Test("A reload admits operators by the first tokens, by other ones, and by none")
    func reload() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        func settings(_ admin: String) -> String {
            Config.file(upstream: app.port).replacing(
                "admin:\n  listen: 127.0.0.1:0\n",
                with: "admin: {listen: \"127.0.0.1:0\"\(admin)}\n"
            )
        }
        let other = OperatorTokens.file.split(separator: "\n").filter { !$0.hasPrefix("ops") }.joined(separator: "\n")
        let files = ["operator-tokens": OperatorTokens.file, "other-tokens": other + "\n"]
        try Gateway.with(settings(""), files: files) { gateway throws in
            func status(_ token: String) throws -> Int {
                try gateway.operate("GET", "/sessions?subject=user-1815", token: token).status
            }
            #expect(try status(OperatorTokens.all) == 404)
            try gateway.reload(settings(", tokens_file: operator-tokens"))
            #expect(try status(OperatorTokens.all) == 200 && status(OperatorTokens.reader) == 200)
            try gateway.reload(settings(", tokens_file: other-tokens"))
            #expect(try status(OperatorTokens.all) == 401 && status(OperatorTokens.reader) == 200)
            #expect(try gateway.admin("/healthz").status == 200)
            try gateway.reload(settings(""))
            #expect(try status(OperatorTokens.reader) == 404 && gateway.admin("/healthz").status == 200)
        }
    }

    @Test("Without configured tokens the admin listener has no such endpoints, on loopback or beyond")
    func unconfigured() throws {
        for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
            try self.with("listen: \"\(listen)\"") { gateway throws in
                for (method, target) in [("GET", "/sessions?subject=x"), ("POST", "/subjects/x/sign-out")] {
                    #expect(try gateway.operate(method, target, token: OperatorTokens.all).status == 404)
                }
            }
        }
    }

    @Test("A refused call says what is missing")
    func details() throws {
        try self.with(Self.admin) { gateway throws in
            for (method, target, token, detail) in [
                (
                    "GET", "/sessions?subject=a&provider=other", OperatorTokens.all,
                    "write GET /sessions?subject=SUBJECT"
                ),
                (
                    "GET", "/sessions?emial=ada@example.com", OperatorTokens.all,
                    "write GET /sessions?subject=SUBJECT"
                ),
                (
                    "DELETE", "/sessions/x", OperatorTokens.all,
                    "write DELETE /sessions/HANDLE, or DELETE /sessions/ID?subj"
                ),
                ("GET", "/limits", OperatorTokens.all, "write GET /limits?address=ADDRESS[&account=ACCOUNT]"),
                ("GET", "/sessions?subject=a", "x", "send Authorization: Bearer with a token whose SHA-256 is in "),
                ("DELETE", "/sessions/x?subject=a", OperatorTokens.reader, "the token lacks the scope sessions in "),
            ] {
                let answer = try gateway.operate(method, target, token: token)
                #expect(answer.text.contains("\"detail\":\"\(detail)"), "\(target): \(answer.text)")
            }
        }
    }
}
