import NIOCore
import Vocabulary

/// Runs scripts whose writes a replica must confirm before the scripts are answered. Confined to its loop.
///
/// `WAIT` blocks its connection and covers the earlier writes of this connection, so these scripts have a separate
/// connection. Scripts that arrive in one turn of the loop, or during a `WAIT`, share the next `WAIT`. Without the
/// confirmation, the scripts fail with `RedisError.unreplicated`, although Redis has run them.
final class CommitLink {
    private struct Entry {
        let call: ScriptCall
        var isByText = false
        let asking: Bool
        let deadline: NIODeadline
        let receiver: RedisConnectionHandler.Receiver
    }

    private static let maxBatch = 1024

    private let loop: any EventLoop
    private let link: RedisLink
    private let commandTimeout: TimeAmount
    private let patience: Duration
    private let onShortage: () -> Void
    private let onError: (RedisServerError) -> Void
    private var queue: [Entry] = []
    private var isScheduled = false
    private var isCommitting = false

    /// - Parameters:
    ///   - onShortage: Called if no replica has confirmed in time.
    ///   - onError: Called if the server answers `WAIT` with an error.
    init(
        link: RedisLink,
        configuration: RedisConfiguration,
        on loop: any EventLoop,
        onShortage: @escaping () -> Void,
        onError: @escaping (RedisServerError) -> Void
    ) {
        self.loop = loop
        self.link = link
        self.commandTimeout = TimeAmount(configuration.commandTimeout)
        self.patience = configuration.confirmationTimeout
        self.onShortage = onShortage
        self.onError = onError
    }

    func start() -> EventLoopFuture<Void> { self.link.start() }
    func becomeUp(within patience: Duration) -> EventLoopFuture<Void> { self.link.becomeUp(within: patience) }
    func shutDown() -> EventLoopFuture<Void> { self.link.shutDown() }

    /// Sends a command whose answer is ignored.
    func send(_ command: RedisCommand, deadline: NIODeadline) { self.link.send(command, deadline: deadline) { _ in } }

    func evaluate(
        _ call: ScriptCall,
        asking: Bool,
        deadline: NIODeadline,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        guard self.link.isUp else { return receiver(.failure(.notSent(.notConnected))) }
        self.queue.append(Entry(call: call, asking: asking, deadline: deadline, receiver: receiver))
        self.scheduleCommit()
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
        // The last element is the result of `WAIT`.
        var results = [RedisConnectionHandler.Answered](repeating: .failure(.unexpected), count: batch.count + 1)
        var missing = results.count
        func receiver(of index: Int) -> RedisConnectionHandler.Receiver {
            { result in
                results[index] = result
                missing -= 1
                if missing == 0 { self.settle(batch, results) }
            }
        }
        let now = NIODeadline.now()
        for (index, entry) in batch.enumerated() {
            let command = entry.isByText ? entry.call.byText : entry.call.byName
            guard entry.deadline > now else {
                receiver(of: index)(.failure(.notSent(.timedOut)))
                continue
            }
            self.link.send(command, asking: entry.asking, deadline: entry.deadline, receiver(of: index))
        }
        self.link.send(
            RedisCommand("WAIT", "1", "\(self.patience.wholeMilliseconds)"),
            deadline: .now() + TimeAmount(self.patience) + self.commandTimeout,
            receiver(of: batch.count)
        )
    }

    private func settle(_ batch: [Entry], _ results: [RedisConnectionHandler.Answered]) {
        let isConfirmed = if case .success(.integer(1...)) = results[batch.count] { true } else { false }
        if case .success(.error(let error)) = results[batch.count] { self.onError(error) }
        self.isCommitting = false
        var again: [Entry] = []
        var isShort = false
        for (entry, result) in zip(batch, results) {
            switch result {
            case .success(.error(let error)) where error.errorClass == .noScript && !entry.isByText:
                var entry = entry
                entry.isByText = true
                again.append(entry)
            case .success(.error): entry.receiver(result)
            case .success where !isConfirmed:
                isShort = true
                entry.receiver(.failure(.unreplicated))
            default: entry.receiver(result)
            }
        }
        self.queue = again + self.queue
        if isShort { self.onShortage() }
        self.scheduleCommit()
    }
}
