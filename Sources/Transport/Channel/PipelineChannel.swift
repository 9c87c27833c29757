import Glibc
package import NIOCore
import Synchronization

/// A NIO channel on a connected socket, for protocols that are implemented as channel handlers, such as TLS. Options
/// cannot be set.
///
/// When the peer ends its output, an outgoing channel closes. On an accepted channel, the handlers decide whether to
/// close (`ChannelEvent.inputClosed`).
package final class PipelineChannel: Channel, ChannelCore, @unchecked Sendable {
    package let allocator = ByteBufferAllocator()
    package let remoteAddress: SocketAddress?
    package var localAddress: SocketAddress? { nil }
    package var parent: (any Channel)? { nil }
    package var _channelCore: any ChannelCore { self }

    private let loop: TransportLoop
    private let socket: StreamSocket
    private let closePromise: EventLoopPromise<Void>
    private let isActiveFlag = Atomic<Bool>(false)
    /// The pipeline. Set at the end of `init`, because a pipeline needs its channel.
    private var ownPipeline: ChannelPipeline?
    /// True while a handler wants more bytes.
    private var isReadPending = true
    /// The promises of writes that have not been sent.
    private var unsent: [EventLoopPromise<Void>] = []
    private var outputEndPromise: EventLoopPromise<Void>?
    /// True if the peer opened the connection.
    private let isAccepted: Bool
    /// True if the channel closes once everything has been sent.
    private var closesWhenSent = false

    /// Events for handlers, in addition to NIO's events.
    package enum Event: Sendable {
        /// On an accepted channel: the bytes that the system did not accept at first have all been sent.
        case allSent
    }

    /// - Parameters:
    ///   - socket: A connected socket. Only an accepted socket may have been started.
    ///   - address: The address of the peer; `nil` for an accepted socket.
    private init(_ socket: StreamSocket, to address: SocketAddress?) {
        self.isAccepted = address == nil
        self.socket = socket
        self.loop = socket.loop
        self.remoteAddress = address
        self.closePromise = socket.loop.makePromise(of: Void.self)
        self.ownPipeline = ChannelPipeline(channel: self)
    }

    /// Makes a channel from a connected or an accepted socket. If bytes of an accepted socket have been read already,
    /// the caller passes them to `received`.
    ///
    /// - Parameters:
    ///   - address: The address of the peer; `nil` for an accepted socket.
    ///   - prepare: Adds the handlers of the pipeline, before the channel becomes active.
    package static func begin(
        _ socket: StreamSocket,
        to address: SocketAddress? = nil,
        _ prepare: (any Channel) throws -> Void
    ) throws -> PipelineChannel {
        let channel = PipelineChannel(socket, to: address)
        do {
            try prepare(channel)
            try socket.start(channel)
        } catch {
            socket.close()
            channel.end()
            throw error
        }
        channel.isActiveFlag.store(true, ordering: .relaxed)
        channel.pipeline.syncOperations.fireChannelRegistered()
        channel.pipeline.syncOperations.fireChannelActive()
        return channel
    }

    /// True if nothing unread has arrived, not even the end of the stream. Costs a system call.
    package var isQuiet: Bool { self.socket.isQuiet }

    // MARK: Channel

    package var eventLoop: any EventLoop { self.loop }
    package var closeFuture: EventLoopFuture<Void> { self.closePromise.futureResult }
    package var isActive: Bool { self.isActiveFlag.load(ordering: .relaxed) }
    package var isWritable: Bool { self.socket.isWritable }

    package var pipeline: ChannelPipeline {
        guard let pipeline = self.ownPipeline else { preconditionFailure("a channel has a pipeline") }
        return pipeline
    }

    package var syncOptions: (any NIOSynchronousChannelOptions)? { self.isAccepted ? AcceptedOptions() : nil }

    package func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        self.loop.makeFailedFuture(ChannelError.operationUnsupported)
    }

    package func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        self.loop.makeFailedFuture(ChannelError.operationUnsupported)
    }

    // MARK: ChannelCore

    package func localAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }

    package func remoteAddress0() throws -> SocketAddress {
        guard let address = self.remoteAddress else { throw ChannelError.operationUnsupported }
        return address
    }

    package func register0(promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }

    package func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    package func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    package func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    package func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard self.socket.isOpen else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        let wasWritable = self.socket.isWritable
        self.socket.write(self.unwrapData(data, as: ByteBuffer.self))
        if let promise { self.unsent.append(promise) }
        if wasWritable, !self.socket.isWritable { self.pipeline.syncOperations.fireChannelWritabilityChanged() }
    }

    package func flush0() {
        self.socket.flush()
        if self.socket.isOpen, self.socket.unsentBytes == 0 { self.fulfil() }
    }

    package func read0() {
        self.isReadPending = true
        self.socket.resume()
    }

    package func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard self.socket.isOpen else {
            promise?.fail(ChannelError.alreadyClosed)
            return
        }
        switch mode {
        case .all where self.isAccepted && self.socket.unsentBytes > 0:
            // The unsent bytes may be a TLS alert, or an answer to a client that has already ended its output.
            self.closesWhenSent = true
            self.socket.endOutput()
            promise?.succeed(())
        case .all:
            self.socket.close()
            promise?.succeed(())
        case .output:
            self.outputEndPromise = promise
            self.socket.endOutput()
        case .input:
            promise?.fail(ChannelError.operationUnsupported)
        }
    }

    package func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    package func channelRead0(_ data: NIOAny) {}
    package func errorCaught0(error: any Error) {}
}

