import Providers
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("Whether a sign-in suffices")
struct OpenIDDemandsTests {
    private func wish(_ change: (inout SignInDemand) -> Void) -> BrowserSignIn {
        var wish = BrowserSignIn(callback: OpenIDProviderBench.callback)
        change(&wish.demand)
        return wish
    }

    @Test("max_age is checked against auth_time, which must be there; clocks may differ by a minute")
    func maxAge() async throws {
        let bench = try OpenIDProviderBench()
        let now = bench.clock.now.seconds
        let wish = self.wish { $0.maxAge = .seconds(300) }
        let cases: [(JSONValue, Bool)] = [
            (.integer(now), true), (.integer(now - 360), true), (.integer(now - 361), false), (.null, false),
            ("soon", false), (.integer(now + 30), true),
        ]
        for (time, suffices) in cases {
            let completion = try await bench.signIn(wish, claims: ["auth_time": time])
            #expect(completion.cause == (suffices ? nil : .signInInsufficient), "\(time): \(completion)")
        }
        let configured = try OpenIDProviderBench { $0.authorization.maxAge = .seconds(300) }
        #expect(try await configured.signIn().cause == .signInInsufficient)
    }

    @Test("A level that is not reached is insufficient, also if acr claims a level that is not mapped")
    func level() async throws {
        let bench = try OpenIDProviderBench {
            $0.claims.levels = [ClaimSettings.Level(claim: .acr, value: "phr", level: .aal2)]
        }
        let wish = self.wish { $0.aal = .aal2 }
        #expect(try await bench.signIn(wish).cause == .signInInsufficient)
        #expect(try await bench.signIn(wish, claims: ["acr": "aal2"]).cause == .signInInsufficient)
        #expect(try await bench.signIn(wish, claims: ["acr": "phr"]).user?.aal == .aal2)
        #expect(
            try await bench.signIn(self.wish { $0.aal = .aal3 }, claims: ["acr": "phr"]).cause == .signInInsufficient
        )
        #expect(try await bench.signIn(self.wish { $0.aal = .aal1 }).user?.aal == .aal1)
    }

    @Test("A user who was to authenticate again must not have authenticated long before, where the provider says when")
    func again() async throws {
        let bench = try OpenIDProviderBench()
        let now = bench.clock.now.seconds
        let wish = self.wish { $0.isAgain = true }
        #expect(try await bench.signIn(wish, claims: ["auth_time": .integer(now - 61)]).cause == .signInInsufficient)
        #expect(try await bench.signIn(wish, claims: ["auth_time": .integer(now - 60)]).user != nil)
        #expect(try await bench.signIn(wish).user != nil)
    }

    @Test("The settings may demand a more recent sign-in than is wished for, and never an older one")
    func configured() async throws {
        let bench = try OpenIDProviderBench { $0.authorization.maxAge = .seconds(300) }
        #expect(bench.provider.demand(of: self.wish { $0.maxAge = .seconds(60) }).maxAge == .seconds(60))
        #expect(bench.provider.demand(of: self.wish { $0.maxAge = .seconds(600) }).maxAge == .seconds(300))
        #expect(
            bench.provider.demand(of: self.wish { $0.aal = .aal2 }) == SignInDemand(aal: .aal2, maxAge: .seconds(300))
        )
    }

    @Test("Who may not sign in is told so, not that the sign-in does not suffice")
    func admission() async throws {
        let bench = try OpenIDProviderBench { $0.allow.emailDomains = ["example.com"] }
        let wish = self.wish { $0.aal = .aal2 }
        #expect(try await bench.signIn(wish).cause == .signInNotAllowed)
        #expect(try await bench.signIn(wish, claims: ["email_verified": true]).cause == .signInInsufficient)
        let completion = try await bench.signIn()
        #expect(completion.cause == .signInNotAllowed && completion.detail?.contains("jane") == false)
    }
}
