package import NIOCore
package import Vocabulary

extension EventLoopGroup {
    /// Calls a store or a rate limiter for `async` callers, on the caller's loop or on any loop of the group. Errors
    /// other than `StoreError` become `.unavailable`.
    package func ask<Service: Sendable, Answer: Sendable>(
        _ service: Service,
        _ question: @escaping @Sendable (Service, any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(StoreError) -> Answer {
        let loop = self.any()
        do {
            if loop.inEventLoop { return try await question(service, loop).get() }
            let trace = CallTrace.current
            return try await loop.flatSubmit { CallTrace.with(trace) { question(service, loop) } }.get()
        } catch {
            throw (error as? StoreError) ?? .unavailable
        }
    }
}

extension NotDone {
    /// Translates an error of a store. An unknown error becomes `.storeUnavailable`.
    package init(asking error: any Error) {
        switch error {
        case let error as NotDone: self = error
        case StoreError.full: self.init(.storeFull)
        default: self.init(.storeUnavailable)
        }
    }
}
