import AddressIntelligence
import DequeModule
import Vocabulary

/// What the server of a provider can be asked at a time, and which calls wait: those of sign-ins before questions about
/// tokens, and of these one of each client in turn.
///
/// One client has its share of the connections (`ShareRule`) for its questions. All questions together leave a quarter of
/// the connections to sign-ins.
struct WaitingCalls {
    private var shares: Shares<AddressKey>
    /// The most connections for questions.
    private let mostQuestions: Int
    private var questions = 0
    private var first: Deque<ProviderExchange> = []
    private var lines: [AddressKey?: Deque<ProviderExchange>] = [:]
    /// The clients with a line, in the order of their turns.
    private var turns: Deque<AddressKey?> = []

    /// - Parameter limit: How many calls the server has at a time.
    init(limit: Int) {
        self.shares = Shares(ShareRule(of: limit))
        self.mostQuestions = max(1, limit - limit / 4)
    }

    /// Whether nothing waits, and nothing is under way.
    var isUnused: Bool { self.isEmpty && self.shares.total == 0 }

    /// Whether nothing waits.
    var isEmpty: Bool { self.first.isEmpty && self.turns.isEmpty }

    /// Whether a call may have a connection now, if there is one.
    func admits(_ call: ProviderExchange) -> Bool {
        if call.isSeated || !call.isQuestion { return true }
        return self.questions < self.mostQuestions && self.shares.admits(call.client)
    }

    /// Records that a call gets a connection.
    mutating func take(_ call: ProviderExchange) {
        guard !call.isSeated else { return }
        call.isSeated = true
        self.shares.take(call.client)
        if call.isQuestion { self.questions += 1 }
    }

    /// Records that a call is over.
    mutating func giveBack(_ call: ProviderExchange) {
        guard call.isSeated else { return }
        call.isSeated = false
        self.shares.giveBack(call.client)
        if call.isQuestion { self.questions -= 1 }
    }

    /// Has a call wait.
    mutating func append(_ call: ProviderExchange) {
        guard call.isQuestion else { return self.first.append(call) }
        if self.lines[call.client] == nil { self.turns.append(call.client) }
        self.lines[call.client, default: []].append(call)
    }

    /// Has a call wait whose turn has come already.
    mutating func prepend(_ call: ProviderExchange) {
        guard call.isQuestion else { return self.first.prepend(call) }
        self.turns.removeAll { $0 == call.client }
        self.turns.prepend(call.client)
        self.lines[call.client, default: []].prepend(call)
    }

    /// Removes the call whose turn it is. `nil` if none waits that may have a connection.
    mutating func popFirst() -> ProviderExchange? {
        while let call = self.first.popFirst() {
            if !call.isOver { return call }
        }
        for _ in 0..<self.turns.count {
            guard let client = self.turns.popFirst() else { return nil }
            while self.lines[client]?.first?.isOver == true { self.lines[client]?.removeFirst() }
            guard let call = self.lines[client]?.first else {
                self.lines[client] = nil
                continue
            }
            guard self.admits(call) else {
                self.turns.append(client)
                continue
            }
            self.lines[client]?.removeFirst()
            if self.lines[client]?.isEmpty == true { self.lines[client] = nil } else { self.turns.append(client) }
            return call
        }
        return nil
    }
}
