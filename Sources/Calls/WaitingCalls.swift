import AddressIntelligence
import DequeModule
import Sessions

/// The calls that wait for a connection to one server. Sign-ins come first. Clients take turns, and each may only use
/// its share of the connections (`CallLimit`).
struct WaitingCalls {
    /// The waiting calls of sign-ins, or of other requests.
    private struct Lane {
        private var lines: [AddressKey?: Deque<CallExchange>] = [:]
        /// The clients with waiting calls, in the order of their turns.
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

        /// Removes and returns the next call that `admits` accepts; `nil` if no call can begin.
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

    /// - Parameter limit: The maximum number of concurrent calls to the server.
    init(limit: Int) {
        self.limit = CallLimit(most: limit, kept: limit / 4)
    }

    /// True if no call waits or is in progress.
    var isUnused: Bool { self.isEmpty && self.limit.count == 0 }

    /// True if no call waits.
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

    /// Adds a call behind the other calls of its client.
    mutating func append(_ call: CallExchange) {
        if call.caller.isRequest { self.requests.append(call) } else { self.signIns.append(call) }
    }

    /// Puts a call back in front, because its turn has already come.
    mutating func prepend(_ call: CallExchange) {
        if call.caller.isRequest { self.requests.prepend(call) } else { self.signIns.prepend(call) }
    }

    /// Removes and returns the next call that may use a connection; `nil` if no call can begin.
    mutating func popFirst() -> CallExchange? {
        let limit = self.limit
        let admits = { (call: CallExchange) in call.isSeated || limit.admits(call.caller) }
        return self.signIns.popFirst(where: admits) ?? self.requests.popFirst(where: admits)
    }
}
