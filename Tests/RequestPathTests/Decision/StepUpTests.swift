import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

/// What happens when a user's session does not satisfy a route.
@Suite("Signing in again")
struct StepUpTests {
    private static let signedIn = UnixTime(seconds: 1_795_242_896)

    private func user(aal: AssuranceLevel) -> ProviderSettings {
        .fixedUsers([
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
        #expect(!StepUp.helps(require, self.session(), .fixedUsers([]), later))
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
            ("GET", "Accept: text/html", UnauthenticatedAnswer.auto, DenialForm.signIn(isAgain: true)),
            ("HEAD", "Sec-Fetch-Mode: navigate", .auto, .signIn(isAgain: true)),
            ("GET", "Accept: */*", .login, .signIn(isAgain: true)),
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
                    now: now
                )
            }
            #expect(form(.forbidden(.requireMaxAge)) == expected)
            #expect(form(.forbidden(.requireAAL)) == expected)
            #expect(form(.forbidden(.requireGroups)) == .forbidden)
            #expect(form(.forbidden(.requestCrossSite)) == .forbidden)
            let isRedirected = expected != .forbidden
            #expect(form(.unauthenticated(.sessionUnknown)) == (isRedirected ? .signIn(isAgain: false) : .unauthorized))
        }
    }

    @Test("A program gets a challenge with what its next sign-in must reach (RFC 9470)")
    func challenge() {
        let require = self.requirement {
            $0.aal = .aal2
            $0.maxAge = .seconds(300)
        }
        let expected = #"Bearer error="insufficient_user_authentication", acr_values="aal2", max_age="300""#
        #expect(Denial.forbidden(.requireAAL).challenge(require, isJudged: true) == expected)
        #expect(Denial.forbidden(.requireMaxAge).challenge(require, isJudged: true) == expected)
        let age = self.requirement { $0.maxAge = .seconds(5) }
        #expect(
            Denial.forbidden(.requireMaxAge).challenge(age, isJudged: true)
                == #"Bearer error="insufficient_user_authentication", max_age="5""#
        )
        #expect(Denial.forbidden(.requireGroups).challenge(require, isJudged: true) == nil)
        #expect(
            Denial.unauthenticated(.sessionUnknown).challenge(age, isJudged: true) == #"Bearer error="invalid_token""#
        )
        #expect(Denial.unauthenticated(.credentialMissing).challenge(age, isJudged: false) == "Bearer")
    }
}
