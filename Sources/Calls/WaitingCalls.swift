import AddressIntelligence
import DequeModule
import Sessions

/// Decides which calls to the server of a provider are sent next. Sign-ins come before the token checks of requests,
/// and clients take turns within each kind.
///
/// One client has a share of all connections for each kind (`CallLimit`). A quarter of all is reserved for sign-ins.
struct WaitingCalls {
    /// The waiting calls of one kind: sign-ins or requests.
    private struct Lane {
        private var lines: [AddressKey?: Deque<CallExchange>] = [:]
        /// The clients with a line, in the order of their turns.
        private var turns: Deque<AddressKey?> = []

        var isEmpty: Bool { self.turns.isEmpty }

        mutating func append(_ call: CallExchange) {
            let client = call.caller.client
            if self.lines[client] == nil { self.turns.append(client) }
            self.lines[client, default: []].append(call)
        }

        mutating func prepend(_ call: CallExchange) {
            let client = call.caller.client
            self.turns.removeAll { $0 == client }
            self.turns.prepend(client)
            self.lines[client, default: []].prepend(call)
        }

        /// Removes and returns the first call that may use a connection; `nil` if none exists.
        mutating func popFirst(where admits: (CallExchange) -> Bool) -> CallExchange? {
            for _ in 0..<self.turns.count {
                guard let client = self.turns.popFirst() else { return nil }
                while self.lines[client]?.first?.isOver == true { self.lines[client]?.removeFirst() }
                guard let call = self.lines[client]?.first else {
                    self.lines[client] = nil
                    continue
                }
                guard admits(call) else {
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

    private var limit: CallLimit
    private var signIns = Lane()
    private var requests = Lane()

    /// - Parameter limit: The maximum number of calls to the server at a time.
    init(limit: Int) {
        self.limit = CallLimit(most: limit, kept: limit / 4)
    }

    /// Whether no call waits and none is under way.
    var isUnused: Bool { self.isEmpty && self.limit.count == 0 }

    /// Whether no call waits.
    var isEmpty: Bool { self.signIns.isEmpty && self.requests.isEmpty }

    /// Records that a call gets a connection.
    mutating func take(_ call: CallExchange) {
        guard !call.isSeated else { return }
        call.isSeated = true
        self.limit.begin(call.caller)
    }

    /// Records that a call is over.
    mutating func giveBack(_ call: CallExchange) {
        guard call.isSeated else { return }
        call.isSeated = false
        self.limit.end(call.caller)
    }

    /// Adds a call to the end of its client's line.
    mutating func append(_ call: CallExchange) {
        if call.caller.isRequest { self.requests.append(call) } else { self.signIns.append(call) }
    }

    /// Puts a call first, because its turn has already come.
    mutating func prepend(_ call: CallExchange) {
        if call.caller.isRequest { self.requests.prepend(call) } else { self.signIns.prepend(call) }
    }

    /// Removes and returns the call whose turn it is; `nil` if no waiting call may use a connection.
    mutating func popFirst() -> CallExchange? {
        let limit = self.limit
        let admits = { (call: CallExchange) in call.isSeated || limit.admits(call.caller) }
        return self.signIns.popFirst(where: admits) ?? self.requests.popFirst(where: admits)
    }
}
