import AddressIntelligence
package import Sessions
import Synchronization
import Vocabulary

/// Bounds the calls that are under way, so that a flood of invented tokens is not passed on to a provider, which might block
/// the gateway for it. One client has its share of them (`ShareRule`), for its requests and for its sign-ins, and requests
/// leave some of them to sign-ins.
package struct CallLimit: Sendable {
    private let most: Int
    /// The most calls of requests.
    private let mostOfRequests: Int
    private var requests: Shares<AddressKey>
    private var signIns: Shares<AddressKey>

    /// - Parameters:
    ///   - most: How many calls may be under way.
    ///   - kept: How many of them requests leave to sign-ins.
    package init(most: Int, kept: Int) {
        self.most = most
        self.mostOfRequests = max(1, most - kept)
        self.requests = Shares(ShareRule(of: most))
        self.signIns = Shares(ShareRule(of: most))
    }

    /// How many calls are under way.
    package var count: Int { self.requests.total + self.signIns.total }

    /// Whether there is room for one more call.
    package func admits(_ caller: ProviderCaller) -> Bool {
        let free = self.most - self.count
        guard free > 0 else { return false }
        guard caller.isRequest else { return self.signIns.admits(caller.client, free: free) }
        return self.requests.total < self.mostOfRequests && self.requests.admits(caller.client, free: free)
    }

    /// Records that a call begins. Each that began must end.
    package mutating func begin(_ caller: ProviderCaller) {
        if caller.isRequest { self.requests.take(caller.client) } else { self.signIns.take(caller.client) }
    }

    /// Records that a call of the same caller has ended.
    package mutating func end(_ caller: ProviderCaller) {
        if caller.isRequest { self.requests.giveBack(caller.client) } else { self.signIns.giveBack(caller.client) }
    }
}

/// A limit that all event loops share.
package final class SharedCallLimit: Sendable {
    private let limit: Mutex<CallLimit>

    package init(most: Int = 64) {
        self.limit = Mutex(CallLimit(most: most, kept: most / 8))
    }

    /// Whether there is room for one more call. Each that began must end.
    package func begin(_ caller: ProviderCaller) -> Bool {
        self.limit.withLock { limit in
            guard limit.admits(caller) else { return false }
            limit.begin(caller)
            return true
        }
    }

    /// Records that a call of the same caller has ended.
    package func end(_ caller: ProviderCaller) { self.limit.withLock { $0.end(caller) } }
}
