import Endpoints
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("The decision whether a native app, or the sign-in page, makes a session sufficient")
struct NativeStepUpTests {
    private static let now = UnixTime(seconds: 1_795_242_896)

    /// A page load that the WebView of an app announces, with a handed-off session of level `aal1`.
    struct Case {
        var denial = Denial.forbidden(.requireAAL)
        var method = "GET"
        var field = "Accept: text/html"
        var unauthenticated = UnauthenticatedAnswer.auto
        var require = RequirementSettings()
        var session: Session?
        /// The level that the user can reach. `nil` if nobody can sign in.
        var highest: AssuranceLevel? = .aal2
        var asksApp = true

        init(_ change: (inout Case) -> Void = { _ in }) {
            var session = RequestPathTests.session()
            session.aal = .aal1
            self.session = session
            self.require.aal = .aal2
            change(&self)
        }

        func form() throws -> DenialForm {
            let provider = self.highest.map { level in
                FixedUsersSettings([
                    UserSettings(
                        identifier: "ada",
                        id: "user-1",
                        passwordHash: Secret(""),
                        traits: .object([:]),
                        aal: level
                    )
                ])
            }
            return try withHead(self.method, [self.field]) { head, base in
                DenialForm.of(
                    self.denial,
                    head,
                    base,
                    route("/**", .required) {
                        $0.require = self.require
                        $0.unauthenticated = self.unauthenticated
                    },
                    session: self.session,
                    provider: provider,
                    asksApp: self.asksApp,
                    now: NativeStepUpTests.now
                )
            }
        }
    }

    private static let signIn = DenialForm.signIn(SignInDemand(isAgain: true))

    @Test("A handed-off session that is too weak or too old is for the app, if a handoff of a new sign-in suffices")
    func handedOff() throws {
        #expect(try Case().form() == .challenge)
        #expect(try Case { $0.method = "HEAD" }.form() == .challenge)
        let old = Case {
            $0.denial = .forbidden(.requireMaxAge)
            $0.require = RequirementSettings()
            $0.require.maxAge = .seconds(0)
        }
        #expect(try old.form() == .challenge)
        // The sign-in page would not help here.
        let handoffOnly = Case { $0.require.origins = ["transfer"] }
        #expect(try handoffOnly.form() == .challenge)
        #expect(
            try Case {
                $0.require.origins = ["transfer"]
                $0.asksApp = false
            }.form() == .forbidden
        )
        // A script whose route leads to the sign-in page.
        #expect(
            try Case {
                $0.field = "Accept: */*"
                $0.unauthenticated = .login
            }.form() == .challenge
        )
    }

    @Test(
        "The sign-in page is shown if no app is asked, the user signed in here, or the next handoff would not suffice"
    )
    func signedInHere() throws {
        #expect(try Case { $0.asksApp = false }.form() == Self.signIn)
        #expect(
            try Case {
                $0.session?.origin = .browser
                $0.session?.authenticatedAt = UnixTime(seconds: 0)
            }.form() == Self.signIn
        )
        #expect(try Case { $0.require.origins = ["browser"] }.form() == Self.signIn)
        let origin = Case {
            $0.denial = .forbidden(.requireOrigin)
            $0.require = RequirementSettings()
            $0.require.origins = ["browser"]
        }
        #expect(try origin.form() == Self.signIn)
        let provider = Case {
            $0.denial = .forbidden(.requireProvider)
            $0.require.providers = ["staff"]
        }
        #expect(try provider.form() == .signIn(SignInDemand(providers: ["staff"])))
    }

    @Test("What neither an app nor the sign-in page can change stays a refusal, as do posted forms and scripts")
    func refused() throws {
        #expect(try Case { $0.highest = .aal1 }.form() == .forbidden)
        #expect(try Case { $0.highest = nil }.form() == .forbidden)
        #expect(try Case { $0.session?.actor = "support" }.form() == .forbidden)
        #expect(try Case { $0.require.groupsAny = ["nobody"] }.form() == .forbidden)
        #expect(try Case { $0.denial = .forbidden(.requireGroups) }.form() == .forbidden)
        #expect(try Case { $0.denial = .forbidden(.requestCrossSite) }.form() == .forbidden)
        #expect(try Case { $0.method = "POST" }.form() == .forbidden)
        #expect(try Case { $0.field = "Accept: */*" }.form() == .forbidden)
        #expect(try Case { $0.unauthenticated = .unauthorized }.form() == .forbidden)
    }

    @Test("A user without a session is the app's, for every kind of request")
    func noSession() throws {
        for (method, field) in [("GET", "Accept: text/html"), ("GET", "Accept: */*"), ("POST", "Accept: text/html")] {
            for unauthenticated in [UnauthenticatedAnswer.auto, .unauthorized] {
                let asked = Case {
                    $0.denial = .unauthenticated(.credentialMissing)
                    $0.session = nil
                    ($0.method, $0.field, $0.unauthenticated) = (method, field, unauthenticated)
                }
                #expect(try asked.form() == .challenge, "\(method) \(field) \(unauthenticated)")
            }
        }
    }
}
