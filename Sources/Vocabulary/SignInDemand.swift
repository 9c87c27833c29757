/// What a route, a client or another host requires of a sign-in. Kept while the browser is at the provider.
package struct SignInDemand: Sendable, Hashable {
    /// The tolerated difference between the clocks of provider and gateway.
    private static let leeway: Duration = .seconds(60)
    /// The maximum length of a login hint in bytes. Longer hints are dropped.
    private static let longestHint = 320

    /// True if a user who is already signed in must authenticate again (`prompt=login`, OpenID Connect Core 3.1.2.1).
    package var isAgain: Bool
    /// The minimum level; `nil` for any level.
    package var aal: AssuranceLevel?
    /// The maximum time since the user authenticated, in whole seconds; `nil` for no maximum.
    package var maxAge: Duration?
    /// The user's login at the provider (`login_hint`, OpenID Connect Core 3.1.2.1). Not a requirement.
    package var loginHint: String?
    /// The names of the providers that the user may sign in at; empty for all. The sign-in page offers only these.
    /// `unmet` does not check them: the code that accepts the session must.
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

    /// Returns this demand with another login hint.
    package func hinting(at hint: String) -> SignInDemand {
        SignInDemand(
            isAgain: self.isAgain,
            aal: self.aal,
            maxAge: self.maxAge,
            loginHint: hint,
            providers: self.providers
        )
    }

    /// Returns why a sign-in does not suffice; `nil` if it suffices. Does not check `providers`.
    ///
    /// - Parameters:
    ///   - authenticatedAt: The time of authentication; `nil` if the provider does not report it.
    ///   - begunAt: When the sign-in began.
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
