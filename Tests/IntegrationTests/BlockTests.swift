import Foundation
import GatewayBench
import KratosBench
import Testing
import Vocabulary

/// Operators keep users out.
@Suite("Blocked users", .blocking) struct BlockTests {
    private static let block = "/subjects/\(User.ada.id)/block"

    private func operate(_ gateway: Gateway, _ method: String, _ target: String, _ json: String? = nil) throws -> Answer
    {
        try gateway.operate(method, target, token: OperatorTokens.all, json: json)
    }

    @Test("A block ends everything that a user has, refuses every sign-in, and touches nobody else")
    func everything() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        let gateway = bench.gateway
        let (cookie, grace) = (try bench.cookie(), try bench.cookie(.grace))
        let native = try gateway.native()
        let (code, refresh) = (try bench.code(), try bench.refreshToken())
        let transfer = try gateway.transferToken()
        let answer = try self.operate(gateway, "PUT", Self.block, #"{"note": "left the company"}"#)
        let document = try #require(JSONText.decode(Array(answer.text.utf8)), "\(answer.text)")
        #expect(answer.status == 200 && document["signed_out"] == .bool(true))
        #expect(document["subject"] == "user-1815" && document["note"] == "left the company")
        #expect(document["blocked_by"] == "ops" && document["until"] == nil)

        // What the user had.
        #expect(try gateway.get("/", cookie).status == 401)
        #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(native)"]).status == 401)
        for refused in [try bench.redeem(code), try bench.refresh(refresh), try gateway.exchange(native)] {
            #expect(refused.status == 400 && refused.text.contains("invalid_grant"), "\(refused.text)")
        }
        let consumed = try bench.withToken(transfer)
        #expect(consumed.status == 303 && consumed.sessionCookie == nil, "\(consumed.lines)")

        // What the user tries.
        let signIn = try bench.signIn(User.ada.identifier, User.ada.password)
        #expect(signIn.status == 403 && (signIn.reason ?? signIn.pageReason) == "signin.blocked", "\(signIn.text)")
        #expect(throws: BenchFailure.self) { try gateway.native() }
        let page = try bench.form(
            "/.sallyport/login",
            "identifier=\(User.ada.identifier)&password=\(User.ada.password)&return_to=/",
            ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]
        )
        #expect(page.status == 403 && page.pageReason == "signin.blocked", "\(page.lines)")
        #expect(page.text.contains("Sign in with another account"))
        #expect(eventually { gateway.output.contains(#""event":"sign_in.failed""#) })
        #expect(eventually { gateway.output.contains(#""act":"subjects.block""#) })
        #expect(!gateway.output.contains("left the company"))

