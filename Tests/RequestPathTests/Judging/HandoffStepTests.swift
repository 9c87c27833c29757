import RequestPath
import Sessions
import Settings
import SignOn
import Testing
import Vocabulary

@Suite("The judge's middle step: transfer tokens")
struct HandoffStepTests {
    typealias Told = JudgedRequest.Told
    private static let token = "spt_" + String(repeating: "a", count: 55)
    private static let cookie = "session_transfer_token=\(token)"
    private static let query = "/x?a=1&session_transfer_token=\(token)&b=2"
    private static let cleared: Set<String> = ["session_transfer_token", "auth0_session_transfer_token"]

    private func bench(
        _ change: (inout ClientSettings) -> Void = { _ in },
        binding: BindingMode = .none,
        confirmation: HandoffSettings.Confirmation = .crossSite
    ) throws -> JudgeBench {
        var client = ClientSettings(clientID: "web")
        (client.allowsCookie, client.allowsQuery) = (true, true)
        change(&client)
        let handoff = route("/**", .required) {
            $0.client = "web"
            $0.handoff = true
            $0.liveBinding = binding
        }
        let plain = route("/plain/**", .required)
        return try JudgeBench([handoff, plain]) {
            $0.clients = [client]
            $0.handoff.confirmation = confirmation
        }
    }

    private func signedIn(_ bench: JudgeBench) throws -> HandoffOutcome {
        let live = try bench.live()
        return .signedIn(token: Secret(Array(live.token.utf8)), session: live.session.session, replaces: nil)
    }

    @Test(
        "Only a navigation consumes a token; a prefetch is refused, and other requests continue without the token",
        arguments: [
            ("GET", [], Told.consume(.query)), ("GET", ["Sec-Fetch-Mode: navigate"], .consume(.query)),
            ("GET", ["Sec-Purpose: prefetch"], .answer(403, .handoffNotNavigation)),
            ("HEAD", [], .answer(401, .credentialMissing)), ("POST", [], .answer(401, .credentialMissing)),
            ("GET", ["Sec-Fetch-Mode: cors"], .answer(401, .credentialMissing)),
            ("GET", ["Sec-Fetch-Dest: iframe"], .answer(401, .credentialMissing)),
            ("GET", ["Sec-Fetch-Site: cross-site"], .answer(303, nil)),
        ] as [(String, [String], Told)]
    )
    func navigations(method: String, fields: [String], expected: Told) throws {
        let request = JudgedRequest(try self.bench(), method, Self.query, fields)
        #expect(try request.begin() == expected)
    }

    @Test("A token in the query is consumed, and the answer redirects to the URL without it, whatever the outcome")
    func query() throws {
        let bench = try self.bench()
        for (outcome, reason, set) in [
            (try self.signedIn(bench), nil, [bench.cookie(), bench.cookie("-account")]),
            (.alreadySignedIn(isRepeated: true), nil, []),
            (.refused(.handoffExpired, endsExisting: false), .handoffExpired, [bench.cookie("-notice")]),
        ] as [(HandoffOutcome, Reason?, Set<String>)] {
            let request = JudgedRequest(bench, "GET", Self.query)
            #expect(try request.begin() == .consume(.query))
            #expect(request.handoff?.token == Array(Self.token.utf8) && request.handoff?.existing == nil)
            #expect(try request.ended(outcome) == .answer(303, reason))
            #expect(request.values("Location") == ["\(JudgeBench.origin)/x?a=1&b=2"])
            #expect(request.cookies.set == set && request.cookies.cleared.isEmpty)
        }
    }

