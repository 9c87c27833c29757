internal import AddressIntelligence
internal import Sessions
internal import Settings

/// The rate limits of minting session-transfer tokens.
enum MintLimits {
    /// One client from one address key, whatever it presents: it limits what guessed tokens and clients in a loop cost
    /// the store. It is wide, because a carrier's address has many users and a server may mint for all its users.
    private static let perClient = RateLimit("mint.client", burst: 500, interval: .milliseconds(10))
    /// One native session: an app opens a few web views at once, but not continuously. It also limits a thief of the
    /// session's token.
    private static let perSession = RateLimit("mint.session", burst: 10, interval: .seconds(6))

    static func client(of request: MintRequest) -> RateBucket {
        RateBucket(
            Self.perClient,
            Array(request.address.key.description.utf8),
            Array(request.client.clientID.utf8)
        )
    }

    static func session(_ parent: Session) -> RateBucket {
        RateBucket(Self.perSession, Array(parent.id.utf8))
    }
}
