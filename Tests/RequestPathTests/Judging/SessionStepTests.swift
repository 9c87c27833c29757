import AddressIntelligence
import Endpoints
import NIOCore
import Observability
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("The judge's last steps: whose session it is, and whether it suffices")
struct SessionStepTests {
    /// What a request presents, and what its token turns out to be.
    enum Case: String, CaseIterable, Sendable {
        case nothing, liveCookie, deadCookie, liveToken, deadToken, malformedToken, otherKey, ambiguousCookies
        case dpop, emptyToken, cookieOfOtherHost, refusedToken
        case cookieOfOtherProvider, tokenOfOtherProvider
    }

    private func judged(_ auth: AuthRequirement, _ presented: Case) throws -> JudgedRequest.Told {
        let bench = try JudgeBench([route("/**", auth)])
        let name = bench.cookie()
        let fields: [String] =
            switch presented {
            case .nothing: []
            case .liveCookie, .deadCookie, .cookieOfOtherHost, .cookieOfOtherProvider: ["Cookie: \(name)=a"]
            case .liveToken, .deadToken, .malformedToken, .otherKey, .refusedToken, .tokenOfOtherProvider:
                ["Authorization: Bearer a"]
            case .ambiguousCookies: ["Cookie: \(name)=a; \(name)=b"]
            case .dpop: ["Authorization: DPoP a"]
            case .emptyToken: ["X-Session-Token:"]
            }
        let request = JudgedRequest(bench, "GET", "/x", fields)
        let first = try request.begin()
        guard case .ask(let kind, .request) = first else { return first }
        #expect(request.token == "a")
        #expect(kind == (fields[0].hasPrefix("Cookie") ? .web : .native))
        switch presented {
        case .liveCookie: return try request.found(bench.live().session)
        case .cookieOfOtherHost: return try request.found(bench.live { $0.host = "app.example.com:8443" }.session)
        case .cookieOfOtherProvider:
            return try request.found(bench.live { $0.identity.realm = Realm("staff") }.session)
        case .tokenOfOtherProvider:
            return try request.found(bench.live(.native) { $0.identity.realm = Realm("staff") }.session)
        case .liveToken: return try request.found(bench.live(.native).session)
        case .malformedToken: return try request.found(.malformed)
        case .otherKey: return try request.found(.otherKey)
        case .refusedToken: return try request.found(.refused(.credentialOtherAudience))
        default: return try request.found(nil)
        }
    }

    @Test(
        "Whoever is sent to the sign-in page because time has ended the session is told so there, and others less",
        arguments: [
            (Reason.sessionIdle, "idle"), (.sessionExpired, "expired"), (.sessionRevoked, "ended"),
            (.sessionForgotten, "ended"), (.sessionUnknown, "ended"),
        ]
    )
    func ended(reason: Reason, told: String) throws {
        let answer = SessionAnswer.refused(reason)
        let bench = try JudgeBench([route("/**", .required)])
        let navigation = ["Cookie: \(bench.cookie())=a", "Accept: text/html", "Sec-Fetch-Mode: navigate"]
        let request = JudgedRequest(bench, "GET", "/x", navigation)
        _ = try request.begin()
        _ = try request.found(answer)
        let lines = request.values("Set-Cookie").filter { $0.hasPrefix(bench.cookie("-notice")) }
        #expect(lines.map { $0.hasPrefix("\(bench.cookie("-notice"))=\(told);") } == [true], "\(lines)")
        let script = JudgedRequest(bench, "GET", "/x", ["Cookie: \(bench.cookie())=a"])
        _ = try script.begin()
        _ = try script.found(answer)
        #expect(script.values("Set-Cookie").isEmpty, "a script shows no page")
    }

