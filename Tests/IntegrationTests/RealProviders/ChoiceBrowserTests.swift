import Foundation
import GatewayBench
import Testing

/// A person who chooses among several ways to sign in, in a real browser, which `deploy/test.sh --soak` installs.
@Suite(
    "Several ways to sign in, in a real browser",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
)
struct ChoiceBrowserTests {
    /// Who looks at the pages, and how.
    struct Viewer: CustomTestStringConvertible, Sendable {
        var width: Int
        var isDark: Bool
        var language: String
        /// How the page names a provider, and the one of last time.
        var texts: (with: String, last: String)
        var usesKeyboard = false
        var isWithoutScript = false

        var testDescription: String {
            "\(self.width) pixels, \(self.isDark ? "dark" : "light"), \(self.language)"
                + (self.usesKeyboard ? ", keyboard" : "") + (self.isWithoutScript ? ", no script" : "")
        }

        static let all = [
            Viewer(width: 360, isDark: false, language: "en", texts: ("Continue with", "Last used on this device")),
            Viewer(
                width: 360,
                isDark: true,
                language: "de",
                texts: ("Weiter mit", "Auf diesem Gerät zuletzt benutzt"),
                isWithoutScript: true
            ),
            Viewer(
                width: 1280,
                isDark: false,
                language: "fr",
                texts: ("Continuer avec", "Dernier utilisé sur cet appareil"),
                usesKeyboard: true,
                isWithoutScript: true
            ),
            Viewer(
                width: 1280,
                isDark: true,
                language: "es",
                texts: ("Continuar con", "Último usado en este dispositivo"),
                usesKeyboard: true
            ),
        ]

        /// Shows pages so.
        func set(_ browser: Browser) throws {
            let size: [String: Any] = [
                "width": self.width, "height": 740, "deviceScaleFactor": 1, "mobile": self.width < 600,
            ]
            try browser.call("Emulation.setDeviceMetricsOverride", size)
            let scheme = ["name": "prefers-color-scheme", "value": self.isDark ? "dark" : "light"]
            try browser.call("Emulation.setEmulatedMedia", ["features": [scheme]])
            try browser.call("Network.setExtraHTTPHeaders", ["headers": ["Accept-Language": self.language]])
        }

        /// What is wrong with the page of the gateway that is shown; empty: nothing.
        var faults: String {
            """
            (() => {
                const faults = [];
                if (document.documentElement.lang !== '\(self.language)') faults.push('language');
                if (document.documentElement.scrollWidth > innerWidth) faults.push('width');
                const parts = getComputedStyle(document.querySelector('main')).backgroundColor.match(/\\d+/g);
                const light = parts.slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
                if (\(self.isDark) ? light > 64 : light < 192) faults.push('colours');
                for (const element of document.querySelectorAll('main a, main button, #identifier, #password'))
                    if (element.getBoundingClientRect().height < 40) faults.push('small: ' + element.outerHTML);
                const box = document.querySelector('label:has(#show)');
                if (box && box.checkVisibility() === \(self.isWithoutScript)) faults.push('script');
                return faults.join('; ');
            })()
            """
        }
    }

    private static let buttons =
        "[...document.querySelectorAll('a.provider > span:not(.mark)')].map(span => span.innerText).join('|')"

    /// Sees the page with all ways, and what it says of them.
    private static func choose(_ person: Person, _ bench: ChoiceBench, _ viewer: Viewer, last: String?) throws {
        try person.open("\(bench.origin)/x?a=1")
        try person.sees("a.provider", on: "\(bench.origin)/.sallyport/login?return_to=/x%3Fa%3D1")
        #expect(try person.browser.value(viewer.faults) == "")
        var labels = ChoiceBench.Choice.allCases.map { "\(viewer.texts.with) \($0.label)" }
        if let last, let place = ChoiceBench.Choice.allCases.firstIndex(where: { $0.rawValue == last }) {
            labels.insert(labels.remove(at: place) + "\n\(viewer.texts.last)", at: 0)
        }
        #expect(try person.browser.value(Self.buttons) == labels.joined(separator: "|"))
        // The form comes first unless another way was used last.
        let first = "document.querySelector('a.provider, #password').id"
        #expect(try person.browser.value(first) == (last == nil || last == "people" ? "password" : ""))
    }

    /// The page of the app, whose user has come by this provider.
    private static func arrive(_ person: Person, _ bench: ChoiceBench, by provider: String) throws -> String {
        try person.browser.wait(
            until: "location.href === '\(bench.origin)/x?a=1' && "
                + "document.body.innerText.includes('X-Provider: \(provider)')"
        )
        let text = try person.browser.value("document.body.innerText")
        #expect(text.contains("X-Email: ada@example.com"), "\(text)")
        return try #require(text.firstMatch(of: /X-User: (\S+)/).map { String($0.1) }, "\(text)")
    }

