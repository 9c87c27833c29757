import Sessions

/// The rate limit of minting session-transfer tokens, besides that of the token endpoint.
enum MintLimits {
    /// One native session: an app opens a few web views at once, but not continuously. It also limits a thief of the
    /// session's token.
    private static let perSession = RateLimit("mint.session", burst: 10, interval: .seconds(6))

    static func session(_ parent: Session) -> RateBucket {
        RateBucket(Self.perSession, Array(parent.id.utf8))
    }
}
