import JOSE
import Synchronization
import Vocabulary

/// An issuer's key set endpoint that does what a test says.
final class Issuer: Sendable {
    struct Down: Error {}

    private struct State {
        var keys: [SigningKey]
        var document: [UInt8]?
        var isDown = false
        var fetches = 0
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ keys: SigningKey...) {
        self.state = Mutex(State(keys: keys))
    }

    /// How often the set was asked for.
    var fetches: Int { self.state.withLock { $0.fetches } }

    /// The calls that wait for `release`.
    var waiting: Int { self.state.withLock { $0.held.count } }

    /// Publishes other keys from now on.
    func publish(_ keys: SigningKey...) { self.state.withLock { $0.keys = keys } }

    /// Answers with this document; nil: with the keys.
    func answer(with document: [UInt8]?) { self.state.withLock { $0.document = document } }

    /// Fails, or answers again.
    func isDown(_ isDown: Bool) { self.state.withLock { $0.isDown = isDown } }

    /// Holds answers back.
    func hold() { self.state.withLock { $0.isHeld = true } }

    /// Gives the answers that were held back, and holds back no more.
    func release() {
        let held = self.state.withLock { state in
            defer { state.held = [] }
            state.isHeld = false
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func answer() async throws -> [UInt8] {
        await withCheckedContinuation { continuation in
            let isHeld = self.state.withLock { state in
                state.fetches += 1
                if state.isHeld { state.held.append(continuation) }
                return state.isHeld
            }
            if !isHeld { continuation.resume() }
        }
        return try self.state.withLock { state in
            guard !state.isDown else { throw Down() }
            return state.document ?? JSONText.encode(JWKSet(keys: state.keys.map(\.publicKey)).value)
        }
    }
}
