import Foundation
import GatewayBench
import Testing

/// What the logs of the built binary tell of a session's end, and `explain --session`.
@Suite("Why a user was asked to sign in again", .blocking) struct SessionEvidenceTests {
    private static func lines(_ gateway: Gateway, _ stream: String) -> [[String: Any]] {
        gateway.output.split(separator: "\n").compactMap { line in
            guard line.hasPrefix(#"{"stream":"\#(stream)""#) else { return nil }
            return try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        }
    }

    /// The line of the access log about this path, when it is there.
    private static func access(_ path: String, _ gateway: Gateway) throws -> [String: Any] {
        #expect(eventually { Self.lines(gateway, "access").contains { $0["path"] as? String == path } }, "\(path)")
        return try #require(Self.lines(gateway, "access").first { $0["path"] as? String == path })
    }

    private static func explain(_ session: String, _ gateway: Gateway) throws -> String {
        let file = gateway.folder.appending(path: "output.log").path
        return try Servers.run(Gateway.binary.path, ["explain", "--session", session, "--log", file]).output
    }

    private static let more = "secret_file: secret\n"
    private static let files = ["secret": String(repeating: "0123456789abcdef", count: 4)]

    @Test(
        "A sign-out is told from its fingerprint, in the access log and in the audit stream; the client is told no more"
    )
    func signedOut() throws {
        try Gateway.withApp({ Config.file(upstream: $0, more: Self.more) }, files: Self.files) { gateway, _ in
            let token = try gateway.browser()
            let cookie = ["Cookie: sallyport=\(token)"]
            #expect(try gateway.get("/before", cookie).status == 200)
            #expect(try gateway.get("/again", cookie).status == 200)
            _ = try gateway.signOut(token)
            let refused = try gateway.get("/after", cookie)
            #expect(refused.status == 401 && refused.reason == "session.unknown")
            let before = try Self.access("/before", gateway)
            let after = try Self.access("/after", gateway)
            let fingerprint = try #require(before["fingerprint"] as? String)
            #expect(fingerprint.count == 10)
            #expect(after["fingerprint"] as? String == fingerprint && after["reason"] as? String == "session.revoked")
            let audit = Self.lines(gateway, "audit")
            for event in ["session.created", "session.ended"] {
                let line = try #require(audit.last { $0["event"] as? String == event })
                #expect(line["fingerprint"] as? String == fingerprint, "\(line)")
                #expect(line["session"] as? String == before["session"] as? String)
            }
            let story = try Self.explain(fingerprint, gateway)
            // Events of the same millisecond decide whether it stands alone or in a run.
            let tellsRequest = story.contains("requests were allowed") || story.contains("/before from")
            #expect(story.contains("session.created") && tellsRequest, "\(story)")
            #expect(story.contains("session.signed_out, the user signed out."), "\(story)")
            #expect(try Self.explain(try #require(before["session"] as? String), gateway) == story)
            #expect(!story.contains(token) && !gateway.output.contains(token))
        }
    }

    @Test("A client's tokens are told by the fingerprints of their session, of its code and of its refresh tokens")
    func tokens() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        let first = try bench.refreshToken()
        let second = try ReasonBench.refreshToken(in: try bench.refresh(first))
        #expect(try bench.form("/oauth/revoke", "client_id=app&token=\(second)").status == 200)
        #expect(try bench.refresh(second).status == 400)
        func values(_ name: String, of event: String) -> [String?] {
            Self.lines(bench.gateway, "audit").filter { $0["event"] as? String == event }.map { $0[name] as? String }
        }
        #expect(eventually { values("reason", of: "token.refused") == ["refresh.unknown"] })
        // The browser's session answered the authorization request.
        let browser = values("fingerprint", of: "session.created")
        #expect(browser.count == 1 && values("fingerprint", of: "authorization.granted") == browser)
        let sessions = values("fingerprint", of: "token.issued")
        try #require(sessions.count == 2)
        #expect(sessions[0]?.count == 10 && sessions[0] == sessions[1] && !browser.contains(sessions[0]))
        #expect(values("fingerprint", of: "token.revoked") == [sessions[0]])
        let tokens = values("token_fingerprint", of: "token.issued")
        #expect(tokens.allSatisfy { $0?.count == 10 } && Set(tokens).count == 2, "the code, and the refresh token")
        #expect(values("token_fingerprint", of: "token.revoked") == [tokens[1]])
        // What has ended is still told from others.
        #expect(values("token_fingerprint", of: "token.refused") == [tokens[1]])
        for token in [first, second] { #expect(!bench.gateway.output.contains(token)) }
    }

    @Test("An operator's sign-out, a restart without a store and another secret have reasons of their own")
    func otherEnds() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, more: Self.more)
        let (old, tokens): (String, [String]) = try {
            let gateway = try Gateway(settings, files: Self.files)
            defer { gateway.stop() }
            return (try gateway.native(), [try gateway.browser()])
        }()
        try Gateway.with(settings, files: Self.files) { gateway throws in
            _ = try gateway.get("/forgotten", ["Cookie: sallyport=\(tokens[0])"])
            #expect(try Self.access("/forgotten", gateway)["reason"] as? String == "session.forgotten")
            #expect(try gateway.get("/native", ["Authorization: Bearer \(old)"]).reason == "session.unknown")
            #expect(try Self.access("/native", gateway)["reason"] as? String == "session.forgotten")
        }
        try Gateway.with(settings, files: ["secret": String(repeating: "fedcba9876543210", count: 4)]) {
            gateway throws in
            _ = try gateway.get("/other-key", ["Cookie: sallyport=\(tokens[0])"])
            #expect(try Self.access("/other-key", gateway)["reason"] as? String == "credential.other_key")
        }
    }

    @Test("A handoff is told by the fingerprints of its token and of both sessions")
    func handoff() throws {
        try Gateway.withApp({ Config.file(upstream: $0, more: Self.more) }, files: Self.files) { gateway, _ in
            let native = try gateway.native()
            let token = try gateway.mint(native)
            let page = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]
            let cookie = try #require(try gateway.get("/handed?session_transfer_token=\(token)", page).sessionCookie)
            let line = try Self.access("/handed", gateway)
            let fingerprint = try #require(line["token_fingerprint"] as? String)
            let audit = Self.lines(gateway, "audit").filter { $0["token_fingerprint"] as? String == fingerprint }
            #expect(
                audit.compactMap { $0["event"] as? String } == ["transfer_token.minted", "transfer_token.consumed"]
            )
            #expect(try gateway.get("/page", ["Cookie: sallyport=\(cookie)"]).status == 200)
            let web = try Self.access("/page", gateway)
            #expect(audit.last?["fingerprint"] as? String == web["fingerprint"] as? String)
            #expect(audit.last?["session"] as? String == web["session"] as? String)
            _ = try gateway.request(
                Request.get(
                    "/self-service/logout/api",
                    ["Content-Type: application/json"],
                    method: "DELETE",
                    body: #"{"session_token":"\#(native)"}"#
                )
            )
            _ = try gateway.get("/gone", ["Cookie: sallyport=\(cookie)"])
            #expect(try Self.access("/gone", gateway)["reason"] as? String == "session.revoked")
            let story = try Self.explain(try #require(web["fingerprint"] as? String), gateway)
            #expect(story.contains("the user signed out."), "\(story)")
        }
    }

    @Test("A line has the time at which its request began, so that it sorts before the events that it caused")
    func order() throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, _ in
            _ = try gateway.browser()
            #expect(
                eventually { Self.lines(gateway, "access").contains { $0["path"] as? String == "/.sallyport/login" } }
            )
            let created = try #require(
                Self.lines(gateway, "audit").first { $0["event"] as? String == "session.created" }
            )
            let request = try #require(
                Self.lines(gateway, "access").first { $0["request_id"] as? String == created["request_id"] as? String }
            )
            let (began, happened) = (request["time"] as? String ?? "", created["time"] as? String ?? "")
            #expect(!began.isEmpty && began <= happened, "\(began), \(happened)")
            // scrypt takes longer than the clock's steps, and the line is written after it.
            #expect(began < happened)
        }
    }

    @Test("explain says when no line is about the session, and takes no token")
    func nothing() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "no-lines-\(UUID()).log")
        try Data("{}\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let none = try Servers.run(Gateway.binary.path, ["explain", "--session", "mzxw6ytboi", "--log", file.path])
        #expect(none.status == 1 && none.output.contains("no log line is about mzxw6ytboi"))
        let token = "sps_AA" + String(repeating: "a", count: 53)
        for arguments in [
            ["--session", token, "--log", file.path], ["--session", "mzxw6ytboi"], ["--log", file.path],
        ] {
            #expect(try Servers.run(Gateway.binary.path, ["explain"] + arguments).status != 0)
        }
    }
}
