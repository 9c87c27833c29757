package import NIOCore
package import Sessions
import Synchronization
import Vocabulary

/// Remembers ids as a test says.
package final class ScriptedOnces: OnceStore {
    /// A test can change this at any time.
    package struct Script: Sendable {
        package var memory = OnceMemory(epoch: 1, since: UnixTime(seconds: 0))
        package var failure: StoreError?
        /// What the next memory is, once an id has been entered.
        package var nextMemory: OnceMemory?
    }

    private struct State {
        var script = Script()
        var seen: [OnceID: Duration] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package var script: Script {
        get { self.state.withLock { $0.script } }
        set { self.state.withLock { $0.script = newValue } }
    }

    /// The ids that were presented, with the time for which they are remembered.
    package var seen: [OnceID: Duration] { self.state.withLock { $0.seen } }

    package var onceMemory: OnceMemory { self.script.memory }

    package func eventualOnce(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> Eventual<Bool> {
        self.state.withLock { state in
            if let failure = state.script.failure { return .failure(failure) }
            if let next = state.script.nextMemory { state.script.memory = next }
            guard state.seen[id] == nil else { return .success(false) }
            state.seen[id] = lifetime
            return .success(true)
        }
    }
}