    @Test("Required: only a live session passes, and the reason depends on the credential", arguments: Case.allCases)
    func required(presented: Case) throws {
        let expected: JudgedRequest.Told =
            switch presented {
            case .nothing: .answer(401, .credentialMissing)
            case .liveCookie, .liveToken: .permitted(route: "/**", subject: "ada")
            case .deadCookie, .deadToken, .dpop: .answer(401, .sessionUnknown)
            case .malformedToken, .emptyToken: .answer(401, .credentialMalformed)
            case .otherKey: .answer(401, .credentialOtherKey)
            case .refusedToken: .answer(401, .credentialOtherAudience)
            case .ambiguousCookies: .answer(401, .credentialAmbiguousCookie)
            case .cookieOfOtherHost: .answer(401, .sessionOtherHost)
            case .cookieOfOtherProvider, .tokenOfOtherProvider: .answer(401, .sessionOtherProvider)
            }
        #expect(try self.judged(.required, presented) == expected)
    }

    @Test(
        "Optional: without a valid cookie the request is anonymous, but an explicit credential is judged",
        arguments: Case.allCases
    )
    func optional(presented: Case) throws {
        let expected: JudgedRequest.Told =
            switch presented {
            case .liveCookie, .liveToken: .permitted(route: "/**", subject: "ada")
            case .nothing, .deadCookie, .ambiguousCookies, .cookieOfOtherHost, .cookieOfOtherProvider:
                .permitted(route: "/**", subject: nil)
            case .deadToken, .dpop: .answer(401, .sessionUnknown)
            case .malformedToken, .emptyToken: .answer(401, .credentialMalformed)
            case .otherKey: .answer(401, .credentialOtherKey)
            case .tokenOfOtherProvider: .answer(401, .sessionOtherProvider)
            case .refusedToken: .answer(401, .credentialOtherAudience)
            }
        #expect(try self.judged(.optional, presented) == expected)
    }

    @Test("Public: no session is asked for, whatever is presented", arguments: Case.allCases)
    func open(presented: Case) throws {
        #expect(try self.judged(.public, presented) == .permitted(route: "/**", subject: nil))
    }

    @Test(
        "A live binding is judged with every request, by cookie and by token",
        arguments: [
            (BindingMode.none, "198.51.100.1", nil), (.ip, "192.0.2.1", nil), (.ip, "198.51.100.1", .bindingIPMismatch),
            (.asn, "192.0.2.1", .bindingASNUnknown), (.ipOrASN, "192.0.2.1", nil),
            (.ipOrASN, "198.51.100.1", .bindingASNUnknown), (.ipDualStack, "198.51.100.1", .bindingIPMismatch),
        ] as [(BindingMode, String, Reason?)]
    )
    func binding(mode: BindingMode, address: String, mismatch: Reason?) throws {
        let bench = try JudgeBench([route("/**", .required) { $0.liveBinding = mode }])
        let expected: JudgedRequest.Told = mismatch.map { .answer(401, $0) } ?? .permitted(route: "/**", subject: "ada")
        for kind in [Session.Kind.web, .native] {
            let field = kind == .web ? "Cookie: \(bench.cookie())=a" : "Authorization: Bearer a"
            let peer = try #require(IPAddress(address))
            let request = JudgedRequest(bench, "GET", "/x", [field], from: peer)
            #expect(try request.begin() == .ask(kind, .request))
            #expect(try request.found(bench.live(kind).session) == expected)
            #expect(request.judge.findings.events.count == (mismatch == nil ? 0 : 1), "a mismatch is audited")
        }
        let bare = JudgedRequest(bench, "GET", "/x", ["Authorization: Bearer a"])
        _ = try bare.begin()
        let unbound = try bench.live(.native) { $0.device = nil }.session
        #expect(try bare.found(unbound) == (mode == .none ? expected : .answer(401, .bindingIPMismatch)))
    }

