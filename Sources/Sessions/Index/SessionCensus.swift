package import NIOCore
import Synchronization
import Vocabulary

/// Counts the live sessions in the store. For a large store, the number is an estimate from a random sample.
package final class SessionCensus: Sendable {
    private let store: any RecordStore
    private let last = Mutex<Double?>(nil)

    package init(store: any RecordStore) {
        self.store = store
    }

    /// The last count; `nil` before the first count, or if the last count failed.
    package var count: Double? { self.last.withLock { $0 } }

    /// Counts again. The future never fails.
    package func refresh(on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.store.sample(on: loop).flatMap { sample -> EventLoopFuture<Double?> in
            let isWhole = sample.drawn == sample.noted
            // The index may list a session twice.
            let keys = isWhole ? Array(Set(sample.keys)) : sample.keys
            return EventLoopFuture.whenAllSucceed(keys.map { self.store.session($0, on: loop) }, on: loop).map {
                found in
                let live = found.count { $0?.record.isListed ?? false }
                return isWhole ? Double(live) : (Double(sample.noted) * Double(live) / Double(sample.drawn)).rounded()
            }
        }.recover { _ in
            nil
        }.map { count in
            self.last.withLock { $0 = count }
        }
    }
}
