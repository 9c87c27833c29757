import Cryptography
import RequestPath
import Sessions
import Settings
import SignOn
import Testing
import Vocabulary

/// `handoff.share`: a browser that a handoff has signed in goes on to the host on which users sign in.
@Suite("The judge's middle step: handoffs that are shared with other hosts")
struct HandoffShareStepTests {
    typealias Told = JudgedRequest.Told
    private static let login = "https://login.example.com"
    private static let token = "spt_" + String(repeating: "a", count: 55)
    private static let cookie = "Cookie: session_transfer_token=\(token)"
    private static let query = "/a//x?a=%2f&session_transfer_token=\(token)&&b"
    private static let target = "/a//x?a=%2f&&b"

    private static let share = HandoffShare(
        hosts: SignInHosts(
            [("app.example.com", false), ("login.example.com", true)].map { name, hasEndpoints in
                HostSettings(
                    publicURL: PublicURL(isHTTPS: true, host: name, port: nil),
                    endpoints: hasEndpoints,
                    routes: [RouteSettings(path: "/**", upstream: "app", auth: .required)]
                )
            }
        ),
        keys: SealingKeyRing(current: Secret("a secret of the tests"))
    )

    private func bench(_ share: HandoffShare? = Self.share) throws -> JudgeBench {
        var client = ClientSettings(clientID: "web")
        (client.allowsCookie, client.allowsQuery) = (true, true)
        let handoff = route("/**", .required) {
            $0.client = "web"
            $0.handoff = true
        }
        return try JudgeBench([handoff], share: share) { $0.clients = [client] }
    }

    private func signedIn(_ bench: JudgeBench) throws -> HandoffOutcome {
        let live = try bench.live()
        return .signedIn(token: Secret(Array(live.token.utf8)), session: live.session.session, replaces: nil)
    }

    /// The page to which the other host sends the browser back; nil if it does not go there.
    private func page(_ request: JudgedRequest) -> String? {
        guard let location = request.values("Location").first,
            let parts = location.firstMatch(of: /^(.*)\/\.sallyport\/adopt\?from=(.*)&link=(.*)$/),
            parts.1 == Self.login, parts.2 == "app.example.com"
        else { return nil }
        let link = String(parts.3)
        return Self.share.page(link, from: "app.example.com", on: "login.example.com", now: JudgeBench.now)?.page
            .target
    }

    @Test("A browser that is signed in by a token goes on, and comes back to the URL without the token")
    func onwards() throws {
        let bench = try self.bench()
        let query = JudgedRequest(bench, "GET", Self.query)
        #expect(try query.begin() == .consume(.query))
        #expect(try query.ended(self.signedIn(bench)) == .answer(303, nil))
        #expect(self.page(query) == Self.target)
        #expect(query.cookies.set == [bench.cookie(), bench.cookie("-account")] && query.cookies.cleared.isEmpty)
        #expect(query.values("Location").allSatisfy { !$0.contains(Self.token) })

        let cookie = JudgedRequest(bench, "GET", "/x?y", [Self.cookie])
        #expect(try cookie.begin() == .consume(.cookie))
        #expect(try cookie.ended(self.signedIn(bench)) == .answer(303, nil))
        #expect(self.page(cookie) == "/x?y" && cookie.cookies.cleared.contains("session_transfer_token"))
        #expect(cookie.cookies.set == [bench.cookie(), bench.cookie("-account"), bench.cookie("-handled")])

        // Both: the token in the query is not tried any more, and leaves the URL too.
        let both = JudgedRequest(bench, "GET", Self.query, [Self.cookie])
        #expect(try both.begin() == .consume(.cookie))
        #expect(try both.ended(self.signedIn(bench)) == .answer(303, nil))
        #expect(self.page(both) == Self.target)
    }

    @Test("A try that was moved out of the URL by an outage goes on as well, and its cookie is cleared")
    func moved() throws {
        let bench = try self.bench()
        let attempt = bench.cookie("-attempt")
        let first = JudgedRequest(bench, "GET", Self.query, ["Accept: text/html"])
        _ = try first.begin()
        #expect(try first.unavailable() == .answer(303, .storeUnavailable))
        #expect(first.values("Location") == ["\(JudgeBench.origin)\(Self.target)"] && self.page(first) == nil)
        let kept = try #require(first.values("Set-Cookie").first { $0.hasPrefix("\(attempt)=") })
        let again = JudgedRequest(bench, "GET", Self.target, ["Cookie: \(kept.prefix { $0 != ";" })"])
        #expect(try again.begin() == .consume(.query))
        #expect(try again.ended(self.signedIn(bench)) == .answer(303, nil))
        #expect(self.page(again) == Self.target)
        #expect(
            again.cookies.set == [bench.cookie(), bench.cookie("-account")] && again.cookies.cleared == [attempt]
        )
    }

    @Test("A browser that no handoff has signed in just now stays on its host")
    func stays() throws {
        let bench = try self.bench()
        for (outcome, reason) in [
            (.alreadySignedIn(isRepeated: true), nil),
            (.refused(.handoffExpired, endsExisting: false), .handoffExpired),
            (.refused(.handoffUnknown, endsExisting: true), .handoffUnknown),
        ] as [(HandoffOutcome, Reason?)] {
            let request = JudgedRequest(bench, "GET", Self.query)
            _ = try request.begin()
            #expect(try request.ended(outcome) == .answer(303, reason))
            #expect(request.values("Location") == ["\(JudgeBench.origin)\(Self.target)"])
        }
        let script = JudgedRequest(bench, "GET", Self.query, ["Sec-Fetch-Mode: cors"])
        #expect(try script.begin() == .answer(401, .credentialMissing))
    }

    @Test("Without handoff.share, or for a page that is too long to be carried, the answer is the plain redirect")
    func plain() throws {
        let long = "/" + String(repeating: "a", count: 2800)
        for (share, path) in [(nil, "/x"), (Self.share, long)] as [(HandoffShare?, String)] {
            let bench = try self.bench(share)
            let request = JudgedRequest(bench, "GET", "\(path)?session_transfer_token=\(Self.token)")
            #expect(try request.begin() == .consume(.query))
            #expect(try request.ended(self.signedIn(bench)) == .answer(303, nil))
            #expect(request.values("Location") == ["\(JudgeBench.origin)\(path)"])
            #expect(request.cookies.set == [bench.cookie(), bench.cookie("-account")])
        }
    }
}
