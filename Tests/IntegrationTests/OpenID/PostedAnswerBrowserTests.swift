import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// A provider on another site has a real browser post its answer, as Apple does. `deploy/test.sh --soak` installs the
/// browser.
@Suite(
    "A provider that answers by a form, in a real browser",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
)
struct PostedAnswerBrowserTests {
    /// A gateway on localhost, and a provider at 127.0.0.1, which is another site.
    ///
    /// - Parameter besideAnother: Users choose between the provider and another one.
    private static func with(
        besideAnother: Bool = false,
        _ body: (OpenIDProvider, Gateway, String, Browser) throws -> Void
    ) throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                let names = ["x-auth-subject", "x-auth-name"].map { request.values($0).first ?? "nobody" }
                link.answer(
                    "200 OK",
                    "Content-Type: text/html\r\n",
                    body: "<h1>\(names.joined(separator: " is "))</h1>"
                )
            }
        )
        defer { app.stop() }
        let port = try ServerPorts.take()
        let origin = "http://localhost:\(port)"
        let settings = """
            listen: 127.0.0.1:\(port)
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            session: {cookie: sallyport}
            log: {access: true}
            drain: {delay: 0s, timeout: 100ms}
            \(besideAnother ? Self.several(on: origin) : "public_url: \(origin)\nprovider:")
              oidc:
                issuer: \(provider.issuer)
                client_id: gateway
                client_secret_file: client-secret
                response_mode: form_post

            """
        try Gateway.with(settings, files: ["client-secret": OpenIDScript().clients[0].secret ?? ""]) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            let browser = try Browser()
            defer { browser.close() }
            try body(provider, gateway, origin, browser)
        }
    }

    /// Another provider, which nobody chooses, and the beginning of the first one.
    private static func several(on origin: String) -> String {
        """
        hosts: [{public_url: "\(origin)", endpoints: true, providers: [other, apple], routes: [{path: /**}]}]
        providers:
        - name: other
          oauth2:
            name: other
            authorization_url: http://127.0.0.1:1/authorize
            token_url: http://127.0.0.1:1/token
            userinfo_url: http://127.0.0.1:1/user
            client_id: gateway
            claims: {subject: id}
        - name: apple
        """
    }

    private static func shows(_ origin: String, _ text: String) -> String {
        "location.href === '\(origin)/page?a=1' && document.querySelector('h1')?.innerText === '\(text)'"
    }

    @Test("The user is signed in, has a name at the first sign-in, and no code gets into the history or the log")
    func signsIn() throws {
        try Self.with { provider, gateway, origin, browser throws in
            provider.change {
                $0.user = OpenIDScript.User("user-1", claims: ["email": "ada@example.com"])
                $0.postedUser = #"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"x@example.com"}"#
            }
            try browser.visit("\(origin)/page?a=1")
            try browser.wait(until: Self.shows(origin, "user-1 is Ada Lovelace"))
            #expect(!gateway.output.contains("code="))
            // Back and forward load no page again that would sign in once more, and the user stays signed in.
            try browser.perform("history.back()")
            try browser.visit("\(origin)/page?a=1")
            try browser.wait(until: Self.shows(origin, "user-1 is Ada Lovelace"))
        }
    }

    @Test("On a host with several providers each form comes to the place of its provider")
    func several() throws {
        try Self.with(besideAnother: true) { _, gateway, origin, browser throws in
            try browser.visit("\(origin)/page?a=1")
            try browser.wait(until: "document.querySelectorAll('.provider').length === 2")
            try browser.perform("document.querySelector('.provider[href*=apple]').click()")
            try browser.wait(until: Self.shows(origin, "user-1 is Ada"))
            #expect(gateway.output.contains(#""path":"/.sallyport/callback/apple""#))
        }
    }

    @Test("A page of another site that posts a form of its own signs nobody in, and ends no session")
    func injected() throws {
        try Self.with { _, gateway, origin, browser throws in
            let page = """
                <form method="post" action="\(origin)/.sallyport/callback"><input name="state" value="their-own">
                <input name="code" value="theirs"></form>
                """
            let evil = try FakeUpstream(
                serve: FakeUpstream.answering { link, _ in
                    link.answer("200 OK", "Content-Type: text/html\r\n", body: page)
                }
            )
            defer { evil.stop() }
            func post() throws {
                try browser.visit("http://127.0.0.1:\(evil.port)/")
                try browser.perform("document.forms[0].submit()")
            }
            try post()
            #expect(eventually { gateway.output.contains(#""reason":"signin.state_mismatch""#) })
            #expect(try browser.call("Network.getCookies", ["urls": [origin]])["cookies"] as? [AnyHashable] == [])
            try browser.visit("\(origin)/page?a=1")
            try browser.wait(until: Self.shows(origin, "user-1 is Ada"))
            try post()
            try browser.wait(until: "location.href === '\(origin)/' && !!document.querySelector('h1')")
            try browser.visit("\(origin)/page?a=1")
            try browser.wait(until: Self.shows(origin, "user-1 is Ada"))
        }
    }
}
