import Foundation
import GatewayBench
import Testing

/// Delegated access through the binary: somebody acts for a user, and the app sees who.
@Suite("Delegated access", .blocking) struct DelegatedSessionTests {
    @Test("The app sees the user and the actor; every other client, and a browser that is signed in, is refused")
    func handoff() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        let answer = try bench.withToken(try bench.delegatedToken(), path: "/care/x")
        #expect(answer.status == 303, "\(answer.lines)")
        let cookie = ["Cookie: sallyport=\(try #require(answer.sessionCookie))"]
        // Not persistent: it ends with the browser.
        #expect(answer.values("set-cookie").allSatisfy { !$0.hasPrefix("sallyport=") || !$0.contains("Max-Age") })
        #expect(try bench.gateway.get("/care/x", cookie).status == 200)
        let seen = try #require(bench.app.requests.last)
        #expect(seen.values("x-auth-subject") == ["user-1815"] && seen.values("x-auth-actor") == ["user-1906"])
        #expect(seen.values("x-auth-origin") == ["transfer"])
        let document = try bench.gateway.get("/.sallyport/session", cookie)
        #expect(document.text.contains(#""act":{"sub":"user-1906"}"#), "\(document.text)")
        // Whoever acts sees and ends none of the user's other sessions.
        for path in ["/.sallyport/sessions", "/sessions"] {
            let refused = try bench.gateway.get(path, cookie)
            #expect(refused.status == 403 && !refused.text.contains("ses_"), "\(path): \(refused.text)")
        }
        // A step-up cannot be asked of somebody who is not the user.
        #expect(try bench.gateway.get("/age/", cookie + ["Accept: text/html"]).status != 303)
        // The session's own client asks /authorize: nobody is asked to sign in.
        let query = "client_id=app&response_type=code&redirect_uri=myapp://auth/callback&code_challenge_method=S256"
        let other = try bench.gateway.get("/authorize?\(query)&code_challenge=\(Self.challenge)", cookie)
        #expect(
            eventually {
                bench.gateway.output.split(separator: "\n").contains {
                    $0.contains(#""event":"authorization.refused","code":"fdelsa""#)
                        && $0.contains(#""actor":"user-1906""#)
                }
            }
        )
        // A route that nobody may use for the user.
        let closed = try bench.gateway.get("/care/own/x", cookie + ["Sec-Fetch-Mode: navigate"])
        #expect(closed.status == 403 && closed.pageReason == "require.actor", "\(closed.lines)")
        #expect(other.value("location")?.contains("error=interaction_required") == true, "\(other.lines)")
        let page = try bench.withToken(
            try bench.delegatedToken(),
            cookie + ["Sec-Fetch-Mode: navigate"],
            path: "/care/y"
        )
        #expect(page.status == 403 && page.pageReason == "handoff.already_signed_in", "\(page.lines)")
        #expect(try bench.gateway.get("/care/x", cookie).status == 200, "the session stays")
        // An ordinary session of the same user has no actor, and nobody can send one.
        let own = try bench.gateway.get("/", try bench.cookie() + ["X-Auth-Actor: root"])
        #expect(own.status == 200 && bench.app.requests.last?.values("x-auth-actor") == [])
    }

    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    @Test("Its audit events name the actor and have Auth0's codes")
    func audit() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        _ = try bench.withToken(try bench.delegatedToken(), path: "/care/x")
        #expect(
            eventually {
                bench.gateway.output.split(separator: "\n").contains {
                    $0.contains(#""event":"transfer_token.consumed","code":"sdel""#)
                        && $0.contains(#""actor":"user-1906""#) && $0.contains(#""subject":"user-1815""#)
                }
            }
        )
        _ = try bench.withToken(try bench.delegatedToken())
        #expect(
            eventually {
                bench.gateway.output.split(separator: "\n").contains {
                    $0.contains(#""code":"w","reason":"handoff.delegation_not_permitted""#)
                        && $0.contains(#""actor":"user-1906""#)
                }
            }
        )
    }
}
