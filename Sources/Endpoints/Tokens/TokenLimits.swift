import AddressIntelligence
package import NIOCore
package import Sessions
import Settings
import SignOn
import Vocabulary

/// How often a client may ask the endpoints that take credentials.
package struct TokenLimits: Sendable {
    /// One client from one address key, whatever it presents: it limits what guessed secrets and tokens, and clients in a
    /// loop, cost the store. It is wide, because a carrier's address has many users and a server asks for all its users.
    private static let perClient = Self.perClient(isAwaited: false)
    /// The same for a client that did not prove to be the one that it names: guesses are counted for all gateways.
    private static let perClaim = Self.perClient(isAwaited: true)
    /// One address key where only the token says which client it is: counted before the token is looked up.
    private static let perAddress = RateLimit(
        "token.address",
        burst: 500,
        interval: .milliseconds(10),
        isAwaited: false
    )

    private static func perClient(isAwaited: Bool) -> RateLimit {
        RateLimit("token.client", burst: 500, interval: .milliseconds(10), isAwaited: isAwaited)
    }

    /// One public client from one address, as anyone can send its requests: what is pushed stays in the store for the time
    /// of a sign-in.
    private static let perPush = RateLimit("token.push", burst: 100, interval: .milliseconds(200))

    private let tries: TryCounter

    /// - Parameter loops: The loops on which the limiter is called.
    package init(limiter: any RateLimiter, loops: any EventLoopGroup) {
        self.tries = TryCounter(store: limiter, loops: loops)
    }

    /// Counts a request in the name of a client; `too_many_requests` when there were too many. Those that did not prove to
    /// be of it are counted together with those that did: whoever guesses a secret is not told of the right one either.
    ///
    /// - Parameter isProven: Whether the request is of the client.
    func check(_ claimedID: String, isProven: Bool, from address: IPAddress) async throws(OAuthError) {
        let limit = isProven ? Self.perClient : Self.perClaim
        try await self.count(RateBucket(limit, Self.key(address), Array(claimedID.utf8)))
    }

    /// Counts a pushed authorization request, which a server may send for all its users.
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
