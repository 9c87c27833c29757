import Foundation
import GatewayBench
import Testing
import Vocabulary

/// Operators change clients at the admin listener, as at Auth0's Management API.
@Suite("Clients at the admin listener", .blocking) struct OperatorClientTests {
    private func with(_ body: (Gateway) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port).replacing(
            "admin:\n  listen: 127.0.0.1:0\n",
            with: "admin: {listen: \"127.0.0.1:0\", tokens_file: operator-tokens}\nasn: {csv: asn.csv}\n"
        )
        let files = ["operator-tokens": OperatorTokens.file, "asn.csv": "127.0.0.0/8,64500\n"]
        try Gateway.with(settings, files: files, body)
    }

    private func json(_ answer: Answer) throws -> JSONValue {
        try #require(JSONText.decode(Array(answer.text.utf8)), "\(answer.text)")
    }

    @Test("The seed's curl lines work as printed, with two slashes, and count for the next request")
    func curl() throws {
        try self.with { gateway throws in
            func patch(_ id: String, _ data: String) throws -> JSONValue {
                let run = try Servers.run(
                    "/usr/bin/curl",
                    [
                        "-sS", "--fail-with-body", "--request", "PATCH",
                        "--url", "http://127.0.0.1:\(gateway.adminPort)/api/v2/clients//\(id)",
                        "--header", "authorization: Bearer \(OperatorTokens.all)",
                        "--header", "content-type: application/json", "--data", data,
                    ]
                )
                #expect(run.status == 0, "\(run.output)")
                return try #require(JSONText.decode(Array(run.output.utf8)))
            }
            _ = try patch("native", #"{"session_transfer": {"can_create_session_transfer_token": false}}"#)
            #expect(try gateway.exchange(gateway.native()).status >= 400)
            let native = try patch(
                "native",
                """
                {
                  "session_transfer": {
                    "can_create_session_transfer_token": true,
                    "enforce_device_binding": "ip"
                  }
                }
                """
            )
            #expect(native["session_transfer"]?["can_create_session_transfer_token"] == true)
            #expect(native["sallyport"]?["source"] == "file")
            let token = try gateway.transferToken()
            let web = try patch(
                "web",
                """
                {
                  "session_transfer": {
                    "allowed_authentication_methods": ["cookie", "query"]
                  }
                }
                """
            )
            #expect(web["session_transfer"]?["enforce_device_binding"] == "ip")
            #expect(
                try gateway.get(
                    "/?session_transfer_token=\(token)",
                    ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: none"]
                ).status == 303
            )
        }
    }

    @Test("What is refused says which member, in Auth0's form, and shows no secret")
    func refusals() throws {
        try self.with { gateway throws in
            let target = "/api/v2/clients/web"
            let wrong = #"{"session_transfer": {"enforce_device_binding": "imei"}}"#
            let bad = try gateway.operate("PATCH", target, token: OperatorTokens.all, json: wrong)
            #expect(bad.status == 400 && bad.values("content-type") == ["application/json; charset=utf-8"])
            let document = try self.json(bad)
            #expect(document["statusCode"] == 400 && document["error"] == "Bad Request")
            #expect(document["errorCode"] == "invalid_body")
            let message = document["message"]?.string ?? ""
            #expect(message.contains("session_transfer.enforce_device_binding: found \"imei\""), "\(message)")
            for (token, status, code) in [
                (nil, 401, "invalid_token"), ("x", 401, "invalid_token"),
                (OperatorTokens.reader, 403, "insufficient_scope"),
            ] {
                let answer = try gateway.operate("PATCH", target, token: token, json: "{}")
                #expect(try answer.status == status && self.json(answer)["errorCode"] == .string(code))
            }
            for body in ["[]", "{", "{\"a\":1,\"a\":2}", ""] {
                #expect(try gateway.operate("PATCH", target, token: OperatorTokens.all, json: body).status == 400)
            }
            let unknown = try gateway.operate("GET", "/api/v2/clients/nobody", token: OperatorTokens.reader)
            #expect(try unknown.status == 404 && self.json(unknown)["errorCode"] == "inexistent_client")
            for query in [
                "?page=-1", "?per_page=101", "?q=x", "?include_totals=1", "?page=0&page=1", "?is_global=true",
            ] {
                let answer = try gateway.operate("GET", "/api/v2/clients\(query)", token: OperatorTokens.reader)
                #expect(
                    try answer.status == 400 && self.json(answer)["errorCode"] == "invalid_query_string",
                    "\(query)"
                )
            }
            let method = try gateway.operate("PUT", target, token: OperatorTokens.all, json: "{}")
            #expect(try method.status == 405 && self.json(method)["statusCode"] == 405)
            #expect(try gateway.get("/api/v2/clients").status != 200)
            let secret = #"{"client_secret": ["a secret in the wrong shape"]}"#
            let odd = try gateway.operate("PATCH", target, token: OperatorTokens.all, json: secret)
            #expect(odd.status == 400 && !odd.text.contains("wrong shape"))
            #expect(!gateway.output.contains("wrong shape"))
        }
    }

    @Test("A made client's secret is shown once and never again, and the audit stream says who changed which members")
    func secretsAndRecords() throws {
        try self.with { gateway throws in
            let made = try gateway.operate(
                "POST",
                "/api/v2/clients",
                token: OperatorTokens.all,
                json: #"{"name": "Shop", "app_type": "regular_web"}"#
            )
            let client = try self.json(made)
            let (id, secret) = (
                try #require(client["client_id"]?.string), try #require(client["client_secret"]?.string)
            )
            #expect(made.status == 201 && secret.utf8.count == 64)
            for target in ["/api/v2/clients", "/api/v2/clients/\(id)"] {
                let answer = try gateway.operate("GET", target, token: OperatorTokens.reader)
                #expect(answer.text.contains(id) && !answer.text.contains(secret))
            }
            let refreshed = try gateway.request(
                Request.post(
                    "/oauth/token",
                    ["Content-Type: application/x-www-form-urlencoded"],
                    body: "grant_type=refresh_token&client_id=\(id)&client_secret=\(secret)&refresh_token=x"
                )
            )
            #expect(refreshed.text.contains("invalid_grant"), "\(refreshed.text)")
            #expect(try gateway.operate("DELETE", "/api/v2/clients/\(id)", token: OperatorTokens.all).status == 204)
            #expect(try gateway.operate("GET", "/api/v2/clients/\(id)", token: OperatorTokens.all).status == 404)
            #expect(
                eventually {
                    gateway.output.contains(#""members":"app_type,client_id,name,client_secret""#)
                        && gateway.output.contains(#""token":"3e37e8ef""#)
                }
            )
            #expect(!gateway.output.contains(secret))
            let metrics = try gateway.admin("/metrics").text
            #expect(metrics.contains(#"sallyport_client_changes_total{act="create",result="done"} 1"#))
            #expect(metrics.contains("sallyport_clients_changed 0"))
        }
    }

    @Test("A reload that does not fit what was changed leaves the former file in use, and says why")
    func reload() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        func settings(_ more: String) -> String {
            Config.file(upstream: app.port, clients: Config.clients(more: more)).replacing(
                "admin:\n  listen: 127.0.0.1:0\n",
                with: "admin: {listen: \"127.0.0.1:0\", tokens_file: operator-tokens}\n"
            )
        }
        let server = "  - {client_id: server, client_secret_file: server.secret}"
        let files = ["operator-tokens": OperatorTokens.file, "server.secret": "a secret of the server's own\n"]
        try Gateway.with(settings(server), files: files) { gateway throws in
            let trusted = #"{"is_token_endpoint_ip_header_trusted": true}"#
            let target = "/api/v2/clients/server"
            #expect(try gateway.operate("PATCH", target, token: OperatorTokens.all, json: trusted).status == 200)
            try gateway.reload(settings("  - {client_id: server}"))
            #expect(
                eventually {
                    gateway.output.contains("configuration not reloaded")
                        && gateway.output.contains("the changes made to server at run time do not fit this file")
                }
            )
            let kept = try self.json(try gateway.operate("GET", target, token: OperatorTokens.reader))
            #expect(kept["is_token_endpoint_ip_header_trusted"] == true && kept["sallyport"]?["withheld"] == nil)
        }
    }

    @Test(
        "auth0-python's ManagementClient lists, makes, reads, changes and deletes clients",
        .enabled(if: OryClient.python != nil, "auth0-python is not installed")
    )
    func python() throws {
        let python = try #require(OryClient.python)
        // The client speaks https only; the transport below takes that away on this machine and changes nothing else.
        let script = """
            import sys, httpx
            from auth0.management import ManagementClient
            from auth0.management.core.api_error import ApiError

            port, token = sys.argv[1:]
            class Plain(httpx.HTTPTransport):
                def handle_request(self, request):
                    request.url = request.url.copy_with(scheme='http')
                    return super().handle_request(request)
            api = ManagementClient(
                domain=f'127.0.0.1:{port}', token=token, httpx_client=httpx.Client(transport=Plain()))

            assert [c.client_id for c in api.clients.list()] == ['native', 'web']
            pages = api.clients.list(per_page=1)
            assert [c.client_id for c in pages] == ['native', 'web'] and pages.response.total == 2
            assert [c.client_id for c in api.clients.list(fields='client_id')] == ['native', 'web']

            made = api.clients.create(
                name='Shop', app_type='regular_web', callbacks=['https://shop.example.com/cb'],
                client_metadata={'team': 'web', 'cost': '7'},
                session_transfer={'allowed_authentication_methods': ['query'], 'enforce_device_binding': 'asn'})
            assert len(made.client_secret) == 64 and made.session_transfer.enforce_device_binding == 'asn'
            got = api.clients.get(made.client_id)
            assert got.client_secret is None and got.name == 'Shop' and got.client_metadata == {'team': 'web', 'cost': '7'}
            assert got.refresh_token.leeway == 60 and got.refresh_token.rotation_type == 'rotating'
            assert got.callbacks == ['https://shop.example.com/cb'] and got.session_transfer.allow_refresh_token is False

            changed = api.clients.update(
                made.client_id, session_transfer={'allowed_authentication_methods': ['cookie']},
                client_metadata={'cost': None})
            assert changed.session_transfer.allowed_authentication_methods == ['cookie']
            assert changed.session_transfer.enforce_device_binding == 'asn'
            assert changed.client_metadata == {'team': 'web'}, changed.client_metadata
            assert api.clients.get(made.client_id, fields='name', include_fields=True).name == 'Shop'

            def refused(call, *arguments, **named):
                try:
                    call(*arguments, **named)
                except ApiError as error:
                    return error.status_code, error.body
                raise AssertionError('not refused')

            status, body = refused(api.clients.update, made.client_id, callbacks=['javascript:alert(1)'])
            assert status == 400 and body['errorCode'] == 'invalid_body' and 'callbacks[0]' in body['message'], body
            api.clients.delete(made.client_id)
            status, body = refused(api.clients.get, made.client_id)
            assert status == 404 and body == {
                'statusCode': 404, 'error': 'Not Found', 'message': 'The client does not exist',
                'errorCode': 'inexistent_client'}, body
            print('done')
            """
        try self.with { gateway throws in
            let run = try Servers.run(python, ["-c", script, String(gateway.adminPort), OperatorTokens.all])
            #expect(run.status == 0 && run.output == "done\n", "\(run.output)")
        }
    }
}
