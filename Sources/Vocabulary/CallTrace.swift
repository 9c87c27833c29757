import Synchronization

/// A call to another service, made for a traced request.
package struct TracedCall: Sendable {
    /// The service that was called.
    package enum Callee: Sendable {
        /// An endpoint of a provider: the origin and path of its URL, and the status of its answer.
        case provider(method: String, origin: String, path: String, status: Int?)
        /// The session store.
        case store(operation: String)
    }

    package var callee: Callee
    /// The purpose of the call, as in metric labels.
    package var purpose: String
    /// The start in nanoseconds of the machine's monotonic clock.
    package var began: UInt64
    package var ended: UInt64
    /// Why the call failed, as a metric label or reason id; `nil` if it succeeded.
    package var failure: String?

    package init(_ callee: Callee, for purpose: String, began: UInt64, ended: UInt64, failure: String? = nil) {
        self.callee = callee
        self.purpose = purpose
        self.began = began
        self.ended = ended
        self.failure = failure
    }
}

/// Records the calls made for one request as children of the request's span. Tasks inherit the trace as a task-local
/// value.
///
/// If several requests wait for the same call, it is recorded for the request that started the call.
package struct CallTrace: Sendable {
    @TaskLocal private static var ofTask: CallTrace?
    /// True once any trace was made. Until then, `current` skips the lookup of the task-local value.
    private static let isUsed = Atomic(false)

    private let write: @Sendable (TracedCall) -> Void

    /// - Parameter write: Called at the end of each call, on any thread.
    package init(_ write: @escaping @Sendable (TracedCall) -> Void) {
        self.write = write
        Self.isUsed.store(true, ordering: .relaxed)
    }

    /// The trace of the current task or `with` call; `nil` if the request is not traced.
    package static var current: CallTrace? { self.isUsed.load(ordering: .relaxed) ? self.ofTask : nil }

    /// Runs `work` and records its calls in `trace`, or in the current trace if `trace` is `nil`.
    package static func with<Result>(_ trace: CallTrace?, _ work: () throws -> Result) rethrows -> Result {
        guard let trace else { return try work() }
        return try self.$ofTask.withValue(trace, operation: work)
    }

    /// Records a call that has ended.
    package func note(_ call: TracedCall) { self.write(call) }
}

/// A request that may be traced. Code that begins work for the request reads its trace.
package protocol TracedRequest: AnyObject {
    /// The trace of the request; `nil` if the request is not traced.
    var callTrace: CallTrace? { get }
}
