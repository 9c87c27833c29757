import Foundation
import GatewayBench
import Testing

/// Routes that require a recent or a stronger sign-in.
@Suite("Signing in again", .blocking) struct SignInAgainTests {
    private static let routes = """
          - path: /**
          - path: /fresh/**
            require: {max_age: 3s}
          - path: /strong/**
            require: {aal: aal2}
          - path: /told/**
            unauthenticated: 401
            require: {max_age: 3s}
        """
    private static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: none"]
    private static let login = "\(Request.origin)/.sallyport/login?return_to="

    private func with(_ body: (Gateway, FakeUpstream) throws -> Void) throws {
        try Gateway.withApp({ Config.file(upstream: $0, routes: Self.routes) }, body)
    }

    @Test("A page that needs a recent sign-in redirects to login, which leads back; programs and forms get a refusal")
    func maxAge() throws {
        try self.with { gateway, app in
            let old = "Cookie: sallyport=\(try gateway.browser())"
            let native = "Authorization: Bearer \(try gateway.native())"
            #expect(try gateway.get("/fresh/x", Self.navigation + [old]).status == 200)
            sleep(4)
            let asked = try gateway.get("/fresh/x?a=1", Self.navigation + [old])
            #expect(
                asked.status == 303 && asked.value("location") == "\(Self.login)/fresh/x%3Fa%3D1&prompt=login",
                "\(asked.lines)"
            )
            #expect(asked.sessionCookie == nil, "nobody is signed out by it")
            #expect(try gateway.get("/x", [old]).status == 200)
            let page = try gateway.get("/.sallyport/login?return_to=/fresh/x%3Fa%3D1&prompt=login", [old])
            #expect(page.text.contains("asks you to sign in again") && page.text.contains("value=\"/fresh/x?a=1\""))

            let challenge = #"Bearer error="insufficient_user_authentication", max_age="3""#
            for fields in [[native], [old], [old, "Sec-Fetch-Mode: cors"], [native] + Self.navigation] {
                let told = try gateway.get("/fresh/x", fields)
                #expect(told.status == 403 && (told.reason ?? told.pageReason) == "require.max_age", "\(told.lines)")
                #expect(told.values("www-authenticate") == [challenge])
            }
            let form = try gateway.request(
                Request.post(
                    "/fresh/x",
                    [
                        old, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: same-origin",
                        "Referer: \(Request.origin)/fresh/f",
                    ],
                    body: "a=b"
                )
            )
            #expect(form.status == 403 && form.pageReason == "require.max_age")
            #expect(form.text.contains("/.sallyport/login?return_to=/fresh/f&amp;prompt=login"))
            #expect(form.text.contains("What you entered was not sent on and is not kept."))
            #expect(try gateway.get("/told/x", Self.navigation + [old]).pageReason == "require.max_age")

            let answer = try gateway.request(
                Request.post(
                    "/.sallyport/login",
                    ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded", old],
                    body: "identifier=ada@example.com&password=analytical-engine&return_to=/fresh/x%3Fa%3D1"
                )
            )
            #expect(answer.status == 303 && answer.value("location") == "/fresh/x?a=1")
            let new = try #require(answer.sessionCookie)
            #expect(try gateway.get("/fresh/x?a=1", Self.navigation + ["Cookie: sallyport=\(new)"]).status == 200)
            #expect(try gateway.get("/x", [old]).status == 401, "the new session takes the place of the old one")
            #expect(app.requests.count == 3)
        }
    }

    @Test("A level that a new sign-in does not reach is refused with a page, without a redirect loop")
    func assurance() throws {
        try self.with { gateway, _ in
            let grace = "Cookie: sallyport=\(try gateway.browser(.grace))"
            let mary = "Cookie: sallyport=\(try gateway.browser(.mary))"
            #expect(try gateway.get("/strong/x", Self.navigation + [mary]).status == 200)
            let refused = try gateway.get("/strong/x", Self.navigation + [grace])
            #expect(refused.status == 403 && refused.pageReason == "require.aal", "\(refused.lines)")
            #expect(refused.text.contains("Sign in with another account"))
            let told = try gateway.get("/strong/x", [grace])
            #expect(told.status == 403 && told.reason == "require.aal")
            #expect(
                told.value("www-authenticate") == #"Bearer error="insufficient_user_authentication", acr_values="aal2""#
            )
        }
    }
}
