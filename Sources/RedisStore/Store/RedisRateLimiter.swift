package import Cryptography
package import NIOCore
package import Sessions
package import Vocabulary

/// The rate limiter that all gateways share: each bucket is one key in Redis.
///
/// Each process first applies the limit to local buckets, so only requests within the limit reach Redis. A request with
/// an awaited limit waits for Redis's decision, and fails if Redis does not answer. After Redis has rejected a request,
/// the process rejects further requests until the wait has passed.
///
/// Buckets are named under the ring's current secret. During a rotation, gateways with different current secrets count
/// separately.
package struct RedisRateLimiter: RateLimiter {
    private let client: RedisClient
    private let ring: SealingKeyRing
    private let local: LocalRateLimiter

    /// - Parameters:
    ///   - ring: Makes names of buckets that reveal nothing about their subjects.
    ///   - clock: The clock of the local buckets; buckets in Redis use Redis's clock.
    package init(client: RedisClient, ring: SealingKeyRing, clock: Clock) {
        self.client = client
        self.ring = ring
        self.local = LocalRateLimiter(whenFull: .allow, clock: clock)
    }

    /// Fills each bucket separately, because the buckets are in different slots and no script can fill them together.
    /// If a limit is awaited and one bucket rejects the cost or fails, the cost is removed from the other buckets
    /// again.
    package func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision> {
        let decision = self.local.allow(buckets, cost: cost)
        guard decision == .allowed else { return loop.makeSucceededFuture(decision) }
        guard buckets.contains(where: \.limit.isAwaited) else {
            for bucket in buckets { self.fillLater(bucket, cost: cost, on: loop) }
            return loop.makeSucceededFuture(decision)
        }
        let asked = buckets.map { self.fill($0, cost: cost, on: loop) }
        return EventLoopFuture.whenAllComplete(asked, on: loop).flatMap { results in
            var filled: [RateBucket] = []
            var answer = Result<RateDecision, any Error>.success(.allowed)
            for (bucket, result) in zip(buckets, results) {
                switch result {
                case .success(.allowed):
                    filled.append(bucket)
                case .success(.throttled(let wait)):
                    self.local.learn(bucket, cost: cost, refusedFor: wait)
                    answer = answer.map { $0.longer(than: wait) }
                case .failure(let error):
                    // Retries during an outage must not lead to "too many attempts" afterwards.
                    self.local.giveBack([bucket], cost: cost)
                    answer = .failure(error)
                }
            }
            let settled = loop.makeCompletedFuture(answer)
            if filled.count == buckets.count { return settled }
            return self.giveBack(filled, cost: cost, on: loop).recover { _ in }.flatMap { settled }
        }
    }

    /// Fills the bucket in Redis with a locally allowed cost. If Redis rejects the cost, later requests are rejected.
    private func fillLater(_ bucket: RateBucket, cost: Int, on loop: any EventLoop) {
        self.fill(bucket, cost: cost, on: loop).whenSuccess { decision in
            guard case .throttled(let wait) = decision else { return }
            self.local.learn(bucket, cost: cost, refusedFor: wait)
        }
    }

    package func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.local.giveBack(buckets, cost: cost)
        let asked = buckets.map { bucket in
            let arguments = [RedisStore.digits(bucket.limit.interval), Array("\(cost)".utf8)]
            let call = ScriptCall(Scripts.giveBack, keys: [self.place(of: bucket)], arguments: arguments)
            return self.client.run(call, on: loop).map { _ in }
        }
        return EventLoopFuture.andAllSucceed(asked, on: loop)
    }

    private func fill(_ bucket: RateBucket, cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision> {
        let call = ScriptCall(
            Scripts.allow,
            keys: [self.place(of: bucket)],
            arguments: [
                RedisStore.digits(bucket.limit.interval), Array("\(bucket.limit.burst)".utf8), Array("\(cost)".utf8),
            ]
        )
        return self.client.run(call, on: loop).flatMapThrowing { reply in
            guard case .integer(let milliseconds) = reply, milliseconds >= 0 else { throw StoreError.unavailable }
            return milliseconds == 0 ? .allowed : .throttled(retryAfter: .milliseconds(milliseconds))
        }
    }

    package func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.local.forgive(bucket)
        let call = ScriptCall(Scripts.forgive, keys: [self.place(of: bucket)], arguments: [])
        return self.client.run(call, on: loop).map { _ in }
    }

    package func drainTime(of bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Duration> {
        // A bucket's key lives until the bucket is empty.
        let asked = self.client.ask(RedisCommand("PTTL", [self.place(of: bucket)]), on: loop)
        return asked.flatMapThrowing { reply in
            guard case .integer(let milliseconds) = reply else { throw StoreError.unavailable }
            let shared = min(Duration.milliseconds(max(milliseconds, 0)), bucket.limit.drainTime)
            return max(shared, self.local.drainTime(of: bucket))
        }
    }

    private func place(of bucket: RateBucket) -> [UInt8] {
        Keyspace.limit(self.ring.currentName(of: "\(bucket.limit.name) \(bucket.id.base64URL)"))
    }
}

extension RateDecision {
    /// Returns a rejection with the longer of `wait` and this decision's wait, if it has one.
    fileprivate func longer(than wait: Duration) -> RateDecision {
        if case .throttled(let other) = self {
            .throttled(retryAfter: max(other, wait))
        } else {
            .throttled(retryAfter: wait)
        }
    }
}
