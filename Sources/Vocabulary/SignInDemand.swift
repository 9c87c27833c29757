/// The requirements for a sign-in. They come from a route, a client or another host, and are kept while the browser is
/// at the provider.
package struct SignInDemand: Sendable, Hashable {
    /// The tolerated difference between the clocks of provider and gateway.
    private static let leeway: Duration = .seconds(60)
    /// The maximum length of a login hint in bytes. A longer hint is left out.
    private static let longestHint = 320

    /// True if a user who is already signed in, here or at the provider, must authenticate again (`prompt=login`,
    /// OpenID Connect Core 3.1.2.1).
    package var isAgain: Bool
    /// The lowest level to reach; `nil` for any level.
    package var aal: AssuranceLevel?
    /// The longest time since the user authenticated, in whole seconds; `nil` for any time.
    package var maxAge: Duration?
    /// The user's login at the provider, if a client knows it (OpenID Connect Core 3.1.2.1). Not a requirement.
    package var loginHint: String?
    /// The names of the providers that the user may sign in at; empty for all. The sign-in page offers only these,
    /// but the code that accepts the session must enforce them.
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

    /// Returns the reason why a sign-in does not suffice; `nil` if it suffices. No other code decides about a sign-in.
    ///
    /// - Parameters:
    ///   - authenticatedAt: The time of authentication; `nil` if the provider does not report it.
    ///   - begunAt: The start of the sign-in, by the clock of `now`.
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
