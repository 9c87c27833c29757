import Foundation
import GatewayBench
import Testing
import Vocabulary

/// Providers deactivate users at the running gateway.
@Suite("Users by SCIM at a gateway", .blocking) struct SCIMTests {
    private static let host = "manage.localhost"

    /// Runs a gateway whose management listener serves SCIM at a port.
    private func with(_ body: (Gateway, _ port: Int) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let port = try ServerPorts.take()
        let url = "http://\(Self.host):\(port)"
        let listen = "[\"127.0.0.1:0\", {address: \"127.0.0.1:\(port)\", role: management, public_url: \"\(url)\"}]"
        let settings = Config.file(upstream: app.port, listen: listen).replacing(
            "admin:\n  listen: 127.0.0.1:0\n",
            with: "admin: {listen: \"127.0.0.1:0\", tokens_file: operator-tokens, scim: {match: {externalId: sub}}}\n"
        )
        try Gateway.with(settings, files: ["operator-tokens": OperatorTokens.file]) { try body($0, port) }
    }

    /// A request to the management listener.
    private func ask(
        _ port: Int,
        _ method: String,
        _ target: String,
        _ body: String = "",
        token: String = OperatorTokens.all
    ) throws -> Answer {
        let head = [
            "\(method) /scim/v2\(target) HTTP/1.1", "Host: \(Self.host):\(port)", "Connection: close",
            "Authorization: Bearer \(token)", "Content-Type: application/scim+json",
            "Content-Length: \(body.utf8.count)",
        ]
        return try Wire(to: port).request(head.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    private func json(_ answer: Answer) throws -> JSONValue {
        try #require(JSONText.decode(Array(answer.text.utf8)), "\(answer.lines) \(answer.text)")
    }

    @Test("A deactivation at the management listener ends a browser's session and refuses the sign-in")
    func deactivated() throws {
        try self.with { gateway, port in
            let cookie = ["Cookie: sallyport=\(try gateway.browser())"]
            let native = try gateway.native()
            #expect(try gateway.get("/", cookie).status == 200)
            let user = #"{"userName":"ada@example.com","externalId":"\#(User.ada.id)","active":true}"#
            let created = try self.ask(port, "POST", "/Users", user)
            #expect(
                created.status == 201 && created.value("content-type") == "application/scim+json",
                "\(created.lines)"
            )
            let id = try #require(try self.json(created)["id"]?.string)
            #expect(created.value("location") == "http://\(Self.host):\(port)/scim/v2/Users/\(id)")
            let found = try self.ask(port, "GET", "/Users?filter=userName%20eq%20%22ADA%40example.com%22")
            #expect(try self.json(found)["totalResults"] == 1, "\(found.text)")
            #expect(try gateway.get("/", cookie).status == 200)

            let off = #"{"Operations":[{"op":"Replace","path":"active","value":"False"}]}"#
            let changed = try self.ask(port, "PATCH", "/Users/\(id)", off)
            #expect(try changed.status == 200 && self.json(changed)["active"] == false, "\(changed.text)")
            #expect(try gateway.get("/", cookie).status == 401)
            #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(native)"]).status == 401)
            #expect(throws: BenchFailure.self) { try gateway.browser() }
            let blocks = try gateway.operate("GET", "/blocks", token: OperatorTokens.all)
            #expect(blocks.text.contains(#""scim":true"#) && !blocks.text.contains("until"), "\(blocks.text)")
            #expect(
                eventually {
                    gateway.output.contains(#""act":"scim.patch""#)
                        && gateway.output.contains(#""act":"subjects.block""#)
                }
            )

            let on = #"{"Operations":[{"op":"replace","value":{"active":true}}]}"#
            #expect(try self.ask(port, "PATCH", "/Users/\(id)", on).status == 200)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(try gateway.browser())"]).status == 200)
            #expect(try self.ask(port, "DELETE", "/Users/\(id)").status == 204)
            #expect(throws: BenchFailure.self) { try gateway.browser() }
        }
    }

    @Test("Tokens, methods, sizes and paths that do not fit are refused in SCIM's form")
    func refused() throws {
        try self.with { gateway, port in
            let large = #"{"userName":"\#(String(repeating: "a", count: 70_000))"}"#
            for (status, answer) in [
                (401, try self.ask(port, "GET", "/Users", token: "x")),
                (403, try self.ask(port, "GET", "/Users", token: OperatorTokens.reader)),
                (405, try self.ask(port, "PUT", "/Users", "{}")), (413, try self.ask(port, "POST", "/Users", large)),
                (501, try self.ask(port, "GET", "/Groups?startIndex=1&count=100")),
            ] {
                #expect(answer.status == status, "\(answer.lines)")
                let error = try self.json(answer)
                #expect(error["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"], "\(answer.text)")
                #expect(error["status"] == .string(String(status)))
            }
            // The admin listener serves it as well, the clients' own address does not.
            let target = "/scim/v2/Users?count=1"
            #expect(try gateway.operate("GET", target, token: OperatorTokens.all).status == 200)
            #expect(try gateway.get(target, ["Authorization: Bearer \(OperatorTokens.all)"]).status != 200)
        }
    }

    @Test(
        "scim2-client discovers, creates, finds, deactivates, replaces and deletes users",
        .enabled(if: OryClient.python != nil, "scim2-client is not installed")
    )
    func python() throws {
        let python = try #require(OryClient.python)
        let script = """
            import sys, httpx2
            from scim2_client.engines.httpx2 import SyncSCIMClient
            from scim2_models import PatchOp, PatchOperation, SCIMException, SearchRequest

            base, token = sys.argv[1:]
            scim = SyncSCIMClient(httpx2.Client(base_url=base, headers={'Authorization': f'Bearer {token}'}))
            scim.discover()
            assert scim.provider.config.patch.supported and not scim.provider.config.bulk.supported
            User = scim.get_resource_model('User')
            assert scim.get_resource_model('Group') is None

            made = scim.create(User(user_name='ada@example.com', external_id='user-1', active=True))
            assert made.id and made.active is True and made.external_id == 'user-1', made

            def refused(call, *arguments):
                try:
                    call(*arguments)
                except SCIMException as error:
                    return type(error).__name__
                raise AssertionError('not refused')

            assert refused(scim.create, User(user_name='ADA@example.com', external_id='user-2')) == 'UniquenessException'
            def find(filter):
                found = scim.query(User, query_parameters=SearchRequest(filter=filter))
                return [(user.id, user.active) for user in found.resources or []]
            assert find('userName eq "Ada@example.com"') == [(made.id, True)]
            assert find('externalId eq "user-2"') == []

            operation = PatchOperation(op='replace', path='active', value=False)
            changed = scim.modify(User, made.id, PatchOp[User](operations=[operation]))
            assert changed.active is False
            assert find('externalId eq "user-1"') == [(made.id, False)]
            changed.active = True
            assert scim.replace(changed).active is True
            assert scim.query(User, made.id).active is True
            assert scim.query(User, query_parameters=SearchRequest(start_index=1, count=10)).total_results == 1
            scim.delete(User, made.id)
            assert refused(scim.query, User, made.id)
            print('done')
            """
        try self.with { gateway, port in
            let base = "http://127.0.0.1:\(gateway.adminPort)/scim/v2"
            let run = try Servers.run(python, ["-c", script, base, OperatorTokens.all])
            #expect(run.status == 0 && run.output == "done\n", "\(run.output)")
        }
    }
}
