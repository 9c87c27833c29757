import Synchronization

/// A call of another service, for a request that is traced.
package struct TracedCall: Sendable {
    /// What was called.
    package enum Callee: Sendable {
        /// An endpoint of a provider, by the origin and the path of its URL, and the status of its answer.
        case provider(method: String, origin: String, path: String, status: Int?)
        /// The session store, by the name of the operation.
        case store(operation: String)
    }

    package var callee: Callee
    /// What it was for, in the words of the metrics.
    package var purpose: String
    /// By the machine's monotonic clock, in nanoseconds.
    package var began: UInt64
    package var ended: UInt64
    /// Why it has failed, in the words of metrics and reasons; nil: it has not.
    package var failure: String?

    package init(_ callee: Callee, for purpose: String, began: UInt64, ended: UInt64, failure: String? = nil) {
        self.callee = callee
        self.purpose = purpose
        self.began = began
        self.ended = ended
        self.failure = failure
    }
}

/// The trace of the request that a task works for. What the task calls is written below the request's span, also by tasks that
/// it begins.
///
/// Work that several requests wait for belongs to the one that began it.
package struct CallTrace: Sendable {
    @TaskLocal private static var ofTask: CallTrace?
    /// Whether there has been one: else nobody looks for it.
    private static let isUsed = Atomic(false)

    private let write: @Sendable (TracedCall) -> Void

    /// - Parameter write: Called at the end of each call, on any thread.
    package init(_ write: @escaping @Sendable (TracedCall) -> Void) {
        self.write = write
        Self.isUsed.store(true, ordering: .relaxed)
    }

    /// That of the task, or of the call, in which this is asked; nil: no trace is written.
    package static var current: CallTrace? { self.isUsed.load(ordering: .relaxed) ? self.ofTask : nil }

    /// Does work for the request of this trace.
    package static func with<Result>(_ trace: CallTrace?, _ work: () throws -> Result) rethrows -> Result {
        guard let trace else { return try work() }
        return try self.$ofTask.withValue(trace, operation: work)
    }

    /// Writes a call that has ended.
    package func note(_ call: TracedCall) { self.write(call) }
}

/// A request that may be traced, for work that others begin for it.
package protocol TracedRequest: AnyObject {
    /// nil: it is not recorded.
    var callTrace: CallTrace? { get }
}
