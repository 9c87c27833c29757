import Calls
import Providers
import Synchronization
import Vocabulary

/// Answers calls as a test says, and keeps them.
final class ScriptedTransport: CallTransport {
    typealias Handler = @Sendable (OutgoingCall) throws(CallError) -> CallAnswer

    private struct State {
        var handlers: [String: Handler] = [:]
        var calls: [OutgoingCall] = []
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// The calls in order.
    var calls: [OutgoingCall] { self.state.withLock { $0.calls } }

    /// The calls to this URL, in order.
    func calls(of url: String) -> [OutgoingCall] { self.calls.filter { $0.url == url } }

    /// Answers calls to `url` from now on.
    func on(_ url: String, _ handler: @escaping Handler) {
        self.state.withLock { $0.handlers[url] = handler }
    }

    /// Answers calls to `url` with these answers in turn, and then with the last one again.
    func on(_ url: String, _ answers: [CallAnswer]) {
        let place = Mutex(0)
        self.on(url) { _ in
            let index = place.withLock { place in
                defer { place += 1 }
                return place
            }
            return answers[min(index, answers.count - 1)]
        }
    }

    func on(_ url: String, _ answer: CallAnswer) { self.on(url) { _ in answer } }

    func on(_ url: String, failing error: CallError) {
        self.on(url) { (_) throws(CallError) in throw error }
    }

    /// From now on answers are held until `release`.
    func hold() {
        self.state.withLock { $0.isHeld = true }
    }

    func release() {
        let held = self.state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer {
        let handler = self.state.withLock { state in
            state.calls.append(call)
            return state.handlers[call.url]
        }
        await withCheckedContinuation { continuation in
            let goesOn = self.state.withLock { state in
                if state.isHeld { state.held.append(continuation) }
                return !state.isHeld
            }
            if goesOn { continuation.resume() }
        }
        guard let handler else { throw CallError(isUnsent: true, detail: "no server at \(call.url)") }
        return try handler(call)
    }
}

extension OutgoingCall {
    /// The first field of this name.
    func field(_ name: String) -> String? { self.fields.first { $0.name == name }?.value }

    /// The parameters of the form, by name.
    var form: [String: String] {
        Dictionary(FormText.strictPairs(self.body) ?? [], uniquingKeysWith: { first, _ in "repeated: \(first)" })
    }
}

extension CallAnswer {
    /// A JSON document.
    static func json(_ value: JSONValue, status: Int = 200, fields: [(name: String, value: String)] = []) -> Self {
        CallAnswer(
            status: status,
            fields: [("content-type", "application/json")] + fields,
            body: JSONText.encode(value)
        )
    }
}
