import Synchronization

/// A call to another service, made for a traced request.
package struct TracedCall: Sendable {
    /// The service that was called.
    package enum Callee: Sendable {
        /// An endpoint of a provider, with the origin and path of its URL and the status of its answer.
        case provider(method: String, origin: String, path: String, status: Int?)
        /// The session store, with the name of the operation.
        case store(operation: String)
    }

    package var callee: Callee
    /// The purpose of the call, as in the labels of metrics.
    package var purpose: String
    /// The start in nanoseconds of the machine's monotonic clock.
    package var began: UInt64
    package var ended: UInt64
    /// The reason for the failure, as a label of metrics or a reason id; `nil` if the call has succeeded.
    package var failure: String?

    package init(_ callee: Callee, for purpose: String, began: UInt64, ended: UInt64, failure: String? = nil) {
        self.callee = callee
        self.purpose = purpose
        self.began = began
        self.ended = ended
        self.failure = failure
    }
}

/// The trace of the request for which a task works. Calls of the task, and of tasks that it starts, are recorded as
/// children of the request's span.
///
/// Work for which several requests wait belongs to the request that began it.
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
