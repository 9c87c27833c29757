import AddressIntelligence
package import Sessions
import Synchronization
import Vocabulary

/// Limits the concurrent calls to a provider. If a flood of invented tokens were passed on, the provider might block
/// the gateway. A call either checks the token of a request to an app, or belongs to a sign-in. One client has a share
/// (`ShareRule`) of each kind, and some calls are reserved for sign-ins.
package struct CallLimit: Sendable {
    private let most: Int
    /// The maximum number of calls for requests.
    private let mostOfRequests: Int
    private var requests: Shares<AddressKey>
    private var signIns: Shares<AddressKey>

    /// - Parameters:
    ///   - most: The maximum number of calls under way.
    ///   - kept: The number of calls that are reserved for sign-ins.
    package init(most: Int, kept: Int) {
        self.most = most
        self.mostOfRequests = max(1, most - kept)
        self.requests = Shares(ShareRule(of: most))
        self.signIns = Shares(ShareRule(of: most))
    }

    /// The number of calls under way.
    package var count: Int { self.requests.total + self.signIns.total }

    /// Returns true if the limit allows another call of this caller.
    package func admits(_ caller: ProviderCaller) -> Bool {
        let free = self.most - self.count
        guard free > 0 else { return false }
        guard caller.isRequest else { return self.signIns.admits(caller.client, free: free) }
        return self.requests.total < self.mostOfRequests && self.requests.admits(caller.client, free: free)
    }

    /// Records the beginning of a call. Each beginning needs an `end(_:)`.
    package mutating func begin(_ caller: ProviderCaller) {
        if caller.isRequest { self.requests.take(caller.client) } else { self.signIns.take(caller.client) }
    }

    /// Records the end of a call. The caller must be the one that began it.
    package mutating func end(_ caller: ProviderCaller) {
        if caller.isRequest { self.requests.giveBack(caller.client) } else { self.signIns.giveBack(caller.client) }
    }
}

/// A limit for calls that all event loops share.
package final class SharedCallLimit: Sendable {
    private let limit: Mutex<CallLimit>

    package init(most: Int = 64) {
        self.limit = Mutex(CallLimit(most: most, kept: most / 8))
    }

    /// Begins a call and returns true if the limit allows it. Each call that began needs an `end(_:)`.
    package func begin(_ caller: ProviderCaller) -> Bool {
        self.limit.withLock { limit in
            guard limit.admits(caller) else { return false }
            limit.begin(caller)
            return true
        }
    }

    /// Records the end of a call. The caller must be the one that began it.
    package func end(_ caller: ProviderCaller) { self.limit.withLock { $0.end(caller) } }
}