    @Test("A token in the query is the same where an app has encoded its signs, also when it is moved or asked about")
    func encodedQuery() throws {
        let bench = try self.bench()
        let token = "spt_-" + Self.token.dropFirst(5)
        let encoded = token.replacing("_", with: "%5F").replacing("-", with: "%2d").replacing("aaa", with: "a%61a")
        let target = "/x?a=%2F&session_transfer_token=\(encoded)&b=2"
        let request = JudgedRequest(bench, "GET", target, ["Accept: text/html"])
        #expect(try request.begin() == .consume(.query))
        #expect(request.handoff?.token == Array(token.utf8))
        #expect(try request.unavailable() == .answer(303, .storeUnavailable))
        #expect(request.values("Location") == ["\(JudgeBench.origin)/x?a=%2F&b=2"])
        #expect(request.values("Set-Cookie").contains { $0.contains(".\(token);") })
        let link = JudgedRequest(bench, "GET", target, ["Sec-Fetch-Site: cross-site"])
        #expect(try link.begin() == .answer(303, nil))
        #expect(link.values("Location") == ["\(JudgeBench.origin)/.sallyport/handoff"])
        for odd in ["%", "spt_%zz", "%25"] {
            let request = JudgedRequest(bench, "GET", "/x?session_transfer_token=\(odd)")
            #expect(try request.begin() == .consume(.query))
            #expect(request.handoff?.token == Array((odd == "%25" ? "%" : odd).utf8))
        }
    }

    @Test("The browser's session is asked for first, and counts on its own host only")
    func existing() throws {
        let bench = try self.bench(binding: .ip)
        let fields = ["Cookie: \(bench.cookie())=a"]
        for (change, isKnown, suffices) in [
            ({ _ in }, true, true), ({ $0.host = "b.example" }, false, true),
            ({ $0.device = nil }, true, false),
        ] as [((inout Session) -> Void, Bool, Bool)] {
            let request = JudgedRequest(bench, "GET", Self.query, fields)
            #expect(try request.begin() == .ask(.web, .handoff))
            #expect(request.token == "a")
            #expect(try request.found(bench.live(.web, change).session) == .consume(.query))
            #expect((request.handoff?.existing != nil) == isKnown)
            #expect(request.handoff?.mayKeepSession == suffices)
        }
        let none = JudgedRequest(bench, "GET", Self.query, fields)
        _ = try none.begin()
        #expect(try none.found(.malformed) == .consume(.query))
        #expect(none.handoff?.existing == nil)
    }

    @Test("A refused token in the cookie is cleared, and the request continues with the browser's session")
    func cookieThenSession() throws {
        let bench = try self.bench()
        let live = try bench.live()
        let request = JudgedRequest(bench, "GET", "/x", ["Cookie: \(Self.cookie); \(bench.cookie())=a"])
        #expect(try request.begin() == .ask(.web, .handoff))
        #expect(try request.found(live.session) == .consume(.cookie))
        #expect(try request.ended(.refused(.handoffReplayed, endsExisting: false)) == .ask(.web, .request))
        #expect(try request.found(live.session) == .permitted(route: "/**", subject: "ada"))
        #expect(request.judge.findings.note == .handoffReplayed)
        #expect(request.cookies.cleared == Self.cleared && request.cookies.set == [bench.cookie("-handled")])
    }

    @Test("The cookie is tried before the query, and the browser's session is asked for once")
    func cookieThenQuery() throws {
        let bench = try self.bench()
        let live = try bench.live()
        let request = JudgedRequest(bench, "GET", Self.query, ["Cookie: \(Self.cookie); \(bench.cookie())=a"])
        #expect(try request.begin() == .ask(.web, .handoff))
        #expect(try request.found(live.session) == .consume(.cookie))
        #expect(try request.ended(.refused(.handoffExpired, endsExisting: false)) == .consume(.query))
        #expect(request.handoff?.existing?.key == live.session.key)
        #expect(try request.ended(self.signedIn(bench)) == .answer(303, nil))
        #expect(request.judge.findings.note == nil)
        let signedIn = JudgedRequest(bench, "GET", Self.query, ["Cookie: \(Self.cookie)"])
        #expect(try signedIn.begin() == .consume(.cookie))
        #expect(try signedIn.ended(self.signedIn(bench)) == .answer(303, nil))
        #expect(signedIn.values("Location") == ["\(JudgeBench.origin)/x?a=1&b=2"])
    }

