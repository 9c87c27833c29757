import Foundation
import GatewayBench
import TestSupport
import Testing

/// What the audit stream says of the sessions that end with another one, and of where a session is used.
@Suite("Cascades and countries in the audit stream", .blocking) struct CascadeTests {
    /// The line of this event, as soon as there is one.
    private static func line(_ event: String, _ gateway: Gateway) -> String {
        func found() -> String? {
            gateway.output.split(separator: "\n").last { $0.contains("\"event\":\"\(event)\"") }.map(String.init)
        }
        _ = eventually { found() != nil }
        return found() ?? "no \(event)"
    }

    @Test("The end of a native session says what ended it, and how many sessions ended with it")
    func nativeSession() throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, _ in
            let native = try gateway.native()
            for _ in 0..<2 {
                let token = try gateway.mint(native)
                #expect(try gateway.get("/?session_transfer_token=\(token)").sessionCookie != nil)
            }
            let answer = try gateway.request(
                Request.get(
                    "/self-service/logout/api",
                    ["Content-Type: application/json"],
                    method: "DELETE",
                    body: #"{"session_token":"\#(native)"}"#
                )
            )
            #expect(answer.status == 204)
            let line = Self.line("session.cascaded", gateway)
            for part in [
                #""sessions":"2""#, #""ended_by":"sign-out""#, #""subject":"user-1815""#, #""session":"ses_"#,
                #""reason":"session.revoked""#,
            ] { #expect(line.contains(part), "\(part): \(line)") }
            // A session with which nothing ends makes no such event.
            _ = try gateway.signOut(try gateway.browser(.grace))
            _ = Self.line("session.ended", gateway)
            #expect(gateway.output.components(separatedBy: "session.cascaded").count == 2)
        }
    }

    @Test("A code or a refresh token that is used again says how many sessions its family took along")
    func replays() throws {
        let bench = try ReasonBench()
        defer { bench.stop() }
        func web(_ refreshToken: String) throws -> (cookie: [String], next: String) {
            let answer = try bench.tokenRequest(
                "grant_type=refresh_token&client_id=app&refresh_token=\(refreshToken)",
                "audience=urn:\(Request.host):session_transfer"
            )
            let transfer = try #require(answer.text.firstMatch(of: /spt_[A-Za-z0-9_-]+/)?.0, "\(answer.text)")
            let signedIn = try bench.withToken(String(transfer))
            let cookie = ["Cookie: sallyport=\(try #require(signedIn.sessionCookie))"]
            #expect(try bench.gateway.get("/", cookie).status == 200)
            return (cookie, try ReasonBench.refreshToken(in: answer))
        }
        let first = try bench.refreshToken()
        let second = try web(first)
        let third = try web(second.next)
        #expect(try bench.refresh(first).status == 400)
        for cookie in [second.cookie, third.cookie] { #expect(try bench.gateway.get("/", cookie).status == 401) }
        let line = Self.line("session.cascaded", bench.gateway)
        for part in [#""ended_by":"refresh.replayed""#, #""sessions":"2""#, #""subject":"user-1815""#] {
            #expect(line.contains(part), "\(part): \(line)")
        }
        let code = try bench.code()
        let derived = try web(try ReasonBench.refreshToken(in: try bench.redeem(code)))
        #expect(try bench.redeem(code).status == 400)
        #expect(try bench.gateway.get("/", derived.cookie).status == 401)
        #expect(eventually { Self.line("session.cascaded", bench.gateway).contains(#""ended_by":"code.replayed""#) })
        #expect(Self.line("session.cascaded", bench.gateway).contains(#""sessions":"1""#))
    }

    @Test(
        "A live session that is used elsewhere names both countries",
        .enabled(if: TestData.isExpected("GeoLite2-City-Test.mmdb"), TestData.absence)
    )
    func countries() throws {
        let database = try TestData.path("GeoLite2-City-Test.mmdb")
        let more = "trusted_proxies: [127.0.0.1/32]\ngeo: {database: \"\(database)\"}"
        let routes = "  - {path: /**, binding: ip}\n  - {path: /log/**, binding: ip, binding_action: log}"
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes, more: more) }) { gateway, _ in
            let signIn = try gateway.request(
                Request.post(
                    "/.sallyport/login",
                    [
                        "Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded",
                        "X-Forwarded-For: 89.160.20.112",
                    ],
                    body: "identifier=\(User.ada.identifier)&password=\(User.ada.password)&return_to=/"
                )
            )
            let session = try #require(signIn.sessionCookie)
            let fields = ["Cookie: sallyport=\(session)", "X-Forwarded-For: 2.125.160.216"]
            #expect(try gateway.get("/log/x", fields).status == 200)
            #expect(try gateway.get("/x", fields).status == 401)
            func lines() -> [Substring] {
                gateway.output.split(separator: "\n").filter { $0.contains(#""event":"binding.mismatch""#) }
            }
            #expect(eventually { lines().count == 2 })
            for line in lines() {
                #expect(line.contains(#""country":"GB""#) && line.contains(#""bound_country":"SE""#), "\(line)")
            }
        }
    }
}
