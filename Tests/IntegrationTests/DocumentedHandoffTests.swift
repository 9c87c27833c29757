import Foundation
import GatewayBench
import Testing

/// The ways of Auth0's page "Configure and Implement Native to Web SSO" to bring a token to a web application, as it
/// prints them, with the host changed.
@Suite("Auth0's documented ways of a handoff", .blocking) struct DocumentedHandoffTests {
    private static let routes = """
          - path: /**
            name: app
            client: web
          - path: /own/**
            name: own
            auth: public
            handoff: false
        """
    private static let clients = """
          - client_id: native
            session_transfer:
              can_create_session_transfer_token: true
          - client_id: web
            callbacks: ["https://web.example.com/callback"]
            session_transfer:
              allowed_authentication_methods: [cookie, query]
        """

    private static func with(_ body: (Gateway, FakeUpstream, () throws -> String) throws -> Void) throws {
        try Gateway.withApp({ Config.file(upstream: $0, routes: Self.routes, clients: Self.clients) }) { gateway, app in
            let native = try gateway.native()
            try body(gateway, app) { try gateway.mint(native) }
            #expect(
                app.requests.filter { $0.target.hasPrefix("/own") == false }.allSatisfy { !$0.text.contains("spt_") }
            )
        }
    }

    private static let authorize =
        "/authorize?client_id=web&response_type=code&redirect_uri=https%3A%2F%2Fweb.example.com%2Fcallback&state=s"
        + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256"

    @Test("Option 1: the cookie in a WebView, at the application and at /authorize")
    func cookie() throws {
        try Self.with { gateway, _, mint in
            let atApp = try gateway.get("/", ["Cookie: auth0_session_transfer_token=\(try mint())"])
            #expect(
                atApp.sessionCookie?.isEmpty == false && atApp.clearedCookies.contains("auth0_session_transfer_token")
            )
            let fields = ["Cookie: auth0_session_transfer_token=\(try mint())"]
            let atAuthorize = try gateway.get(Self.authorize, fields)
            #expect(atAuthorize.value("location")?.contains("/callback?code=spc_") == true, "\(atAuthorize.lines)")
            #expect(atAuthorize.clearedCookies.contains("auth0_session_transfer_token"))
        }
    }

    @Test("Option 2: the query of an application that copies it onto /authorize")
    func copied() throws {
        try Self.with { gateway, app, mint in
            let token = try mint()
            #expect(try gateway.get("/own/login?session_transfer_token=\(token)").status == 200)
            // The application has the token, and puts it into its authorization request.
            #expect(app.requests.last?.target == "/own/login?session_transfer_token=\(token)")
            let answer = try gateway.get("\(Self.authorize)&session_transfer_token=\(token)")
            #expect(answer.value("location")?.contains("/callback?code=spc_") == true, "\(answer.lines)")
            #expect(answer.value("location")?.contains("spt_") == false)
        }
    }

    @Test("Option 2, straight to the gateway: at a page, and at its own sign-in page, which leads back to the page")
    func straight() throws {
        try Self.with { gateway, _, mint in
            let atPage = try gateway.get("/orders?id=1&session_transfer_token=\(try mint())")
            #expect(atPage.sessionCookie?.isEmpty == false)
            #expect(atPage.value("location") == "\(Request.origin)/orders?id=1")

            for (returnTo, page) in [("/orders%3Fid%3D1", "/orders?id=1&"), ("/orders", "/orders?"), ("", "/?")] {
                let token = try mint()
                let query = "return_to=\(returnTo)&session_transfer_token=\(token)"
                let first = try gateway.get("/.sallyport/login?\(query)")
                #expect(first.status == 303 && first.value("referrer-policy") == "no-referrer")
                #expect(first.value("cache-control")?.contains("no-store") == true)
                #expect(first.value("location") == "\(page)session_transfer_token=\(token)")
                let second = try gateway.get(try #require(first.value("location")))
                #expect(second.sessionCookie?.isEmpty == false, "\(second.lines)")
                #expect(second.value("location") == Request.origin + String(page.dropLast()))
            }
        }
    }

    @Test(
        "The sign-in page hands no token over to another host, to a frame, a prefetch, or where the user signs in again"
    )
    func notHandedOver() throws {
        try Self.with { gateway, _, mint in
            let token = try mint()
            let query = "session_transfer_token=\(token)"
            let elsewhere = try gateway.get("/.sallyport/login?return_to=//evil.example/&\(query)")
            #expect(elsewhere.value("location") == "/?\(query)")
            for (more, fields) in [
                ("&prompt=login", []), ("&session_transfer_token=x", []), ("", ["Sec-Purpose: prefetch"]),
                ("", ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"]),
            ] as [(String, [String])] {
                let answer = try gateway.get("/.sallyport/login?return_to=/a&\(query)\(more)", fields)
                #expect(answer.status == 200 && answer.value("location") == nil, "\(more) \(fields) \(answer.lines)")
                #expect(!answer.text.contains("spt_"))
            }
            // None of it has used the token up. A link from another site is asked about at the page, as everywhere.
            let asked = try gateway.get("/?\(query)", ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"])
            #expect(asked.value("location") == "\(Request.origin)/.sallyport/handoff")
            #expect(try gateway.get("/?\(query)").sessionCookie?.isEmpty == false)
            // A token that is refused at the page leads to the sign-in page without it.
            let used = try gateway.get("/.sallyport/login?return_to=/a&\(query)")
            let page = try gateway.get(try #require(used.value("location")), ["Accept: text/html"])
            #expect(page.value("location") == "\(Request.origin)/a")
            let signIn = try gateway.get("/a", ["Accept: text/html"])
            #expect(signIn.value("location")?.hasSuffix("/.sallyport/login?return_to=/a") == true, "\(signIn.lines)")
        }
    }

    @Test("Option 3, SAML and WS-Federation: the token in the cookie and in the query of the sign-in URL")
    func federation() throws {
        try Self.with { gateway, app, mint in
            let token = try mint()
            let answer = try gateway.get(
                "/samlp/client?SAMLRequest=fZ%2B%3d&session_transfer_token=\(token)",
                ["Cookie: session_transfer_token=\(token)"]
            )
            #expect(answer.value("location") == "\(Request.origin)/samlp/client?SAMLRequest=fZ%2B%3d")
            let cookie = try #require(answer.sessionCookie)
            #expect(
                try gateway.get("/samlp/client?SAMLRequest=fZ%2B%3d", ["Cookie: sallyport=\(cookie)"]).status == 200
            )
            #expect(app.requests.last?.target == "/samlp/client?SAMLRequest=fZ%2B%3d")
        }
    }
}