        #expect(try gateway.get("/", grace).status == 200)
        #expect(try self.operate(gateway, "DELETE", Self.block).status == 204)
        #expect(try self.operate(gateway, "DELETE", Self.block).status == 204)
        #expect(try bench.signIn(User.ada.identifier, User.ada.password).status == 303)
        #expect(try bench.refresh(refresh).status == 400)
        #expect(try gateway.get("/", cookie).status == 401)
    }

    @Test("Operators list blocks, change their ends and notes, and get 400 for what would be ignored")
    func calls() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        let gateway = bench.gateway
        func blocks() throws -> [JSONValue] {
            let answer = try self.operate(gateway, "GET", "/blocks")
            guard case .array(let blocks)? = JSONText.decode(Array(answer.text.utf8))?["blocks"] else { return [] }
            return blocks
        }
        #expect(try blocks().isEmpty)
        let named = "/blocks?subject=urn:a%2Fb"
        #expect(try self.operate(gateway, "PUT", named, #"{"until": "2100-01-31T00:00:00Z"}"#).status == 200)
        #expect(try self.operate(gateway, "PUT", Self.block).status == 200)
        #expect(try blocks().count == 2)
        #expect(try blocks().contains { $0["subject"] == "urn:a/b" && $0["until"] == "2100-01-31T00:00:00.000Z" })
        #expect(try self.operate(gateway, "PUT", named, #"{"note": "n", "until": null}"#).status == 200)
        let changed = try #require(try blocks().first { $0["subject"] == "urn:a/b" })
        #expect(changed["note"] == "n" && changed["until"] == nil)
        #expect(try self.operate(gateway, "DELETE", named).status == 204)
        #expect(try blocks().map { $0["subject"]?.string } == ["user-1815"])
        for (target, json) in [
            (Self.block, #"{"until": "2020-01-31T00:00:00Z"}"#), (Self.block, #"{"until": "soon"}"#),
            (Self.block, #"{"until": 1}"#), (Self.block, #"{"ntoe": "n"}"#), (Self.block, "[]"), (Self.block, "x"),
            (Self.block, #"{"note": "\#(String(repeating: "n", count: 257))"}"#),
            (Self.block + "?until=2100-01-31T00:00:00Z", "{}"), ("/blocks", "{}"), ("/blocks?subject=", "{}"),
            (Self.block + "?provider=nobody", "{}"),
        ] {
            let answer = try self.operate(gateway, "PUT", target, json)
            #expect(answer.status == 400 && answer.text.contains("/blocks?subject=SUBJECT"), "\(target) \(json)")
        }
        #expect(try self.operate(gateway, "GET", "/blocks?subject=user-1815").status == 400)
        for (method, target) in [("GET", "/blocks"), ("PUT", Self.block), ("DELETE", Self.block)] {
            #expect(try gateway.operate(method, target, token: OperatorTokens.reader).status == 403)
            #expect(try gateway.operate(method, target, token: nil).status == 401)
        }
        #expect(eventually { gateway.output.contains(#""act":"subjects.unblock""#) })
    }

    @Test("sallyport sessions block and unblock do the same")
    func command() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        func run(_ arguments: String...) throws -> (status: Int32, output: String) {
            let admin = "127.0.0.1:\(bench.gateway.adminPort)"
            let all = ["sessions"] + arguments + ["--token-file", "-", "--admin", admin]
            return try Servers.run(Gateway.binary.path, all, input: Array("\(OperatorTokens.all)\n".utf8))
        }
        _ = try bench.cookie()
        let terms = (until: "2100-01-31T00:00:00Z", note: "a \"b\"")
        let blocked = try run("block", "--subject", User.ada.id, "--until", terms.until, "--note", terms.note)
        #expect(blocked.status == 0 && blocked.output.contains("blocked, and signed out"), "\(blocked.output)")
        let listed = try self.operate(bench.gateway, "GET", "/blocks").text
        #expect(listed.contains(#""note":"a \"b\"""#), "\(listed)")
        #expect(listed.contains(#""until":"2100-01-31T00:00:00.000Z""#), "\(listed)")
        #expect(try bench.signIn(User.ada.identifier, User.ada.password).status == 403)
        #expect(try run("block", "--subject", User.ada.id).output.contains("blocked, but had no session"))
        #expect(try run("block", "--subject", User.ada.id, "--until", "tomorrow").status == 64)
        #expect(try run("unblock", "--subject", User.ada.id).output.contains("not blocked"))
        #expect(try bench.signIn(User.ada.identifier, User.ada.password).status == 303)
        #expect(try run("unblock").status == 64)
    }

    @Test("Kratos's tokens and cookies of a blocked user are 401, the sign-in is a page, and both work afterwards")
    func kratos() throws {
        try KratosGatewayBench.with { bench throws in
            let (old, new) = (bench.kratos.newSession(), bench.kratos.newSession())
            #expect(try bench.get("/x", ["X-Session-Token: \(old.token)"]).status == 200)
            #expect(try bench.get("/x", ["Cookie: ory_kratos_session=\(old.cookie)"]).status == 200)
            let target = "/subjects/\(old.identityID)/block"
            #expect(try self.operate(bench.gateway, "PUT", target).status == 200)
            for session in [old, new] {
                let cookie = "Cookie: ory_kratos_session=\(session.cookie)"
                for field in ["X-Session-Token: \(session.token)", cookie] {
                    let answer = try bench.get("/x", [field])
                    #expect(answer.status == 401 && answer.reason == "session.unknown", "\(answer.text)")
                    #expect(try bench.get("/.sallyport/session", [field]).status == 401)
                }
                let begun = try bench.get("/x", [cookie] + KratosGatewayBench.navigation)
                #expect(begun.status == 303, "\(begun.lines)")
                let login = "/.sallyport/login?return_to=/x"
                let page = try bench.get(login, [cookie] + KratosGatewayBench.navigation)
                #expect(page.status == 403 && page.pageReason == "signin.blocked", "\(page.lines)")
                // Another account may sign in.
                #expect(try bench.get(login + "&prompt=login", [cookie] + KratosGatewayBench.navigation).status == 303)
            }
            #expect(eventually { bench.gateway.output.contains("signin.blocked") })
            #expect(try self.operate(bench.gateway, "DELETE", target).status == 204)
            // Kratos's times may be whole seconds, so a session of the second of the block is refused as well.
            #expect(
                eventually {
                    let field = "X-Session-Token: \(bench.kratos.newSession().token)"
                    return (try? bench.get("/x", [field]).status) == 200
                }
            )
        }
    }
}