    @Test(
        "Another user's session ends: its cookie is cleared, and the answer is a redirect to login, or to the URL without its token"
    )
    func otherUser() throws {
        let bench = try self.bench()
        let ended = HandoffOutcome.refused(.handoffOtherUser, endsExisting: true)
        for (target, expected) in [
            ("/x", Told.answer(303, .handoffOtherUser)), (Self.query, .answer(303, .handoffOtherUser)),
        ] {
            let fields = ["Cookie: \(Self.cookie); \(bench.cookie())=a", "Accept: text/html"]
            let request = JudgedRequest(bench, "GET", target, fields)
            _ = try request.begin()
            #expect(try request.found(bench.live().session) == .consume(.cookie))
            #expect(try request.ended(ended) == expected)
            #expect(request.cookies.cleared == Self.cleared.union([bench.cookie()]))
            let isLogin = request.values("Location").first?.contains("/.sallyport/login") == true
            #expect(isLogin == (target == "/x"))
        }
        let explicit = JudgedRequest(bench, "GET", "/x", ["Cookie: \(Self.cookie)", "Authorization: Bearer a"])
        _ = try explicit.begin()
        #expect(try explicit.ended(ended) == .ask(.native, .request))
    }

    @Test(
        "A token that may not be used is rejected: its cookie is cleared, and a query is redirected to the URL without it"
    )
    func turnedAway() throws {
        let noCookie = try self.bench { $0.allowsCookie = false }
        let request = JudgedRequest(noCookie, "GET", "/x", ["Cookie: \(Self.cookie)"])
        #expect(try request.begin() == .answer(401, .credentialMissing))
        #expect(request.turnedAway == [.handoffMethodNotAllowed] && request.cookies.cleared == Self.cleared)

        let noQuery = try self.bench { $0.allowsQuery = false }
        let query = JudgedRequest(noQuery, "GET", Self.query)
        #expect(try query.begin() == .answer(303, .handoffMethodNotAllowed))
        #expect(query.turnedAway == [.handoffMethodNotAllowed])

        let bench = try self.bench()
        let repeated = JudgedRequest(bench, "GET", "\(Self.query)&session_transfer_token=b")
        #expect(try repeated.begin() == .answer(303, .handoffRepeated))
        #expect(repeated.values("Location") == ["\(JudgeBench.origin)/x?a=1&b=2"])
        let cookies = ["Cookie: \(Self.cookie); auth0_session_transfer_token=b"]
        let both = JudgedRequest(bench, "GET", "/x", cookies)
        #expect(try both.begin() == .answer(401, .credentialMissing))
        #expect(both.turnedAway == [.handoffRepeated] && both.judge.findings.note == .handoffRepeated)
        // A good token in the query is still used.
        let good = JudgedRequest(bench, "GET", Self.query, cookies)
        #expect(try good.begin() == .consume(.query))
        #expect(good.turnedAway == [.handoffRepeated])
    }

    @Test("On a route without a client, tokens are neither used nor cleared")
    func withoutClient() throws {
        let request = JudgedRequest(try self.bench(), "GET", "/plain/x", ["Cookie: \(Self.cookie)"])
        #expect(try request.begin() == .answer(401, .credentialMissing))
        #expect(request.turnedAway.isEmpty && request.cookies.cleared.isEmpty)
    }

    @Test("A cookie that was already handled and comes back is left alone")
    func marks() throws {
        let bench = try self.bench()
        let first = JudgedRequest(bench, "GET", "/x", ["Cookie: \(Self.cookie)"])
        _ = try first.begin()
        #expect(try first.ended(.refused(.handoffExpired, endsExisting: false)) == .answer(401, .credentialMissing))
        let name = bench.cookie("-handled")
        let line = try #require(first.values("Set-Cookie").first { $0.hasPrefix("\(name)=") })
        let marks = line.prefix { $0 != ";" }
        let again = JudgedRequest(bench, "GET", "/x", ["Cookie: \(Self.cookie); \(marks)"])
        #expect(try again.begin() == .answer(401, .credentialMissing))
        #expect(again.judge.findings.note == nil && again.cookies.cleared.isEmpty)
        let other = JudgedRequest(bench, "GET", "/x", ["Cookie: session_transfer_token=other; \(marks)"])
        #expect(try other.begin() == .consume(.cookie))
    }

