import Vocabulary

/// Why what a provider says of a user cannot be used: its signature, an id_token, or the answer of userinfo.
struct ProviderFault: Error, Sendable, Hashable {
    /// For logs: which check failed, never a token nor a claim's value.
    let detail: String
    /// Whether it may pass by itself: the provider or its keys cannot be reached. Else the provider said no, or something
    /// that cannot be used.
    let isOutage: Bool
    /// Whether the token is of another issuer or for another client.
    let isForeign: Bool

    init(_ detail: String, isOutage: Bool = false, isForeign: Bool = false) {
        self.detail = detail
        self.isOutage = isOutage
        self.isForeign = isForeign
    }

    /// What becomes of a sign-in that cannot do without it.
    ///
    /// - Parameters:
    ///   - reason: Why it is refused if the provider can be reached.
    ///   - what: What the refusal is about, in front of the detail; nil: the detail says it.
    ///   - provider: Who cannot be reached, in front of the detail; nil: the detail says it.
    func notDone(_ reason: Reason, of what: String? = nil, at provider: String? = nil) -> NotDone {
        let name = (self.isOutage ? provider : what).map { "\($0): " } ?? ""
        return NotDone(self.isOutage ? .providerUnavailable : reason, detail: name + self.detail)
    }
}
