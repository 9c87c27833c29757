import Sessions

/// The rate limit for minting session-transfer tokens, in addition to the limit of the token endpoint.
enum MintLimits {
    /// The limit for one native session: 10 tokens at once, then one per 6 seconds. Enough for an app that opens
    /// several web views.
    private static let perSession = RateLimit("mint.session", burst: 10, interval: .seconds(6))

    static func session(_ parent: Session) -> RateBucket {
        RateBucket(Self.perSession, Array(parent.id.utf8))
    }
}
