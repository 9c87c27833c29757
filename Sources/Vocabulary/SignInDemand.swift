/// How a user must sign in for the sign-in to count. A route, a client or another host demands it, and it goes with the
/// browser to the provider and back.
package struct SignInDemand: Sendable, Hashable {
    /// The clocks of the provider and of the gateway may differ by this.
    private static let leeway: Duration = .seconds(60)
    /// The longest hint in bytes; a longer one is left out.
    private static let longestHint = 320

    /// Whether a user who is already signed in, here or at the provider, must authenticate again (`prompt=login`, OpenID
    /// Connect Core 3.1.2.1).
    package var isAgain: Bool
    /// The lowest level to reach; nil: any.
    package var aal: AssuranceLevel?
    /// The longest time since the user authenticated, in whole seconds; nil: any.
    package var maxAge: Duration?
    /// What the user types at the provider, as far as a client knows it (OpenID Connect Core 3.1.2.1). It demands nothing.
    package var loginHint: String?
    /// The providers, by their names, at one of which the user must sign in; empty: at any. The sign-in page offers only
    /// these; whoever takes the session judges whose it is.
    package var providers: [String]

    package init(
        isAgain: Bool = false,
        aal: AssuranceLevel? = nil,
        maxAge: Duration? = nil,
        loginHint: String? = nil,
        providers: [String] = []
    ) {
        self.isAgain = isAgain
        self.aal = aal
        self.maxAge = maxAge
        self.providers = providers
        self.loginHint = loginHint.flatMap { (1...Self.longestHint).contains($0.utf8.count) ? $0 : nil }
    }

    /// The same demand, with what the user has typed as the hint.
    package func hinting(at hint: String) -> SignInDemand {
        SignInDemand(
            isAgain: self.isAgain,
            aal: self.aal,
            maxAge: self.maxAge,
            loginHint: hint,
            providers: self.providers
        )
    }

    /// Why a sign-in does not suffice; nil: it does. This is the only judgement of it.
    ///
    /// - Parameters:
    ///   - authenticatedAt: nil if the provider does not say.
    ///   - begunAt: When the sign-in began, by the clock of `now`.
    package func unmet(
        level: AssuranceLevel,
        authenticatedAt: UnixTime?,
        begunAt: UnixTime,
        now: UnixTime
    ) -> String? {
        if let aal = self.aal, level < aal {
            return "the sign-in reached \(level.rawValue), \(aal.rawValue) is required"
        }
        if let maxAge = self.maxAge {
            guard let authenticatedAt else {
                return "the provider does not say when the user authenticated (auth_time)"
            }
            guard now.since(authenticatedAt) <= maxAge + Self.leeway else {
                return "the user authenticated too long ago (auth_time)"
            }
        }
        if self.isAgain, let authenticatedAt, authenticatedAt < begunAt.advanced(by: .zero - Self.leeway) {
            return "the user did not authenticate again (auth_time)"
        }
        return nil
    }
}