    @Test(
        "A cookie that another site may have sent is refused and audited; a token is accepted, since no browser adds it by itself"
    )
    func crossSite() throws {
        let bench = try JudgeBench([route("/**", .required) { $0.trustedOrigins = ["https://b.example"] }])
        for (credential, fields, isPermitted) in [
            ("Cookie: \(bench.cookie())=a", ["Sec-Fetch-Site: cross-site"], false),
            ("Cookie: \(bench.cookie())=a", [], false),
            ("Cookie: \(bench.cookie())=a", ["Sec-Fetch-Site: same-origin"], true),
            ("Cookie: \(bench.cookie())=a", ["Origin: https://b.example"], true),
            ("Authorization: Bearer a", ["Sec-Fetch-Site: cross-site"], true),
        ] {
            let request = JudgedRequest(bench, "POST", "/x", [credential] + fields)
            guard case .ask(let kind, .request) = try request.begin() else {
                Issue.record("\(credential) is asked for")
                return
            }
            let told = try request.found(bench.live(kind).session)
            #expect(
                told
                    == (isPermitted
                        ? .permitted(route: "/**", subject: "ada") : .answer(403, .requestCrossSite))
            )
            #expect(request.judge.findings.events.isEmpty == isPermitted)
        }
    }

    @Test("The route's requirements are judged last, and the answer offers a sign-in if that helps")
    func requirements() throws {
        let strong = route("/**", .required) { $0.require.aal = .aal2 }
        let bench = try JudgeBench([strong])
        let session = try bench.live { $0.authenticatedAt = JudgeBench.now.advanced(by: .seconds(-60)) }.session
        for (fields, expected) in [
            (["Accept: text/html"], JudgedRequest.Told.answer(303, .requireAAL)), ([], .answer(403, .requireAAL)),
        ] {
            let request = JudgedRequest(bench, "GET", "/x?a=1", ["Cookie: \(bench.cookie())=a"] + fields)
            _ = try request.begin()
            #expect(try request.found(session) == expected)
            if expected == .answer(303, .requireAAL) {
                let login = "\(JudgeBench.origin)/.sallyport/login?return_to=/x%3Fa%3D1&prompt=login"
                #expect(request.values("Location") == [login])
            }
        }
        let enough = JudgedRequest(bench, "GET", "/x", ["Cookie: \(bench.cookie())=a"])
        _ = try enough.begin()
        let told = try enough.found(bench.live { $0.aal = .aal2 }.session)
        #expect(told == .permitted(route: "/**", subject: "ada"))
        #expect(enough.judge.findings.session != nil && enough.judge.findings.stage == .decision)
    }

    @Test("An OpenID provider is told what the route requires; the redirect and the page's link say it")
    func demands() throws {
        let strong = route("/**", .required) {
            $0.require.aal = .aal2
            $0.require.maxAge = .seconds(600)
        }
        let bench = try JudgeBench([strong]) { settings in
            var provider = OpenIDSettings(issuer: "https://idp.example.com", client: ProviderClientSettings(id: "c"))
            provider.claims.levels = [.init(claim: .amr, value: "mfa", level: .aal2)]
            settings.provider = provider
        }
        let session = try bench.live().session
        let path = "/.sallyport/login?return_to=/x&aal=aal2&max_age=600"
        let anonymous = JudgedRequest(bench, "GET", "/x", ["Accept: text/html"])
        #expect(try anonymous.begin() == .answer(303, .credentialMissing))
        #expect(anonymous.values("Location") == [JudgeBench.origin + path])
        let weak = JudgedRequest(bench, "GET", "/x", ["Accept: text/html", "Cookie: \(bench.cookie())=a"])
        _ = try weak.begin()
        #expect(try weak.found(session) == .answer(303, .requireAAL))
        #expect(weak.values("Location") == [JudgeBench.origin + path])
        let program = JudgedRequest(bench, "GET", "/x", ["Cookie: \(bench.cookie())=a"])
        _ = try program.begin()
        #expect(try program.found(session) == .answer(403, .requireAAL))
        let challenge = #"Bearer error="insufficient_user_authentication", acr_values="aal2", max_age="600""#
        #expect(program.values("WWW-Authenticate") == [challenge])
        let form = JudgedRequest(
            bench,
            "POST",
            "/x",
            [
                "Accept: text/html", "Cookie: \(bench.cookie())=a", "Sec-Fetch-Site: same-origin",
                "Referer: \(JudgeBench.origin)/x", "Content-Length: 0",
            ]
        )
        _ = try form.begin()
        #expect(try form.found(session) == .answer(403, .requireAAL))
        #expect(form.answer?.response.signIn == path)
    }

    private struct Tokens: SessionTokenReader {
        func tokens(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<SessionTokens?> {
            loop.makeSucceededFuture(SessionTokens(access: Secret("access%1"), id: nil))
        }
    }

    @Test("A session whose tokens are lost asks for sign-in where the app needs them")
    func lostTokens() throws {
        let now = JudgeBench.now
        for (isNeeded, end, auth, isPermitted) in [
            (true, now, AuthRequirement.required, false), (false, now, .required, true), (true, now, .optional, true),
            (true, now.advanced(by: .milliseconds(1)), .required, true), (true, nil, .required, true),
        ] as [(Bool, UnixTime?, AuthRequirement, Bool)] {
            let bench = try JudgeBench([route("/**", auth)]) { settings in
                settings.identity.fields = [.init(name: "X-Token", path: "provider.access_token")]
            }
            if isNeeded { bench.resolver.parties.tokenReader = Tokens() }
            let session = try bench.live { session in
                session.provider = ProviderSession(
                    name: "https://idp.example.com",
                    grant: bench.authority.newKey(of: .grant, in: session.lineage),
                    tokensEndAt: end
                )
            }.session
            for (fields, status) in [(["Accept: text/html"], 303), ([], 401)] {
                let request = JudgedRequest(bench, "GET", "/x", ["Cookie: \(bench.cookie())=a"] + fields)
                _ = try request.begin()
                let told = try request.found(session)
                let denied = JudgedRequest.Told.answer(status, .sessionRenewalAmbiguous)
                #expect(told == (isPermitted ? .permitted(route: "/**", subject: "ada") : denied))
                #expect(request.cookies.cleared.isEmpty, "the session goes on")
            }
        }
    }

    @Test("Several session cookies are cleared and noted, and audited if the route uses sessions")
    func ambiguousCookies() throws {
        for (auth, events) in [(AuthRequirement.required, 1), (.optional, 1), (.public, 0)] {
            let bench = try JudgeBench([route("/**", auth)])
            let name = bench.cookie()
            let request = JudgedRequest(bench, "GET", "/x", ["Cookie: \(name)=a; \(name)=b"])
            _ = try request.begin()
            #expect(request.cookies.cleared == [name])
            #expect(request.judge.findings.note == .credentialAmbiguousCookie)
            #expect(request.judge.findings.events.count == events)
        }
    }

    @Test("For several session cookies the event names the user if all sessions known on this host are the same user's")
    func ambiguousUser() throws {
        let bench = try JudgeBench()
        let name = bench.cookie()
        let request = JudgedRequest(bench, "GET", "/x", ["Cookie: \(name)=a; \(name)=b", "User-Agent: test"])
        #expect(try request.begin() == .answer(401, .credentialAmbiguousCookie))
        guard case .ambiguousCookies(let values, let event)? = request.judge.findings.events.first else {
            Issue.record("no event: \(request.judge.findings.events)")
            return
        }
        #expect(values.count == 2 && event.reason == .credentialAmbiguousCookie && event.userAgent == "test")
        let ada = try bench.live().session
        let eve = try bench.live { $0.identity.id = "eve" }.session
        let elsewhere = try bench.live { $0.host = "b.example.com" }.session
        let native = try bench.live(.native).session
        let host = "app.example.com"
        #expect(event.naming([], on: host).subject == nil)
        #expect(event.naming([ada], on: host).session == ada.session.id)
        #expect(event.naming([ada, ada], on: host).subject == "ada")
        #expect(event.naming([ada, eve], on: host).subject == nil)
        #expect(event.naming([ada, elsewhere], on: host).subject == "ada")
        #expect(event.naming([elsewhere, native], on: host).subject == nil)
    }

    @Test("If a session cannot be looked up the answer is 503, and if an identity cannot be written it is 403")
    func failures() throws {
        let bench = try JudgeBench()
        let asking = JudgedRequest(bench, "GET", "/x", ["Authorization: Bearer a"])
        _ = try asking.begin()
        #expect(try asking.unavailable() == .answer(503, .storeUnavailable))
        #expect(asking.values("Retry-After") == ["1"])
        let large = try bench.live(.native) { session in
            session.identity.traits = ["email": .string(String(repeating: "a", count: 10_000))]
        }
        let request = JudgedRequest(bench, "GET", "/x", ["Authorization: Bearer a"])
        _ = try request.begin()
        #expect(try request.found(large.session) == .answer(403, .identityTooLarge))
    }
}
