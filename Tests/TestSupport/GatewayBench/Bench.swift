import Dispatch
import Foundation
package import Testing

/// Something outside the code under test that keeps a test from running as planned.
package struct BenchFailure: Error, CustomStringConvertible {
    /// The message in the test's output.
    package let description: String

    /// A failure with this message.
    package init(_ description: String) {
        self.description = description
    }
}

/// Lets tests block: each runs on its own thread outside the cooperative pool, and only a few run at a time.
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
        let start = Date()
        defer { TurnRecord.shared?.add(test, since: start) }
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

/// Threads that may block in a system call.
private final class Threads: TaskExecutor {
    static let shared = Threads()
    private let queue = DispatchQueue(label: "integration", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// How many tests run at once. Most of them wait most of the time, and the machine has few cores.
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

/// The file that the variable `TEST_TURNS` names. Each test writes down when its turn began and ended, because Swift
/// Testing's own times include the wait for it.
private struct TurnRecord: Sendable {
    static let shared = ProcessInfo.processInfo.environment["TEST_TURNS"].flatMap(TurnRecord.init)
    private let file: FileHandle

    init?(path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return nil }
        self.file = FileHandle(fileDescriptor: descriptor)
    }

    func add(_ test: Test, since start: Date) {
        let line = "\(start.timeIntervalSince1970) \(Date().timeIntervalSince1970) \(test.id)\n"
        self.file.write(Data(line.utf8))
    }
}