// MARK: The socket

extension PipelineChannel: StreamHandler {
    package func received(_ buffer: inout ByteBuffer) {
        self.isReadPending = false
        // A client's bytes are copied. TLS would otherwise retain the loop's large buffer until the client completes
        // its record.
        let bytes = self.isAccepted ? ByteBuffer(bytes: buffer.readableBytesView) : buffer
        self.pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
        self.pipeline.syncOperations.fireChannelReadComplete()
        guard self.socket.isOpen else { return }
        // A handler that wants no more bytes does not pass `read` on to `read0`.
        if !self.isReadPending { self.pipeline.syncOperations.read() }
        if !self.isReadPending { self.socket.pause() }
    }

    package func becameWritable() {
        self.pipeline.syncOperations.fireChannelWritabilityChanged()
    }

    package func allSent() {
        self.fulfil()
        if self.isAccepted { self.pipeline.syncOperations.fireUserInboundEventTriggered(Event.allSent) }
    }

    private func fulfil() {
        let sent = self.unsent
        self.unsent = []
        for promise in sent { promise.succeed(()) }
    }

    package func inputEnded() -> Bool {
        guard self.isAccepted else { return false }
        self.pipeline.syncOperations.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        return self.socket.isOpen
    }

    package func outputEnded() {
        self.outputEndPromise.take()?.succeed(())
        if self.closesWhenSent { return self.socket.close() }
        self.pipeline.syncOperations.fireUserInboundEventTriggered(ChannelEvent.outputClosed)
    }

    package func closed(isClean: Bool) {
        self.isActiveFlag.store(false, ordering: .relaxed)
        if !isClean {
            let error = IOError(errnoCode: ECONNRESET, reason: "the connection has failed")
            self.pipeline.syncOperations.fireErrorCaught(error)
        }
        self.pipeline.syncOperations.fireChannelInactive()
        self.pipeline.syncOperations.fireChannelUnregistered()
        self.end()
    }

    private func end() {
        for promise in self.unsent { promise.fail(ChannelError.ioOnClosedChannel) }
        self.unsent = []
        self.outputEndPromise.take()?.fail(ChannelError.ioOnClosedChannel)
        // Handlers that are running now may still use the pipeline.
        self.loop.execute {
            self.removeHandlers(pipeline: self.pipeline)
            self.closePromise.succeed(())
        }
    }
}

/// The options of an accepted channel that the TLS handler reads. They allow half-closure by the peer.
private struct AcceptedOptions: NIOSynchronousChannelOptions {
    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws {
        throw ChannelError.operationUnsupported
    }

    func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
        guard
            option is ChannelOptions.Types.AllowRemoteHalfClosureOption
                || option is ChannelOptions.Types.AutoReadOption,
            let isSet = true as? Option.Value
        else { throw ChannelError.operationUnsupported }
        return isSet
    }
}
