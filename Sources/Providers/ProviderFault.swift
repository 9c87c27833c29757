import Vocabulary

/// The reason why a provider's statement about a user (a signed token, an id_token or userinfo) cannot be used.
struct ProviderFault: Error, Sendable, Hashable {
    /// The failed check, for logs, without a token or a claim's value.
    let detail: String
    /// True if the fault may be temporary, because the provider or its keys cannot be reached. Otherwise the provider's
    /// answer is negative or unusable.
    let isOutage: Bool
    /// True if the token is from another issuer or for another client.
    let isForeign: Bool
    /// Whether the provider rejects the access token (401).
    let isUnauthorized: Bool

    init(_ detail: String, isOutage: Bool = false, isForeign: Bool = false, isUnauthorized: Bool = false) {
        self.detail = detail
        self.isOutage = isOutage
        self.isForeign = isForeign
        self.isUnauthorized = isUnauthorized
    }

    /// Returns the error for a sign-in that needs the statement.
    ///
    /// - Parameters:
    ///   - reason: The reason if the provider can be reached.
    ///   - what: The name of the refused statement, to begin the message. `nil` if the detail names it.
    ///   - provider: The name of the unreachable provider, to begin the message. `nil` if the detail names it.
    func notDone(_ reason: Reason, of what: String? = nil, at provider: String? = nil) -> NotDone {
        let name = (self.isOutage ? provider : what).map { "\($0): " } ?? ""
        return NotDone(self.isOutage ? .providerUnavailable : reason, detail: name + self.detail)
    }
}
