import Foundation
import GatewayBench
import KratosBench
import Testing

enum KratosClient {
    /// The Python interpreter, if it has `ory-kratos-client`, which `deploy/test.sh` installs.
    static let python: String? = OryClient.python.flatMap { python in
        let run = try? Servers.run(python, ["-c", "import ory_kratos_client"])
        return run?.status == 0 ? python : nil
    }
}

/// Runs the client that Ory generates from Kratos's schemas, unmodified.
@Suite(
    "Ory's client for Kratos",
    .blocking,
    .enabled(if: KratosClient.python != nil, "ory-kratos-client is not installed")
)
struct KratosClientTests {
    /// Signs in, exchanges codes, lists and ends sessions, each answer read by the client's own models.
    private static let walk = """
        import json, sys, urllib.parse
        import ory_kratos_client as ory
        from ory_kratos_client.models import *

        address, host = sys.argv[1:]
        client = ory.ApiClient(ory.Configuration(host=address))
        client.set_default_header('Host', host)
        api = ory.FrontendApi(client)

        def refusal(call, *arguments, **named):
            try:
                call(*arguments, **named)
            except ory.ApiException as error:
                return error
            raise AssertionError('it was not refused')

        def sign_in(password='ada'):
            flow = api.create_native_login_flow()
            body = UpdateLoginFlowBody(UpdateLoginFlowWithPasswordMethod(
                method='password', identifier='ada@example.com', password=password))
            return api.update_login_flow(flow=str(flow.id), update_login_flow_body=body)

        first, second = sign_in(), sign_in()
        session = api.to_session(x_session_token=first.session_token)
        assert session.id == first.session.id and session.active
        assert session.identity.traits['email'] == 'ada@example.com'
        assert session.devices[0].id and session.authentication_methods[0].method == 'password'
        wrong = refusal(sign_in, 'wrong')
        assert wrong.status == 400 and wrong.data.ui.messages[0].id == 4000006
        nobody = refusal(api.to_session)
        assert nobody.status == 401 and ErrorGeneric.from_dict(json.loads(nobody.body)).error.message

        others = api.list_my_sessions(x_session_token=first.session_token)
        assert [s.id for s in others] == [second.session.id]
        api.disable_my_session(id=second.session.id, x_session_token=first.session_token)
        assert refusal(api.to_session, x_session_token=second.session_token).status == 401
        assert refusal(api.disable_my_session, id=first.session.id, x_session_token=first.session_token).status == 400
        sign_in()
        assert api.disable_my_other_sessions(x_session_token=first.session_token).count == 1

        flow = api.create_native_login_flow(return_session_token_exchange_code=True, return_to='myapp://auth/callback')
        body = UpdateLoginFlowBody(UpdateLoginFlowWithOidcMethod(method='oidc', provider='google'))
        away = refusal(api.update_login_flow, flow=str(flow.id), update_login_flow_body=body)
        # The schema of this one answer nests "error" twice, which Kratos does not.
        assert away.status == 422 and json.loads(away.body)['redirect_browser_to']
        assert ErrorGeneric.from_dict({'error': json.loads(away.body)['error']}).error.id
        back = client.rest_client.pool_manager.request(
            'GET', address + '/self-service/methods/oidc/callback/google?state=' + flow.id,
            headers={'Host': host}, redirect=False)
        code = urllib.parse.parse_qs(urllib.parse.urlparse(back.headers['Location']).query)['code'][0]
        exchanged = api.exchange_session_token(init_code=flow.session_token_exchange_code, return_to_code=code)
        assert api.to_session(x_session_token=exchanged.session_token).id == exchanged.session.id
        missing = refusal(api.exchange_session_token, init_code='x', return_to_code='y')
        assert missing.status == 404 and ErrorGeneric.from_dict(json.loads(missing.body)).error.message

        browser = api.create_browser_login_flow(return_to='http://' + host + '/')
        assert api.get_login_flow(id=browser.id).id == browser.id

        logout = PerformNativeLogoutBody(session_token=first.session_token)
        for _ in range(2):
            assert api.perform_native_logout_with_http_info(logout).status_code == 204
        assert refusal(api.to_session, x_session_token=first.session_token).status == 401
        unknown = PerformNativeLogoutBody(session_token='x')
        assert refusal(api.perform_native_logout, unknown).status == 403
        print('done')
        """

    @Test("The double's answers are what Kratos's schemas allow")
    func double() throws {
        let kratos = try KratosDouble(publicURL: Request.origin)
        defer { kratos.stop() }
        try self.run(on: kratos.url)
    }

    @Test("The client works through the gateway as it does at Kratos")
    func throughGateway() throws {
        try KratosGatewayBench.with { bench throws in
            try self.run(on: "http://127.0.0.1:\(bench.gateway.port)")
            #expect(bench.app.requests.isEmpty)
        }
    }

    private func run(on address: String) throws {
        let python = try #require(KratosClient.python)
        let run = try Servers.run(python, ["-c", Self.walk, address, Request.host])
        #expect(run.status == 0 && run.output == "done\n", "\(run.output)")
    }
}
