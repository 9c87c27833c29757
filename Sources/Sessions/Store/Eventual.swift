public import NIOCore

/// An answer that is known at once, as from the store in memory, or comes later, as from Redis. A known answer needs no
/// future and no further turn of the event loop.
@usableFromInline
package enum Eventual<Value: Sendable>: Sendable {
    case now(Result<Value, any Error>)
    case later(EventLoopFuture<Value>)

    /// Returns an answer that is known.
    @inlinable package static func success(_ value: Value) -> Self { .now(.success(value)) }

    /// Returns an error that is known.
    @inlinable package static func failure(_ error: any Error) -> Self { .now(.failure(error)) }

    /// Creates the answer of `step`. An error that `step` throws becomes the answer.
    @inlinable package init(catching step: () throws -> Eventual<Value>) {
        do { self = try step() } catch { self = .failure(error) }
    }

    /// Returns the answer with its value changed.
    @inlinable package func map<New>(_ change: @escaping @Sendable (Value) -> New) -> Eventual<New> {
        switch self {
        case .now(let result): .now(result.map(change))
        case .later(let future): .later(future.map(change))
        }
    }

    /// Returns the answer of the next step.
    @inlinable package func flatMap<New>(_ next: @escaping @Sendable (Value) -> Eventual<New>) -> Eventual<New> {
        switch self {
        case .now(.success(let value)): next(value)
        case .now(.failure(let error)): .now(.failure(error))
        case .later(let future): .later(future.flatMap { next($0).future(on: future.eventLoop) })
        }
    }

    /// Returns both answers. Both questions are already being answered, in parallel.
    @inlinable package func and<Other>(_ other: Eventual<Other>) -> Eventual<(Value, Other)> {
        switch (self, other) {
        case (.now(let left), .now(let right)): .now(left.flatMap { left in right.map { (left, $0) } })
        case (.later(let left), _): .later(left.and(other.future(on: left.eventLoop)))
        case (_, .later(let right)): .later(self.future(on: right.eventLoop).and(right))
        }
    }

    /// Replaces an error with a value, or with another error.
    @inlinable package func flatMapErrorThrowing(_ fix: @escaping @Sendable (any Error) throws -> Value) -> Self {
        switch self {
        case .now(.success): self
        case .now(.failure(let error)): .now(Result { try fix(error) })
        case .later(let future): .later(future.flatMapErrorThrowing(fix))
        }
    }

    /// Returns the answer as a future of `loop`, on which the question was asked.
    @inlinable package func future(on loop: any EventLoop) -> EventLoopFuture<Value> {
        switch self {
        case .now(let result): loop.makeCompletedFuture(result)
        case .later(let future): future
        }
    }

    /// Waits for the answer and returns it.
    package func get() async throws -> Value {
        switch self {
        case .now(let result): try result.get()
        case .later(let future): try await future.get()
        }
    }

    /// Calls `receiver` once, possibly before this returns. Must be called on the loop on which the question was asked.
    @inlinable package func whenComplete(_ receiver: @escaping (Result<Value, any Error>) -> Void) {
        switch self {
        case .now(let result): receiver(result)
        case .later(let future): future.assumeIsolated().whenComplete(receiver)
        }
    }
}
