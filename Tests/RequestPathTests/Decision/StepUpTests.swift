import Endpoints
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

/// What happens when a user's session does not satisfy a route.
@Suite("Signing in again")
struct StepUpTests {
    private static let signedIn = UnixTime(seconds: 1_795_242_896)

    private func user(aal: AssuranceLevel) -> any ProviderSettings {
        FixedUsersSettings([
            UserSettings(identifier: "ada", id: "user-1", passwordHash: Secret(""), traits: .object([:]), aal: aal)
        ])
    }

    private func session(_ change: (inout Session) -> Void = { _ in }) -> Session {
        var session = RequestPathTests.session()
        session.aal = .aal1
        session.origin = .browser
        change(&session)
        return session
    }

    private func requirement(_ change: (inout RequirementSettings) -> Void) -> RequirementSettings {
        var require = RequirementSettings()
        change(&require)
        return require
    }

    @Test("Signing in again helps if only the time since the sign-in is too long")
    func maxAge() {
        let require = self.requirement { $0.maxAge = .seconds(60) }
        let later = Self.signedIn.advanced(by: .seconds(61))
        #expect(StepUp.helps(require, self.session(), self.user(aal: .aal1), later))
        let more = self.requirement {
            $0.maxAge = .seconds(60)
            $0.groupsAny = ["nobody"]
        }
        #expect(!StepUp.helps(more, self.session(), self.user(aal: .aal1), later))
        let native = self.requirement {
            $0.maxAge = .seconds(60)
            $0.origins = ["native"]
        }
        #expect(!StepUp.helps(native, self.session(), self.user(aal: .aal1), later))
        let scoped = self.requirement {
            $0.maxAge = .seconds(60)
            $0.scopes = ["read"]
        }
        #expect(
            !StepUp.helps(scoped, self.session(), self.user(aal: .aal1), later),
            "a browser's sign-in has no scopes"
        )
    }

    @Test("Signing in again helps for levels that the provider reaches for this user, and for no others")
    func assurance() {
        let require = self.requirement { $0.aal = .aal2 }
        let later = Self.signedIn.advanced(by: .seconds(60))
        #expect(StepUp.helps(require, self.session(), self.user(aal: .aal2), later))
        #expect(!StepUp.helps(require, self.session(), self.user(aal: .aal1), later))
        #expect(!StepUp.helps(require, self.session(), FixedUsersSettings([]), later))
        #expect(!StepUp.helps(require, self.session(), nil, later))
    }

    @Test("After a very recent sign-in, and with a native app's token, no new sign-in is offered")
    func noLoop() {
        let require = self.requirement { $0.maxAge = .seconds(1) }
        let provider = self.user(aal: .aal1)
        #expect(!StepUp.helps(require, self.session(), provider, Self.signedIn.advanced(by: .seconds(2))))
        #expect(StepUp.helps(require, self.session(), provider, Self.signedIn.advanced(by: .seconds(3))))
        let native = self.session { $0.kind = .native }
        #expect(!StepUp.helps(require, native, provider, Self.signedIn.advanced(by: .seconds(3))))
    }

    @Test(
        "A page load is redirected to the sign-in if that helps; forms, programs and other cases get a refusal",
        arguments: [
            ("GET", "Accept: text/html", UnauthenticatedAnswer.auto, DenialForm.signIn(SignInDemand(isAgain: true))),
            ("HEAD", "Sec-Fetch-Mode: navigate", .auto, .signIn(SignInDemand(isAgain: true))),
            ("GET", "Accept: */*", .login, .signIn(SignInDemand(isAgain: true))),
            ("POST", "Accept: text/html", .auto, .forbidden), ("POST", "Accept: text/html", .login, .forbidden),
            ("GET", "Accept: */*", .auto, .forbidden), ("GET", "Accept: text/html", .unauthorized, .forbidden),
        ] as [(String, String, UnauthenticatedAnswer, DenialForm)]
    )
    func form(method: String, field: String, unauthenticated: UnauthenticatedAnswer, expected: DenialForm) throws {
        let route = route("/**", .required) {
            $0.unauthenticated = unauthenticated
            $0.require.maxAge = .seconds(60)
        }
        let now = Self.signedIn.advanced(by: .seconds(61))
        try withHead(method, [field]) { head, base in
            func form(_ denial: Denial) -> DenialForm {
                DenialForm.of(
                    denial,
                    head,
                    base,
                    route,
                    session: self.session(),
                    provider: self.user(aal: .aal1),
                    asksApp: false,
                    now: now
                )
            }
            #expect(form(.forbidden(.requireMaxAge)) == expected)
            #expect(form(.forbidden(.requireAAL)) == expected)
            #expect(form(.forbidden(.requireGroups)) == .forbidden)
            #expect(form(.forbidden(.requestCrossSite)) == .forbidden)
            let isRedirected = expected != .forbidden
            #expect(form(.unauthenticated(.sessionUnknown)) == (isRedirected ? .signIn(SignInDemand()) : .unauthorized))
        }
    }

    /// A provider that signs in at up to the levels of its claims.
    private func openID(_ levels: [AssuranceLevel]) -> any ProviderSettings {
        var settings = OpenIDSettings(issuer: "https://idp.example.com", client: ProviderClientSettings(id: "c"))
        settings.claims.levels = levels.map { .init(claim: .acr, value: "urn:\($0)", level: $0) }
        return settings
    }

    @Test("An OpenID provider helps if one of its claims reaches the level, also right after a weaker sign-in")
    func openIDAssurance() {
        let require = self.requirement { $0.aal = .aal2 }
        for seconds in [0, 60] as [Int64] {
            let later = Self.signedIn.advanced(by: .seconds(seconds))
            #expect(StepUp.helps(require, self.session(), self.openID([.aal1, .aal2]), later))
            #expect(!StepUp.helps(require, self.session(), self.openID([.aal1]), later))
            #expect(!StepUp.helps(require, self.session(), self.openID([]), later))
        }
        // The sign-in reached the level, and something else is missing: a page.
        let groups = self.requirement {
            $0.aal = .aal2
            $0.groupsAny = ["nobody"]
        }
        #expect(!StepUp.helps(groups, self.session(), self.openID([.aal2]), Self.signedIn))
        let fresh = self.requirement { $0.maxAge = .seconds(1) }
        #expect(!StepUp.helps(fresh, self.session(), self.openID([.aal2]), Self.signedIn.advanced(by: .seconds(2))))
        let introspection = IntrospectionSettings(
            url: "https://idp.example.com",
            client: ProviderClientSettings(id: "c"),
            audiences: ["a"]
        )
        #expect(!StepUp.helps(fresh, self.session(), introspection, Self.signedIn.advanced(by: .seconds(60))))
    }

    @Test(
        "A route for the users of another provider leads to that one, however fresh the sign-in, but no program and no actor"
    )
    func otherProvider() {
        let require = self.requirement { $0.providers = ["staff"] }
        let session = self.session()
        #expect(StepUp.helps(require, session, self.openID([]), Self.signedIn))
        let demand = StepUp.demand(require, .forbidden(.requireProvider), session, self.openID([]), Self.signedIn)
        #expect(demand == SignInDemand(providers: ["staff"]))
        let first = StepUp.demand(require, .unauthenticated(.credentialMissing), nil, self.openID([]), Self.signedIn)
        #expect(first == SignInDemand(providers: ["staff"]))
        #expect(!StepUp.helps(require, self.session { $0.kind = .native }, self.openID([]), Self.signedIn))
        #expect(!StepUp.helps(require, self.session { $0.actor = "1" }, self.openID([]), Self.signedIn))
        #expect(!StepUp.helps(require, session, nil, Self.signedIn))
        // At the provider that is demanded, signing in once more changes nothing.
        let own = self.requirement {
            $0.providers = ["default"]
            $0.groupsAny = ["nobody"]
        }
        #expect(!StepUp.helps(own, session, self.openID([]), Self.signedIn.advanced(by: .seconds(60))))
    }

    @Test("An OpenID provider is told what the route demands, as far as it can reach it; a password page is not")
    func demands() {
        let require = self.requirement {
            $0.aal = .aal2
            $0.maxAge = .seconds(600)
        }
        let later = Self.signedIn.advanced(by: .seconds(700))
        func demand(_ denial: Denial, _ session: Session?, _ provider: any ProviderSettings) -> SignInDemand {
            StepUp.demand(require, denial, session, provider, later)
        }
        let both = SignInDemand(aal: .aal2, maxAge: .seconds(600))
        let strong = self.openID([.aal2])
        #expect(demand(.unauthenticated(.credentialMissing), nil, strong) == both)
        #expect(demand(.forbidden(.requireAAL), self.session(), strong) == both)
        #expect(demand(.forbidden(.requireMaxAge), self.session(), strong) == both)
        // With another account.
        #expect(
            demand(.forbidden(.requireGroups), self.session(), strong)
                == SignInDemand(isAgain: true, aal: .aal2, maxAge: .seconds(600))
        )
        // A level that no sign-in reaches must not keep users from signing in.
        let weak = self.openID([.aal1])
        #expect(demand(.unauthenticated(.credentialMissing), nil, weak) == SignInDemand(maxAge: .seconds(600)))
        #expect(
            demand(.forbidden(.requireAAL), self.session(), weak) == SignInDemand(isAgain: true, maxAge: .seconds(600))
        )
        let password = self.user(aal: .aal2)
        #expect(demand(.unauthenticated(.credentialMissing), nil, password) == SignInDemand())
        #expect(demand(.forbidden(.requireAAL), self.session(), password) == SignInDemand(isAgain: true))
    }

    @Test(
        "After a handoff a route that demands a browser's sign-in, a higher level or a fresh one leads to the sign-in",
        // The user has just signed in to the app: at once, and not only after a moment.
        arguments: [0, 60] as [Int64]
    )
    func afterHandoff(seconds: Int64) throws {
        let transferred = self.session { $0.origin = .transfer }
        let now = Self.signedIn.advanced(by: .seconds(seconds))
        let cases: [(Reason, DenialForm, RequirementSettings)] = [
            (.requireAAL, .signIn(SignInDemand(isAgain: true)), self.requirement { $0.aal = .aal2 }),
            (.requireOrigin, .signIn(SignInDemand(isAgain: true)), self.requirement { $0.origins = ["browser"] }),
            (.requireMaxAge, .signIn(SignInDemand(isAgain: true)), self.requirement { $0.maxAge = .seconds(0) }),
            // A sign-in makes no session of a native app.
            (.requireOrigin, .forbidden, self.requirement { $0.origins = ["native"] }),
        ]
        try withHead("GET", ["Accept: text/html"]) { head, base in
            for (reason, expected, require) in cases {
                let form = DenialForm.of(
                    .forbidden(reason),
                    head,
                    base,
                    route("/**", .required) { $0.require = require },
                    session: transferred,
                    provider: self.user(aal: .aal2),
                    asksApp: false,
                    now: now
                )
                #expect(form == expected, "\(reason)")
            }
        }
    }

    @Test("Where nobody can sign in, a page load without a session gets 401")
    func nowhereToSignIn() throws {
        let introspection = IntrospectionSettings(
            url: "https://idp.example.com",
            client: ProviderClientSettings(id: "c"),
            audiences: ["a"]
        )
        try withHead("GET", ["Accept: text/html"]) { head, base in
            for provider in [introspection, nil] {
                let form = DenialForm.of(
                    .unauthenticated(.credentialMissing),
                    head,
                    base,
                    route("/**", .required),
                    session: nil,
                    provider: provider,
                    asksApp: false,
                    now: Self.signedIn
                )
                #expect(form == .unauthorized)
            }
        }
    }

    @Test("A program gets a challenge with what its next sign-in must reach (RFC 9470)")
    func challenge() {
        let require = self.requirement {
            $0.aal = .aal2
            $0.maxAge = .seconds(300)
        }
        let expected = #"Bearer error="insufficient_user_authentication", acr_values="aal2", max_age="300""#
        #expect(Denial.forbidden(.requireAAL).challenge(require, isJudged: true, isProofScheme: false) == expected)
        #expect(Denial.forbidden(.requireMaxAge).challenge(require, isJudged: true, isProofScheme: false) == expected)
        let age = self.requirement { $0.maxAge = .seconds(5) }
        #expect(
            Denial.forbidden(.requireMaxAge).challenge(age, isJudged: true, isProofScheme: false)
                == #"Bearer error="insufficient_user_authentication", max_age="5""#
        )
        let scopes = self.requirement { $0.scopes = ["orders:read", "orders:write"] }
        #expect(
            Denial.forbidden(.requireScopes).challenge(scopes, isJudged: true, isProofScheme: false)
                == #"Bearer error="insufficient_scope", scope="orders:read orders:write""#
        )
        let odd = self.requirement { $0.scopes = ["a\"b\r\n"] }
        #expect(
            Denial.forbidden(.requireScopes).challenge(odd, isJudged: true, isProofScheme: true)
                == #"DPoP error="insufficient_scope""#
        )
        #expect(Denial.forbidden(.requireGroups).challenge(require, isJudged: true, isProofScheme: false) == nil)
        #expect(
            Denial.unauthenticated(.sessionUnknown).challenge(age, isJudged: true, isProofScheme: false)
                == #"Bearer error="invalid_token""#
        )
        #expect(
            Denial.unauthenticated(.sessionUnknown).challenge(age, isJudged: true, isProofScheme: true)
                == #"DPoP error="invalid_token""#
        )
        #expect(
            Denial.unauthenticated(.credentialMissing).challenge(age, isJudged: false, isProofScheme: false)
                == #"Bearer realm="sallyport""#
        )
    }
}