    @Test("If the store is unavailable, the browser keeps the attempt in a cookie, and a page's URL loses its token")
    func storeIsAway() throws {
        let bench = try self.bench()
        let attempt = bench.cookie("-attempt")
        func value(_ request: JudgedRequest) -> String {
            let line = request.values("Set-Cookie").first { $0.hasPrefix("\(attempt)=") }
            return line.map { String($0.dropFirst(attempt.count + 1).prefix { $0 != ";" }) } ?? ""
        }
        let page = JudgedRequest(bench, "GET", Self.query, ["Accept: text/html"])
        _ = try page.begin()
        #expect(try page.unavailable() == .answer(303, .storeUnavailable))
        #expect(page.values("Location") == ["\(JudgeBench.origin)/x?a=1&b=2"])
        #expect(value(page).hasSuffix(".\(Self.token)"))

        let program = JudgedRequest(bench, "GET", Self.query)
        _ = try program.begin()
        #expect(try program.ended(.unavailable(.full)) == .answer(503, .storeFull))
        #expect(value(program).count == 43)

        let cookie = JudgedRequest(bench, "GET", "/x", ["Cookie: \(Self.cookie); \(bench.cookie())=a"])
        #expect(try cookie.begin() == .ask(.web, .handoff))
        #expect(try cookie.unavailable() == .answer(503, .storeUnavailable))
        #expect(value(cookie).count == 43 && cookie.cookies.cleared.isEmpty)

        // The repetition is the same attempt, with the token from the cookie.
        let moved = JudgedRequest(bench, "GET", "/x", ["Cookie: \(attempt)=\(value(page))"])
        #expect(try moved.begin() == .consume(.query))
        #expect(moved.handoff?.token == Array(Self.token.utf8))
        #expect(moved.handoff?.attempt.value.bytes == Array(value(page).utf8.prefix(43)))
        #expect(moved.handoff?.isFirstAttempt == false && page.handoff?.isFirstAttempt == true)
        #expect(try moved.unavailable() == .answer(503, .storeUnavailable))
        #expect(value(moved) == value(page))
        let done = JudgedRequest(bench, "GET", "/x", ["Cookie: \(attempt)=\(value(page))"])
        _ = try done.begin()
        #expect(try done.ended(self.signedIn(bench)) == .answer(303, nil))
        #expect(
            done.cookies.cleared == [attempt] && done.cookies.set == [bench.cookie(), bench.cookie("-account")]
        )
        let crossSite = ["Cookie: \(attempt)=\(value(page))", "Sec-Fetch-Site: cross-site"]
        #expect(try JudgedRequest(bench, "GET", "/x", crossSite).begin() == .answer(401, .credentialMissing))
    }

    @Test("A link on another site leads to the page that asks, with the token sealed in a cookie for a minute")
    func asks() throws {
        let bench = try self.bench()
        let request = JudgedRequest(bench, "GET", Self.query, ["Sec-Fetch-Site: cross-site"])
        #expect(try request.begin() == .answer(303, nil))
        #expect(request.values("Location") == ["\(JudgeBench.origin)/.sallyport/handoff"])
        #expect(request.turnedAway.isEmpty)
        let line = try #require(request.values("Set-Cookie").first)
        let name = bench.cookie("-handoff")
        #expect(line.hasPrefix("\(name)=") && line.contains("Max-Age=60") && line.contains("; Secure; HttpOnly"))
        let sealed = Secret(Array(line.utf8.dropFirst(name.utf8.count + 1).prefix { $0 != UInt8(ascii: ";") }))
        let pending = bench.confirmation.open(sealed, on: "app.example.com", now: JudgeBench.now)
        #expect(pending?.token.bytes == Array(Self.token.utf8) && pending?.clientID == "web")
        #expect(pending?.target == "/x?a=1&b=2")
    }

    @Test(
        "A link on another site is refused if nobody is asked, and if its token or its page has no room in the cookie"
    )
    func asksNobody() throws {
        let crossSite = ["Sec-Fetch-Site: cross-site"]
        let long = "/\(String(repeating: "x", count: 3_000))?session_transfer_token=\(Self.token)"
        for (mode, target) in [
            (.never, Self.query), (.crossSite, long), (.crossSite, "/x?session_transfer_token=a.b"), (.always, long),
        ] as [(HandoffSettings.Confirmation, String)] {
            let bench = try self.bench(confirmation: mode)
            let request = JudgedRequest(bench, "GET", target, crossSite)
            #expect(try request.begin() == .answer(303, .handoffCrossSite))
            #expect(request.turnedAway == [.handoffCrossSite])
            #expect(request.cookies.set == [bench.cookie("-notice")])
        }
        #expect(try JudgedRequest(self.bench(confirmation: .never), "GET", Self.query).begin() == .consume(.query))
    }

    @Test(
        "With always, each token in the query is asked about, one that the user has confirmed is not, nor one in a cookie"
    )
    func asksAlways() throws {
        let bench = try self.bench(confirmation: .always)
        let request = JudgedRequest(bench, "GET", Self.query)
        #expect(try request.begin() == .answer(303, nil))
        #expect(request.values("Location") == ["\(JudgeBench.origin)/.sallyport/handoff"])
        let moved = "\(bench.cookie("-attempt"))=\(String(repeating: "A", count: 43)).\(Self.token)"
        #expect(try JudgedRequest(bench, "GET", "/x", ["Cookie: \(moved)"]).begin() == .consume(.query))
        #expect(try JudgedRequest(bench, "GET", "/x", ["Cookie: \(Self.cookie)"]).begin() == .consume(.cookie))
        // The store fails on the cookie's token: the one in the query is not moved past the question.
        let both = JudgedRequest(bench, "GET", Self.query, ["Cookie: \(Self.cookie)", "Accept: text/html"])
        #expect(try both.begin() == .consume(.cookie))
        #expect(try both.unavailable() == .answer(303, .storeUnavailable))
        #expect(both.values("Set-Cookie").allSatisfy { !$0.contains(Self.token) })
    }

    /// The value of the attempt cookie of a token that the user has confirmed.
    private func confirmed(_ bench: JudgeBench, _ transport: HandoffTransport) -> String {
        let confirmed = ConfirmedToken(transport: transport, mark: Array("proof".utf8))
        let value = AttemptCookie.value(AttemptSecret(), moving: Array(Self.token.utf8), confirmed: confirmed)
        return "Cookie: \(bench.cookie("-attempt"))=\(String(decoding: value.bytes, as: UTF8.self))"
    }

    @Test(
        "The mark of the account that the browser used last comes with a token; two different ones are that of no account"
    )
    func lastAccount() throws {
        let bench = try self.bench()
        let account = bench.cookie("-account")
        for (cookies, mark) in [
            ("", nil), ("; \(account)=m", "m"), ("; \(account)=m; \(account)=m", "m"),
            ("; \(account)=m; \(account)=n", ""),
            ("; \(bench.cookie("-other"))=m", nil),
        ] as [(String, String?)] {
            let request = JudgedRequest(bench, "GET", "/x", ["Cookie: \(Self.cookie)\(cookies)"])
            #expect(try request.begin() == .consume(.cookie))
            #expect(request.handoff?.lastAccount == mark.map { Secret($0) }, "\(cookies)")
            #expect(request.handoff?.confirmationMark == nil)
        }
    }

    @Test(
        "T10: a token for another account leads to the page that asks, out of the URL and out of its cookie",
        arguments: HandoffTransport.allCases
    )
    func asksAboutAccount(transport: HandoffTransport) throws {
        let bench = try self.bench()
        let request =
            transport == .query
            ? JudgedRequest(bench, "GET", Self.query)
            : JudgedRequest(bench, "GET", "/x?a=1&b=2", ["Cookie: \(Self.cookie)"])
        #expect(try request.begin() == .consume(transport))
        #expect(try request.ended(.unconfirmed) == .answer(303, nil))
        #expect(request.values("Location") == ["\(JudgeBench.origin)/.sallyport/handoff"])
        #expect(request.turnedAway.isEmpty && !request.cookies.set.contains(bench.cookie()))
        #expect(request.cookies.cleared == (transport == .cookie ? Self.cleared : []))
        let name = bench.cookie("-handoff")
        let line = try #require(request.values("Set-Cookie").first { $0.hasPrefix("\(name)=") })
        let sealed = Secret(Array(line.utf8.dropFirst(name.utf8.count + 1).prefix { $0 != UInt8(ascii: ";") }))
        let pending = bench.confirmation.open(sealed, on: "app.example.com", now: JudgeBench.now)
        #expect(pending?.token.bytes == Array(Self.token.utf8) && pending?.transport == transport)
        #expect(pending?.target == "/x?a=1&b=2")
    }

    @Test("T10: where nobody is asked, a token for another account is refused, and not burned")
    func asksNobodyAboutAccount() throws {
        let bench = try self.bench(confirmation: .never)
        let query = JudgedRequest(bench, "GET", Self.query)
        #expect(try query.begin() == .consume(.query))
        #expect(try query.ended(.unconfirmed) == .answer(303, .handoffOtherAccount))
        #expect(query.turnedAway == [.handoffOtherAccount])
        let cookie = JudgedRequest(bench, "GET", "/x", ["Cookie: \(Self.cookie)"])
        #expect(try cookie.begin() == .consume(.cookie))
        #expect(try cookie.ended(.unconfirmed) == .answer(401, .credentialMissing))
        #expect(cookie.turnedAway == [.handoffOtherAccount] && cookie.cookies.cleared == Self.cleared)
    }

    @Test(
        "A confirmed token counts as what it was, is consumed without a question, and its cookie goes whatever the outcome",
        arguments: HandoffTransport.allCases
    )
    func confirmedToken(transport: HandoffTransport) throws {
        let bench = try self.bench {
            $0.allowsCookie = transport == .cookie
            $0.allowsQuery = transport == .query
        }
        let fields = [self.confirmed(bench, transport)]
        for (outcome, reason) in [
            (try self.signedIn(bench), nil), (.refused(.handoffExpired, endsExisting: false), .handoffExpired),
        ] as [(HandoffOutcome, Reason?)] {
            let request = JudgedRequest(bench, "GET", "/x", fields)
            #expect(try request.begin() == .consume(transport))
            #expect(request.handoff?.confirmationMark == Array("proof".utf8))
            #expect(try request.ended(outcome) == .answer(303, reason))
            #expect(request.values("Location") == ["\(JudgeBench.origin)/x"])
            #expect(request.cookies.cleared == [bench.cookie("-attempt")])
        }
        // After a 503 it is still confirmed.
        let away = JudgedRequest(bench, "GET", "/x", fields)
        _ = try away.begin()
        #expect(try away.unavailable() == .answer(503, .storeUnavailable))
        let line = try #require(away.values("Set-Cookie").first)
        #expect(line.contains(".\(transport.rawValue).proof; Max-Age"), "\(line)")
        // A cookie of an app beside it is tried first, and is not confirmed.
        guard transport == .cookie else { return }
        let both = JudgedRequest(bench, "GET", "/x", [fields[0] + "; session_transfer_token=other"])
        #expect(try both.begin() == .consume(.cookie))
        #expect(both.handoff?.confirmationMark == nil && both.handoff?.token == Array("other".utf8))
    }
}
