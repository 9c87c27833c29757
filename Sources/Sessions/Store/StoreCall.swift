package import NIOCore
package import Vocabulary

extension EventLoopGroup {
    /// Calls a store or a rate limiter on the caller's loop or another one, for callers that are `async`. An error that is no
    /// `StoreError` counts as `.unavailable`.
    package func ask<Service: Sendable, Answer: Sendable>(
        _ service: Service,
        _ question: @escaping @Sendable (Service, any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(StoreError) -> Answer {
        let loop = self.any()
        do {
            if loop.inEventLoop { return try await question(service, loop).get() }
            return try await loop.flatSubmit { question(service, loop) }.get()
        } catch {
            throw (error as? StoreError) ?? .unavailable
        }
    }
}

extension NotDone {
    /// The answer for a store that could not answer.
    package init(_ error: StoreError) {
        switch error {
        case .unavailable: self.init(.storeUnavailable)
        case .full: self.init(.storeFull)
        }
    }

    /// Does what asks a store.
    package static func asking<Answer>(
        _ question: () async throws(StoreError) -> Answer
    ) async throws(NotDone) -> Answer {
        do {
            return try await question()
        } catch {
            throw NotDone(error)
        }
    }
}
