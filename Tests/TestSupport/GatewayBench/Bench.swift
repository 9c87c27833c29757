import Dispatch
package import Testing

/// What a test finds wrong with its surroundings.
package struct BenchFailure: Error, CustomStringConvertible {
    /// What it is, for whoever reads the test's output.
    package let description: String

    /// A failure that says this.
    package init(_ description: String) {
        self.description = description
    }
}

/// Lets tests block: each runs on a thread of its own beside the cooperative pool, a few at a time.
package struct Blocking: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Blocking? {
        testCase == nil ? nil : self
    }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        await Turns.shared.take()
        do {
            try await withTaskExecutorPreference(Threads.shared) { try await function() }
        } catch {
            await Turns.shared.give()
            throw error
        }
        await Turns.shared.give()
    }
}

extension Trait where Self == Blocking {
    /// For suites and tests that block.
    package static var blocking: Self { Blocking() }
}

/// Threads that may sleep in a system call.
private final class Threads: TaskExecutor {
    static let shared = Threads()
    private let queue = DispatchQueue(label: "integration", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// How many tests run at once: most of them wait, and the machine has few cores.
private actor Turns {
    static let shared = Turns()
    private var free = 6
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if self.free > 0 {
            self.free -= 1
        } else {
            await withCheckedContinuation { self.waiting.append($0) }
        }
    }

    func give() {
        if self.waiting.isEmpty { self.free += 1 } else { self.waiting.removeFirst().resume() }
    }
}
