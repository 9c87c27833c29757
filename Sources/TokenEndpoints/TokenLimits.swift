internal import AddressIntelligence
package import NIOCore
internal import OAuth
package import Sessions
internal import Settings
internal import Vocabulary

/// How often a client may ask the endpoints that take credentials.
package struct TokenLimits: Sendable {
    /// One client from one address key, whatever it presents: it limits what guessed tokens and clients in a loop cost
    /// the store. It is wide, because a carrier's address has many users and a server asks for all its users.
    private static let perClient = RateLimit("token.client", burst: 500, interval: .milliseconds(10))

    private let limiter: any RateLimiter
    private let loops: any EventLoopGroup

    package init(limiter: any RateLimiter, loops: any EventLoopGroup) {
        self.limiter = limiter
        self.loops = loops
    }

    /// Counts a request; `too_many_requests` when there were too many.
    func check(_ requester: TokenRequester) async throws(OAuthError) {
        let bucket = RateBucket(
            Self.perClient,
            Array(requester.address.key.description.utf8),
            Array(requester.client.clientID.utf8)
        )
        let decision: RateDecision
        do {
            decision = try await self.loops.ask(self.limiter) { limiter, loop in
                limiter.allow(bucket, cost: 1, on: loop)
            }
        } catch {
            throw OAuthError(.storeUnavailable)
        }
        if case .throttled(let wait) = decision { throw .tooManyRequests(.oauthThrottled, retryAfter: wait) }
    }
}
