import AddressIntelligence
package import NIOCore
package import Sessions
import Settings
import SignOn
import Vocabulary

/// The rate limits of the endpoints that accept credentials.
package struct TokenLimits: Sendable {
    /// The limit of one client from one address key. It protects the store from guessed secrets and from clients in a
    /// loop. It is high, because many users share the address of a carrier or server.
    private static let perClient = Self.perClient(isAwaited: false)
    /// The limit of requests that failed to authenticate as the client they name. Unlike `perClient`, it waits for the
    /// counts of all gateways.
    private static let perUnprovenClient = Self.perClient(isAwaited: true)
    /// The limit of one address key for requests that name no client. It applies before the token is looked up.
    private static let perAddress = RateLimit(
        "token.address",
        burst: 500,
        interval: .milliseconds(10),
        isAwaited: false
    )

    private static func perClient(isAwaited: Bool) -> RateLimit {
        RateLimit("token.client", burst: 500, interval: .milliseconds(10), isAwaited: isAwaited)
    }

    /// The limit of pushed requests of one public client from one address. Anyone can push in the client's name, and
    /// each request occupies the store during a sign-in.
    private static let perPush = RateLimit("token.push", burst: 100, interval: .milliseconds(200))

    private let tries: TryCounter

    /// - Parameter loops: The loops that call the limiter.
    package init(limiter: any RateLimiter, loops: any EventLoopGroup) {
        self.tries = TryCounter(store: limiter, loops: loops)
    }

    /// Counts a request in the name of a client and throws `too_many_requests` above the limit. Authenticated and other
    /// requests share one count, so that a guesser above the limit does not learn that a secret is right.
    ///
    /// - Parameter isProven: True if the client authenticated.
    func check(_ claimedID: String, isProven: Bool, from address: IPAddress) async throws(OAuthError) {
        let limit = isProven ? Self.perClient : Self.perUnprovenClient
        try await self.count(RateBucket(limit, Self.key(address), Array(claimedID.utf8)))
    }

    /// Counts a pushed authorization request of a public client. Other clients push for many users and are exempt.
    func checkPush(_ requester: TokenRequester) async throws(OAuthError) {
        guard requester.client.isPublic else { return }
        let clientID = Array(requester.client.clientID.utf8)
        try await self.count(RateBucket(Self.perPush, Self.key(requester.sender.address), clientID))
    }

    /// Counts a request that names no client.
    func check(_ address: IPAddress) async throws(OAuthError) {
        try await self.count(RateBucket(Self.perAddress, Self.key(address)))
    }

    private static func key(_ address: IPAddress) -> [UInt8] { Array(address.key.description.utf8) }

    private func count(_ bucket: RateBucket) async throws(OAuthError) {
        try await OAuthError.rendering(try await self.tries.count([bucket], or: .oauthThrottled))
    }
}
