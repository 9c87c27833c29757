import NIOCore
import Sessions
import Vocabulary

/// The compare-and-swap of replaceable records and documents.
extension RedisStore {
    struct Swap: Sendable {
        /// The keys that may have the present value. The new value is written at the first key.
        let places: [[UInt8]]
        /// The value that must be present; empty if no value may be present.
        let judged: [UInt8]
        let attempt: AttemptID
        var isConfirmed = true
        /// The result if the script answers -1.
        let refusal: Result<Replacement, StoreError>
        /// Returns the attempt that wrote a value at one of these keys.
        let writer: @Sendable (_ value: [UInt8], _ places: [[UInt8]]) throws(StoreError) -> AttemptID
    }

    func swap(_ swap: Swap, by call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<Replacement> {
        self.client.run(call, on: loop) { result in
            if case .failure(.unanswered) = result {
                return self.readBack(swap.places[0], unless: swap.judged, on: loop) {
                    try self.outcome($0, of: swap, on: loop)
                }
            }
            return try self.outcome(try Self.written(result), of: swap, on: loop)
        }
    }

    private func outcome(
        _ reply: RedisReply,
        of swap: Swap,
        on loop: any EventLoop
    ) throws(StoreError) -> Eventual<Replacement> {
        switch reply {
        case .integer(1): return .success(.done)
        case .integer(0): return .success(.absent)
        case .integer(-1): return .success(try swap.refusal.get())
        case .bulk(let value):
            let isOwn = try swap.writer(value, swap.places) == swap.attempt
            return isOwn ? .later(self.confirm(swap, on: loop)) : .success(.changed)
        default: throw .unavailable
        }
    }

    /// Confirms an earlier swap by this attempt. Returns `.done` if the attempt's value is still present, or needs no
    /// confirmation.
    func confirm(_ swap: Swap, on loop: any EventLoop) -> EventLoopFuture<Replacement> {
        guard swap.isConfirmed else { return loop.makeSucceededFuture(.done) }
        let written = Array(swap.places.prefix(1))
        let call = ScriptCall(Scripts.rewrite, keys: written, arguments: [])
        return self.client.run(call, on: loop).flatMapThrowing { reply in
            guard let value = try Self.value(reply) else { return .absent }
            return try swap.writer(value, written) == swap.attempt ? .done : .changed
        }
    }

    /// Returns the value in the reply to `GET`; `nil` if the key has no value.
    static func value(_ reply: RedisReply) throws(StoreError) -> [UInt8]? {
        switch reply {
        case .null: nil
        case .bulk(let value): value
        default: throw .unavailable
        }
    }
}
