import AddressIntelligence
package import Sessions
import Synchronization
import Vocabulary

/// Limits the concurrent calls to a provider. A provider might block a gateway that passes on floods of invalid tokens.
///
/// A call either belongs to a sign-in or verifies the token of a request to an app. Some calls are reserved for
/// sign-ins, and one client may only use its share (`ShareRule`) of each kind.
package struct CallLimit: Sendable {
    private let most: Int
    /// The maximum number of calls that verify tokens of requests.
    private let maxPerRequests: Int
    private var requests: Shares<AddressKey>
    private var signIns: Shares<AddressKey>

    /// - Parameters:
    ///   - most: The maximum number of concurrent calls.
    ///   - kept: The number of calls reserved for sign-ins.
    package init(most: Int, kept: Int) {
        self.most = most
        self.maxPerRequests = max(1, most - kept)
        self.requests = Shares(ShareRule(of: most))
        self.signIns = Shares(ShareRule(of: most))
    }

    /// The number of calls in progress.
    package var count: Int { self.requests.total + self.signIns.total }

    /// Returns whether another call of this caller is allowed.
    package func admits(_ caller: ProviderCaller) -> Bool {
        let free = self.most - self.count
        guard free > 0 else { return false }
        guard caller.isRequest else { return self.signIns.admits(caller.client, free: free) }
        return self.requests.total < self.maxPerRequests && self.requests.admits(caller.client, free: free)
    }

    /// Records the beginning of a call. Call `end` once for it, with the same caller.
    package mutating func begin(_ caller: ProviderCaller) {
        if caller.isRequest { self.requests.take(caller.client) } else { self.signIns.take(caller.client) }
    }

    /// Records the end of a call.
    package mutating func end(_ caller: ProviderCaller) {
        if caller.isRequest { self.requests.giveBack(caller.client) } else { self.signIns.giveBack(caller.client) }
    }
}

/// A `CallLimit` for all event loops.
package final class SharedCallLimit: Sendable {
    private let limit: Mutex<CallLimit>

    package init(most: Int = 64) {
        self.limit = Mutex(CallLimit(most: most, kept: most / 8))
    }

    /// Begins a call if the limit allows it, and returns whether it does. Call `end` once for each call that began.
    package func begin(_ caller: ProviderCaller) -> Bool {
        self.limit.withLock { limit in
            guard limit.admits(caller) else { return false }
            limit.begin(caller)
            return true
        }
    }

    /// Records the end of a call, with the caller that began it.
    package func end(_ caller: ProviderCaller) { self.limit.withLock { $0.end(caller) } }
}
