import RequestPath
import Sessions
import Settings
import SignOn
import Testing
import Vocabulary

/// A page of the gateway that signs users in with transfer tokens, by the settings of the route of `/`.
@Suite("The judge's middle step: transfer tokens on a page of the gateway")
struct OwnPageStepTests {
    typealias Told = JudgedRequest.Told
    private static let path = "/.sallyport/sessions"
    private static let token = "spt_" + String(repeating: "a", count: 55)
    private static let cookie = "session_transfer_token=\(token)"
    private static let query = "\(path)?a=1&session_transfer_token=\(token)"

    private func bench(
        handsOff: Bool = true,
        _ change: (inout ClientSettings) -> Void = { _ in }
    ) throws -> JudgeBench {
        var client = ClientSettings(clientID: "web")
        (client.allowsCookie, client.allowsQuery) = (true, true)
        change(&client)
        let start = route("/", .required) {
            if handsOff { ($0.client, $0.handoff) = ("web", true) }
        }
        return try JudgeBench([start, route("/**", .required)]) { $0.clients = [client] }
    }

    private func signedIn(_ bench: JudgeBench) throws -> HandoffOutcome {
        let live = try bench.live()
        return .signedIn(token: Secret(Array(live.token.utf8)), session: live.session.session, replaces: nil)
    }

    @Test(
        "Only a navigation consumes a token; other requests reach the page without a sign-in",
        arguments: [
            ("GET", [], Told.consume(.query)), ("GET", ["Sec-Fetch-Mode: navigate"], .consume(.query)),
            ("GET", ["Sec-Purpose: prefetch"], .answer(403, .handoffNotNavigation)),
            ("HEAD", [], .collect(path)), ("POST", [], .collect(path)),
            ("GET", ["Sec-Fetch-Mode: cors"], .collect(path)),
            ("GET", ["Sec-Fetch-Site: cross-site"], .answer(303, nil)),
        ] as [(String, [String], Told)]
    )
    func navigations(method: String, fields: [String], expected: Told) throws {
        let request = JudgedRequest(try self.bench(), method, Self.query, fields)
        #expect(try request.begin() == expected)
        #expect((request.judge.findings.route != nil) == (expected == .consume(.query)))
    }

    @Test("Without a token the page answers, whatever the route of / demands")
    func plain() throws {
        let bench = try self.bench()
        for fields in [[], ["Cookie: \(bench.cookie())=a"], ["Authorization: Bearer x", "X-Session-Token: y"]] {
            let request = JudgedRequest(bench, "GET", Self.path, fields)
            #expect(try request.begin() == .collect(Self.path))
            #expect(request.judge.findings.route == nil)
        }
    }

    @Test("A token in the query is consumed, and the answer redirects to the page without it, whatever the outcome")
    func query() throws {
        let bench = try self.bench()
        for (outcome, reason, set) in [
            (try self.signedIn(bench), nil, [bench.cookie(), bench.cookie("-account")]),
            (.refused(.handoffReplayed, endsExisting: false), .handoffReplayed, [bench.cookie("-notice")]),
        ] as [(HandoffOutcome, Reason?, Set<String>)] {
            let request = JudgedRequest(bench, "GET", Self.query)
            #expect(try request.begin() == .consume(.query))
            #expect(request.handoff?.token == Array(Self.token.utf8) && request.handoff?.client.clientID == "web")
            #expect(try request.ended(outcome) == .answer(303, reason))
            #expect(request.values("Location") == ["\(JudgeBench.origin)\(Self.path)?a=1"])
            #expect(request.cookies.set == set && request.cookies.cleared.isEmpty)
            // The answer is logged and counted under the page's path.
            #expect(request.judge.findings.route == nil && request.judge.findings.endpoint == Self.path)
        }
    }

    @Test("A token in the cookie signs in with a redirect; after a refused one the page answers, and clears the cookie")
    func cookie() throws {
        let bench = try self.bench()
        let accepted = JudgedRequest(bench, "GET", Self.path, ["Cookie: \(Self.cookie)"])
        #expect(try accepted.begin() == .consume(.cookie))
        #expect(try accepted.ended(self.signedIn(bench)) == .answer(303, nil))
        #expect(accepted.values("Location") == ["\(JudgeBench.origin)\(Self.path)"])

        let live = try bench.live()
        let refused = JudgedRequest(bench, "GET", Self.path, ["Cookie: \(Self.cookie); \(bench.cookie())=a"])
        #expect(try refused.begin() == .ask(.web, .handoff))
        #expect(try refused.found(live.session) == .consume(.cookie))
        #expect(refused.handoff?.existing?.key == live.session.key)
        #expect(try refused.ended(.refused(.bindingIPMismatch, endsExisting: false)) == .collect(Self.path))
        #expect(refused.cookies.cleared.contains("session_transfer_token"))
        #expect(refused.judge.findings.route == nil && refused.judge.findings.note == .bindingIPMismatch)
    }

    @Test("If the store is away, a reload completes the attempt, and the token is in no URL")
    func outage() throws {
        let bench = try self.bench()
        let request = JudgedRequest(bench, "GET", Self.query, ["Accept: text/html"])
        #expect(try request.begin() == .consume(.query))
        #expect(try request.unavailable() == .answer(303, .storeUnavailable))
        #expect(request.values("Location") == ["\(JudgeBench.origin)\(Self.path)?a=1"])
        #expect(request.judge.findings.route == nil)
        let line = try #require(request.values("Set-Cookie").first { $0.contains(".\(Self.token);") })
        let moved = String(line.prefix { $0 != ";" })
        let again = JudgedRequest(bench, "GET", Self.path, ["Accept: text/html", "Cookie: \(moved)"])
        #expect(try again.begin() == .consume(.query))
        #expect(again.handoff?.attempt.value == request.handoff?.attempt.value)
    }

    @Test("The route of / and its client decide whether tokens are accepted, and where")
    func settings() throws {
        let off = try self.bench(handsOff: false)
        #expect(try JudgedRequest(off, "GET", Self.query).begin() == .collect(Self.path))
        #expect(try JudgedRequest(off, "GET", Self.path, ["Cookie: \(Self.cookie)"]).begin() == .collect(Self.path))
        let cookieOnly = try self.bench { $0.allowsQuery = false }
        let request = JudgedRequest(cookieOnly, "GET", Self.query)
        #expect(try request.begin() == .answer(303, .handoffMethodNotAllowed))
        #expect(request.turnedAway == [.handoffMethodNotAllowed])
        #expect(request.values("Location") == ["\(JudgeBench.origin)\(Self.path)?a=1"])
    }
}
