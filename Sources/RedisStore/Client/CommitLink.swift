internal import NIOCore
internal import Vocabulary

/// Runs scripts whose writes a replica must confirm before they are answered. Confined to its loop.
///
/// `WAIT` blocks its connection and covers what that connection wrote before. So these scripts have their own
/// connection. Scripts that arrive in one tick, or while replicas confirm earlier ones, are sent together with one
/// `WAIT` after them. Without the confirmation they fail with `RedisError.unreplicated`, though Redis has run them.
final class CommitLink {
    private struct Entry {
        let call: ScriptCall
        var isByText = false
        let asking: Bool
        let deadline: NIODeadline
        let promise: EventLoopPromise<RedisReply>
    }

    private static let maxBatch = 1024

    private let loop: any EventLoop
    private let link: RedisLink
    private let commandTimeout: TimeAmount
    private let patience: Duration
    private let onShortage: () -> Void
    private var queue: [Entry] = []
    private var isScheduled = false
    private var isCommitting = false

    /// - Parameter onShortage: Called when no replica has confirmed in time.
    init(link: RedisLink, configuration: RedisConfiguration, on loop: any EventLoop, onShortage: @escaping () -> Void) {
        self.loop = loop
        self.link = link
        self.commandTimeout = TimeAmount(configuration.commandTimeout)
        self.patience = configuration.confirmationTimeout
        self.onShortage = onShortage
    }

    func start() -> EventLoopFuture<Void> { self.link.start() }
    func becomeUp(within patience: Duration) -> EventLoopFuture<Void> { self.link.becomeUp(within: patience) }
    func shutDown() -> EventLoopFuture<Void> { self.link.shutDown() }

    func evaluate(_ call: ScriptCall, asking: Bool, deadline: NIODeadline) -> EventLoopFuture<RedisReply> {
        guard self.link.isUp else { return self.loop.makeFailedFuture(RedisError.notSent(.notConnected)) }
        let promise = self.loop.makePromise(of: RedisReply.self)
        self.queue.append(Entry(call: call, asking: asking, deadline: deadline, promise: promise))
        self.scheduleCommit()
        return promise.futureResult
    }

    // MARK: Steps

    private func scheduleCommit() {
        guard !self.isScheduled, !self.isCommitting, !self.queue.isEmpty else { return }
        self.isScheduled = true
        let link = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.execute { link.value.commit() }
    }

    private func commit() {
        self.isScheduled = false
        let batch = Array(self.queue.prefix(Self.maxBatch))
        self.queue.removeFirst(batch.count)
        guard !batch.isEmpty else { return }
        self.isCommitting = true
        let replies = batch.map { entry in
            self.link.send(
                entry.isByText ? entry.call.byText : entry.call.byName,
                asking: entry.asking,
                deadline: entry.deadline
            )
        }
        let confirmation = self.link.send(
            RedisCommand("WAIT", "1", "\(self.patience.wholeMilliseconds)"),
            deadline: .now() + TimeAmount(self.patience) + self.commandTimeout
        )
        let context = NIOLoopBound((self, batch), eventLoop: self.loop)
        EventLoopFuture.whenAllComplete(replies + [confirmation], on: self.loop).whenSuccess { results in
            let (link, batch) = context.value
            var isConfirmed = false
            if case .success(.integer(let replicas)) = results[batch.count], replicas > 0 { isConfirmed = true }
            link.settle(batch, results, isConfirmed: isConfirmed)
        }
    }

    private func settle(_ batch: [Entry], _ results: [Result<RedisReply, any Error>], isConfirmed: Bool) {
        self.isCommitting = false
        var again: [Entry] = []
        var isShort = false
        for (entry, result) in zip(batch, results) {
            switch result {
            case .success(.error(let error)) where error.errorClass == .noScript && !entry.isByText:
                var entry = entry
                entry.isByText = true
                again.append(entry)
            case .success(.error): entry.promise.completeWith(result)
            case .success where !isConfirmed:
                isShort = true
                entry.promise.fail(RedisError.unreplicated)
            default: entry.promise.completeWith(result)
            }
        }
        self.queue = again + self.queue
        if isShort { self.onShortage() }
        self.scheduleCommit()
    }
}
