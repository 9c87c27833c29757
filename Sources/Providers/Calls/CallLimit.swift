import AddressIntelligence
import Synchronization
import Vocabulary

/// Bounds the calls that are under way, so that a flood of invented tokens is not passed on to a provider, which might block
/// the gateway for it. One client has its share of them (`ShareRule`), and an eighth is for calls that are no client's
/// requests, such as those of a sign-in.
struct CallLimit: Sendable {
    private var shares: Shares<AddressKey>
    /// The most calls of clients.
    private let mostOfClients: Int

    init(most: Int) {
        self.shares = Shares(ShareRule(of: most))
        self.mostOfClients = most - most / 8
    }

    /// How many calls are under way.
    var count: Int { self.shares.total }

    /// Whether there is room for one more call. Each that began must end.
    ///
    /// - Parameter client: Whose request needs the call. `nil` if it is no client's.
    mutating func begin(for client: AddressKey?) -> Bool {
        let most = client == nil ? self.shares.rule.limit : self.mostOfClients
        guard self.shares.total < most, self.shares.admits(client) else { return false }
        self.shares.take(client)
        return true
    }

    /// Records that a call of the same client has ended.
    mutating func end(for client: AddressKey?) { self.shares.giveBack(client) }
}

/// A limit that all event loops share.
final class SharedCallLimit: Sendable {
    private let limit: Mutex<CallLimit>

    init(most: Int = 64) {
        self.limit = Mutex(CallLimit(most: most))
    }

    /// Whether there is room for one more call. Each that began must end.
    func begin(for client: AddressKey? = nil) -> Bool { self.limit.withLock { $0.begin(for: client) } }

    /// Records that a call of the same client has ended.
    func end(for client: AddressKey? = nil) { self.limit.withLock { $0.end(for: client) } }
}
