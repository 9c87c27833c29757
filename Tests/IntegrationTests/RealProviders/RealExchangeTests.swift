import Foundation
import GatewayBench
import Testing

/// Web to native as apps do it: Ory's clients in the app, Chromium as the system's browser, and a provider that others
/// have made. The browser never loads the app's URL: the system would hand it to the app.
@Suite(
    "Web to native in a real browser",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil && OryClient.python != nil, "only with SOAK")
)
struct RealExchangeTests {
    private static let exchange = "exchange: {return_to: [\"myapp://auth/callback\"], providers: {company: Company}}\n"

    /// What the app does, in pieces: `begin` prints what the browser needs, `finish` gets what two browsers brought back.
    private static let script = #"""
        import importlib, json, sys

        name, address, host, step = sys.argv[1:5]
        ory = importlib.import_module(name)
        models = importlib.import_module(name + '.models')
        FrontendApi = importlib.import_module(name + '.api.frontend_api').FrontendApi
        client = ory.ApiClient(ory.Configuration(host='http://' + address))
        # The client sends its own host as the authority, so it is replaced by the settings' host.
        client.set_default_header('Host', host)
        api = FrontendApi(client)

        def refused(call, *arguments, **named):
            try:
                call(*arguments, **named)
            except ory.ApiException as error:
                return error.status, json.loads(error.body)
            assert False, 'not refused'

        def begin(kind):
            flow = getattr(api, f'create_native_{kind}_flow')(
                return_session_token_exchange_code=True, return_to='myapp://auth/callback')
            body = getattr(models, f'Update{kind.title()}FlowWithOidcMethod')(method='oidc', provider='company')
            body = getattr(models, f'Update{kind.title()}FlowBody')(body)
            status, answer = refused(
                getattr(api, f'update_{kind}_flow'), flow=str(flow.id), **{f'update_{kind}_flow_body': body})
            assert status == 422, answer
            print(flow.session_token_exchange_code, answer['redirect_browser_to'])

        def finish(*codes):
            (first, session), (second, other) = [
                (answer.session_token, answer.session) for answer in (
                    api.exchange_session_token(init_code=kept, return_to_code=returned)
                    for kept, returned in (codes[:2], codes[2:]))]
            known = api.to_session(x_session_token=first)
            assert known.id == session.id and known.active and known.identity.id == other.identity.id
            assert known.identity.traits['email'] == 'ada@example.com', known.identity.traits
            assert known.authentication_methods[0].method == 'oidc'
            assert [item.id for item in api.list_my_sessions(x_session_token=first)] == [other.id]
            api.disable_my_session(id=str(other.id), x_session_token=first)
            assert refused(api.to_session, x_session_token=second)[0] == 401
            assert api.disable_my_other_sessions(x_session_token=first).count == 0
            body = models.PerformNativeLogoutBody(session_token=first)
            for _ in range(2):
                assert api.perform_native_logout_with_http_info(body).status_code == 204
            assert refused(api.to_session, x_session_token=first)[0] == 401
            print('done')

        {'begin': begin, 'finish': finish}[step](*sys.argv[5:])
        """#

    private static func app(_ client: String, _ bench: RealProviderBench, _ arguments: String...) throws -> String {
        let own = [client, "127.0.0.1:\(bench.gateway.port)", String(bench.first.dropFirst("http://".count))]
        let run = try Servers.run(OryClient.python ?? "", ["-c", Self.script] + own + arguments)
        guard run.status == 0 else { throw BenchFailure("\(arguments.first ?? ""): \(run.output)") }
        return run.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Presses a button of a page, once: the same page may show another one later.
    private static func press(_ button: String, once mark: String) -> String {
        """
        (() => {
            const button = document.querySelector('\(button)');
            if (!button || window.\(mark)) return false;
            window.\(mark) = true;
            button.click();
            return true;
        })()
        """
    }

    /// Does what a person does at the pages of the provider, until the browser is sent back to the app.
    private static func signIn(_ browser: Browser, at url: String, as user: RealUser) throws -> String {
        browser.forgetRequests()
        try browser.visit(url)
        for _ in 0..<600 {
            if let back = browser.requests.first(where: { $0.hasPrefix("myapp:") }) { return back }
            let asks = "!!document.querySelector('input[type=password]') && !window.isSent"
            if try browser.value(asks) == "true" {
                for (name, text) in [("username", user.login), ("password", user.password)] {
                    try browser.perform("document.querySelector('input[name=\(name)]').focus()")
                    try browser.call("Input.insertText", ["text": text])
                }
                _ = try browser.value(Self.press("form button, form input[type=submit]", once: "isSent"))
            } else {
                // Who is known is asked whether to go on.
                _ = try browser.value(Self.press("button.btn-success", once: "isAgreed"))
            }
            usleep(50_000)
        }
        throw BenchFailure("not sent back: \(try browser.value("location.href + document.body.innerText"))")
    }

    @Test(
        "Ory's clients create, submit, exchange, read, list, disable and sign out; Chromium signs in",
        arguments: ["ory_client", "ory_kratos_client"],
        RealProviderKind.allCases
    )
    func walk(client: String, kind: RealProviderKind) throws {
        try RealProviderBench.with(kind, rest: Self.exchange) { bench throws in
            let browser = try Browser()
            defer { browser.close() }
            var codes: [String] = []
            // The second time the provider knows the user.
            for flow in ["login", "registration"] {
                let begun = try Self.app(client, bench, "begin", flow).split(separator: " ").map(String.init)
                try #require(begun.count == 2 && begun[1].hasPrefix("\(bench.first)/.sallyport/app?flow="))
                let back = try Self.signIn(browser, at: begun[1], as: .ada)
                #expect(back.hasPrefix("myapp://auth/callback?code="))
                codes += [begun[0], try AppSignIn.code(in: back)]
            }
            #expect(try Self.app(client, bench, "finish", codes[0], codes[1], codes[2], codes[3]) == "done")
            // The browser itself is signed in at the provider only, which may have cookies that scripts see.
            #expect(try !browser.value("document.cookie").contains("sallyport"))
            #expect(!bench.gateway.output.contains("spi_") && !bench.gateway.output.contains("spx_"))
        }
    }
}