    @Test("A person signs in by each way, out, and in by another", arguments: Viewer.all)
    func walk(viewer: Viewer) throws {
        try ChoiceBench.with { bench throws in
            let browser = try Browser()
            defer { browser.close() }
            try viewer.set(browser)
            let person = Person(
                browser: browser,
                usesKeyboard: viewer.usesKeyboard,
                isWithoutScript: viewer.isWithoutScript
            )
            var last: String?
            var users: Set<String> = []
            func signOut(of provider: ChoiceBench.Choice?) throws {
                try person.open("\(bench.origin)/.sallyport/logout")
                try person.sees("form button", on: "\(bench.origin)/.sallyport/logout")
                #expect(try browser.value(viewer.faults) == "")
                if provider?.needsScripts == true { try person.allowScripts() }
                try person.press("form button")
                if let provider { try person.confirmSignOut(at: provider) }
                try person.sees("a.way", on: "\(bench.origin)/.sallyport/signed-out")
                #expect(try browser.value(viewer.faults) == "")
            }
            for provider in ChoiceBench.Choice.allCases {
                try Self.choose(person, bench, viewer, last: last)
                try browser.keepPicture("choice-\(viewer.testDescription)-\(provider)", width: viewer.width)
                if provider.needsScripts { try person.allowScripts() }
                try person.press("a.provider[href$=\"provider=\(provider)\"]")
                try person.signIn(at: provider)
                users.insert(try Self.arrive(person, bench, by: provider.rawValue))
                try signOut(of: provider)
                last = provider.rawValue
            }
            try Self.choose(person, bench, viewer, last: last)
            try person.type("ada@example.com", into: "#identifier")
            try person.type("analytical-engine", into: "#password")
            try person.press("form button[type=submit]")
            users.insert(try Self.arrive(person, bench, by: "people"))
            try signOut(of: nil)
            try Self.choose(person, bench, viewer, last: "people")
            // The same person at four providers is four users, since nobody has linked them.
            #expect(users.count == 4, "\(users)")
        }
    }

    // MARK: Ory's client

    private static let exchange = "exchange: {return_to: [\"myapp://auth/callback\"]}"

    /// What the app does, in pieces: `begin` picks a provider by its label among the nodes of the flow, `finish` exchanges
    /// the two codes.
    private static let script = #"""
        import json, sys
        import ory_client
        from ory_client.api.frontend_api import FrontendApi
        from ory_client.models import *

        address, host, step = sys.argv[1:4]
        client = ory_client.ApiClient(ory_client.Configuration(host='http://' + address))
        client.set_default_header('Host', host)
        api = FrontendApi(client)

        def begin(label):
            flow = api.create_native_login_flow(
                return_session_token_exchange_code=True, return_to='myapp://auth/callback')
            nodes = [node for node in flow.ui.nodes if node.group == 'oidc']
            names = [node.attributes.actual_instance.value for node in nodes]
            assert names == ['people', 'company', 'partner', 'hub'], names
            kinds = {(node.attributes.actual_instance.name, node.attributes.actual_instance.type) for node in nodes}
            assert kinds == {('provider', 'submit')}, kinds
            chosen, = [node for node in nodes if node.meta.label.text.endswith(' ' + label)]
            body = UpdateLoginFlowBody(
                UpdateLoginFlowWithOidcMethod(method='oidc', provider=chosen.attributes.actual_instance.value))
            try:
                api.update_login_flow(flow=str(flow.id), update_login_flow_body=body)
            except ory_client.ApiException as error:
                assert error.status == 422, error
                print(flow.session_token_exchange_code, json.loads(error.body)['redirect_browser_to'])

        def finish(kept, returned):
            answer = api.exchange_session_token(init_code=kept, return_to_code=returned)
            session = api.to_session(x_session_token=answer.session_token)
            assert session.id == answer.session.id and session.active
            assert session.identity.traits['email'] == 'ada@example.com', session.identity.traits
            print(session.identity.id, session.authentication_methods[0].method)
            body = PerformNativeLogoutBody(session_token=answer.session_token)
            assert api.perform_native_logout_with_http_info(body).status_code == 204

        {'begin': begin, 'finish': finish}[step](*sys.argv[4:])
        """#

    private static func app(_ bench: ChoiceBench, _ arguments: String...) throws -> [String] {
        let own = ["127.0.0.1:\(bench.gateway.port)", String(bench.origin.dropFirst("http://".count))]
        let run = try Servers.run(OryClient.python ?? "", ["-c", Self.script] + own + arguments)
        guard run.status == 0 else { throw BenchFailure("\(arguments): \(run.output)") }
        return run.output.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    @Test("ory-client picks a provider by its node, and two codes give its user's session without a page between")
    func nodes() throws {
        try ChoiceBench.with(more: Self.exchange) { bench throws in
            let browser = try Browser()
            defer { browser.close() }
            let person = Person(browser: browser, usesKeyboard: false)
            var users: Set<String> = []
            for provider in ChoiceBench.Choice.allCases {
                let begun = try Self.app(bench, "begin", provider.label)
                try #require(begun.count == 2, "\(begun)")
                // The tab that was sent to an app asks whether to open it, and takes no clicks from then on.
                _ = try browser.openTab()
                browser.forgetRequests()
                try person.open(begun[1])
                try person.signIn(at: provider)
                #expect(
                    eventually {
                        _ = try? browser.value("1")
                        return browser.requests.contains { $0.hasPrefix("myapp:") }
                    }
                )
                let back = try #require(browser.requests.first { $0.hasPrefix("myapp://auth/callback?code=") })
                #expect(!browser.requests.contains { $0.contains("/.sallyport/login") }, "\(browser.requests)")
                let finished = try Self.app(bench, "finish", begun[0], try AppSignIn.code(in: back))
                #expect(finished.last == "oidc")
                users.formUnion(finished.prefix(1))
            }
            #expect(users.count == 3, "\(users)")
        }
    }
}
