import Vocabulary

/// The reason why a provider's statement about a user cannot be used: its signature, an id_token, or userinfo.
struct ProviderFault: Error, Sendable, Hashable {
    /// The failed check, for logs, without a token or a claim's value.
    let detail: String
    /// Whether the fault may pass by itself, because the provider or its keys cannot be reached. Otherwise the
    /// provider's answer is negative or unusable.
    let isOutage: Bool
    /// Whether the token is of another issuer or for another client.
    let isForeign: Bool

    init(_ detail: String, isOutage: Bool = false, isForeign: Bool = false) {
        self.detail = detail
        self.isOutage = isOutage
        self.isForeign = isForeign
    }

    /// Returns the error of a sign-in that needs the statement.
    ///
    /// - Parameters:
    ///   - reason: The reason if the provider can be reached.
    ///   - what: The subject of the refusal, in front of the detail. `nil` if the detail names it.
    ///   - provider: The unreachable provider, in front of the detail. `nil` if the detail names it.
    func notDone(_ reason: Reason, of what: String? = nil, at provider: String? = nil) -> NotDone {
        let name = (self.isOutage ? provider : what).map { "\($0): " } ?? ""
        return NotDone(self.isOutage ? .providerUnavailable : reason, detail: name + self.detail)
    }
}
