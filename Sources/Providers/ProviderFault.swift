import Vocabulary

/// The reason why a provider's token or userinfo answer cannot be used.
struct ProviderFault: Error, Sendable, Hashable {
    /// The failed check, for logs. It contains no token and no value of a claim.
    let detail: String
    /// True if the fault may be temporary, because the provider or its keys cannot be reached.
    let isOutage: Bool
    /// True if the token is from another issuer or for another client, or userinfo describes another user.
    let isForeign: Bool
    /// True if the provider rejects the access token (401).
    let isUnauthorized: Bool

    init(_ detail: String, isOutage: Bool = false, isForeign: Bool = false, isUnauthorized: Bool = false) {
        self.detail = detail
        self.isOutage = isOutage
        self.isForeign = isForeign
        self.isUnauthorized = isUnauthorized
    }

    /// Returns the error for a sign-in that fails because of this fault.
    ///
    /// - Parameters:
    ///   - reason: The reason if this is not an outage.
    ///   - what: The name of the rejected token, to begin the message; `nil` if the detail names it.
    ///   - provider: The unreachable provider, to begin the message; `nil` if the detail names it.
    func notDone(_ reason: Reason, of what: String? = nil, at provider: String? = nil) -> NotDone {
        let name = (self.isOutage ? provider : what).map { "\($0): " } ?? ""
        return NotDone(self.isOutage ? .providerUnavailable : reason, detail: name + self.detail)
    }
}
