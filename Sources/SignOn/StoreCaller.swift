import NIOCore
import Sessions

/// What asks a store and is `async`.
protocol StoreCaller: Sendable {
    associatedtype Store: Sendable

    var store: Store { get }
    /// The loops on which the store is called.
    var loops: any EventLoopGroup { get }
}

extension StoreCaller {
    /// Calls the store on one of its loops.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (Store, any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(StoreError) -> Answer {
        try await self.loops.ask(self.store, question)
    }
}
