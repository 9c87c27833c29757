import Foundation
import GatewayBench
import Testing

enum OryClient {
    /// The path of the Python interpreter that has the client installed.
    static let python = Servers.find([Gateway.root.appending(path: ".build/clients/bin/python").path])
}

/// Runs Ory's generated client, unmodified, against the binary. `deploy/test.sh` installs the client if PyPI can be
/// reached. `OryDocumentTests` checks the documents' types without it.
@Suite("Ory's client", .blocking, .enabled(if: OryClient.python != nil, "ory-client is not installed"))
struct OryClientTests {
    @Test("ory-client signs in, reads the session and signs out")
    func walk() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            // The client sends its own host as the authority, so it is replaced by the settings' host.
            let script = """
                import ory_client, sys
                from ory_client.api.frontend_api import FrontendApi
                from ory_client.models import *

                address, host = sys.argv[1:]
                client = ory_client.ApiClient(ory_client.Configuration(host=address))
                client.set_default_header('Host', host)
                api = FrontendApi(client)

                def submit(flow, password):
                    method = UpdateLoginFlowWithPasswordMethod(
                        method='password', identifier='ada@example.com', password=password)
                    return api.update_login_flow(flow=str(flow.id), update_login_flow_body=UpdateLoginFlowBody(method))

                def status(call, *arguments, **named):
                    try:
                        call(*arguments, **named)
                    except ory_client.ApiException as error:
                        return error.status

                flow = api.create_native_login_flow()
                signed_in = submit(flow, 'analytical-engine')
                token = signed_in.session_token
                session = api.to_session(x_session_token=token)
                assert session.id == signed_in.session.id
                assert session.identity.external_id == 'user-1815'
                assert session.identity.traits['email'] == 'ada@example.com'
                assert len({session.id, session.identity.id, session.devices[0].id}) == 3
                try:
                    submit(flow, 'wrong')
                    assert False
                except ory_client.ApiException as error:
                    assert error.status == 400 and error.data.ui.messages[0].id == 4000006
                assert status(api.create_native_login_flow, x_session_token=token) == 400
                assert status(api.create_native_login_flow, aal='aal2') == 401
                for _ in range(2):
                    body = PerformNativeLogoutBody(session_token=token)
                    assert api.perform_native_logout_with_http_info(body).status_code == 204
                assert status(api.to_session, x_session_token=token) == 401
                assert status(api.perform_native_logout, PerformNativeLogoutBody(session_token='x')) == 403
                print('done')
                """
            let python = try #require(OryClient.python)
            let arguments = ["-c", script, "http://127.0.0.1:\(gateway.port)", Request.host]
            let run = try Servers.run(python, arguments)
            #expect(run.status == 0 && run.output == "done\n", "\(run.output)")
        }
    }
}
