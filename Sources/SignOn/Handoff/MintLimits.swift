import Sessions

/// The rate limit for minting session-transfer tokens, in addition to the limit of the token endpoint.
enum MintLimits {
    /// The limit for one native session. An app opens a few web views at once, but not continuously. The limit also
    /// slows down a thief of the session's token.
    private static let perSession = RateLimit("mint.session", burst: 10, interval: .seconds(6))

    static func session(_ parent: Session) -> RateBucket {
        RateBucket(Self.perSession, Array(parent.id.utf8))
    }
}
