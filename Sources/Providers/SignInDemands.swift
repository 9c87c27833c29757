package import Vocabulary

/// How a user must have authenticated for a sign-in in a browser to count.
package struct SignInDemands: Sendable, Hashable {
    /// The clocks of the provider and of the gateway may differ by this.
    private static let leeway: Duration = .seconds(60)

    /// Whether the user must authenticate again even if the provider has a session of that user.
    package var isAgain: Bool
    /// The lowest level to reach; nil: any.
    package var aal: AssuranceLevel?
    /// The longest time since the user authenticated; nil: any.
    package var maxAge: Duration?

    package init(isAgain: Bool = false, aal: AssuranceLevel? = nil, maxAge: Duration? = nil) {
        self.isAgain = isAgain
        self.aal = aal
        self.maxAge = maxAge
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
