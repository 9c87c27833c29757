internal import AddressIntelligence
internal import Sessions
internal import Settings

/// What minting a session-transfer token counts against.
enum MintLimits {
    /// One client from one address key, whatever it presents: guessing tokens and loops that went wild cost the store no
    /// more than this. It is wide, because a carrier's address has many users and a server may mint for all of its own.
    private static let perClient = RateLimit("mint.client", burst: 500, interval: .milliseconds(10))
    /// One native session: an app opens a few web views at once, not one after the other for ever. Whoever stole its token
    /// gets no more.
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
