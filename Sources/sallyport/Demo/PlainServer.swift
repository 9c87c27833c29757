import Endpoints
import NIOCore
import NIOHTTP1
import NIOPosix
import RequestPath
import Settings
import Synchronization

/// One complete request to a `PlainServer`.
struct PlainRequest: Sendable {
    var method: String
    /// Path and query as sent.
    var target: String
    /// Fields in order, as sent.
    var fields: [(name: String, value: String)]
    var body: [UInt8]

    /// The first value of the field `name`, compared case-insensitively.
    func field(_ name: String) -> String? {
        self.fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// The limits for clients of a `PlainServer`.
struct PlainLimits: Sendable {
    /// Open connections; more are closed at once.
    var connections = 256
    /// Bytes of a request's head; more is 431.
    var head = 131_072
    /// Bytes of a request's body; more is 413.
    var body = 1 << 20
    /// The time for each of: receiving a complete request (including idle time before it), making the answer, sending
    /// it. Longer than the gateway keeps an idle connection to an app.
    var step: TimeAmount = .seconds(60)
}

/// The small HTTP/1.1 server of the demo's app. Unlike the gateway, it hands over every field of a request as it came.
///
/// Each request is read completely and answered before the next. Clients cannot make it use more memory than its
/// limits.
final class PlainServer: Sendable {
    typealias Answer = @Sendable (PlainRequest) async -> EndpointResponse

    private let channel: any Channel
    private let clients: Clients

    /// Binds `address` and answers until `close`.
    ///
    /// - Throws: `PlainServerError` that names the address.
    static func start(
        _ address: ListenAddress,
        group: any EventLoopGroup,
        limits: PlainLimits = PlainLimits(),
        answer: @escaping Answer
    ) async throws -> PlainServer {
        let clients = Clients(limit: limits.connections)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard clients.admit(channel) else {
                        throw PlainServerError(description: "no room for a connection")
                    }
                    let budget = ByteBudget(limits.head + limits.body)
                    var decoder = NIOHTTPDecoderLimitConfiguration()
                    decoder.maxHeaderFieldSize = limits.head
                    decoder.maxHeaderListSize = limits.head
                    decoder.maxHeaderFieldCount = 128
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(budget)
                    try pipeline.configureHTTPServerPipeline(
                        withEncoderConfiguration: .init(),
                        withDecoderLimitConfiguration: decoder
                    )
                    try pipeline.addHandler(PlainHandler(limits: limits, budget: budget, answer: answer))
                }
            }
        let hosts = address.host.isEmpty ? ["::", "0.0.0.0"] : [address.host]
        var failure: (any Error)?
        for host in hosts {
            do {
                let channel = try await bootstrap.bind(host: host, port: address.port).get()
                return PlainServer(channel: channel, clients: clients)
            } catch {
                failure = error
            }
        }
        let reason = failure.map { ": \(ListenerError.reason($0))" } ?? ""
        throw PlainServerError(description: "\(address.host):\(address.port) cannot be bound\(reason)")
    }

    private init(channel: any Channel, clients: Clients) {
        self.channel = channel
        self.clients = clients
    }

    /// The port, including one that the system chose.
    var port: Int { self.channel.localAddress?.port ?? 0 }

    /// Stops accepting and closes every connection.
    func close() async {
        try? await self.channel.close().get()
        self.clients.closeAll()
    }
}

/// Why a `PlainServer` did not start.
struct PlainServerError: Error, CustomStringConvertible {
    let description: String
}

/// The open connections, counted before they may send any bytes.
private final class Clients: Sendable {
    private let open = Mutex<[ObjectIdentifier: any Channel]>([:])
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func admit(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let isAdmitted = self.open.withLock { open in
            guard open.count < self.limit else { return false }
            open[id] = channel
            return true
        }
        if isAdmitted {
            channel.closeFuture.whenComplete { _ in self.open.withLock { $0[id] = nil } }
        }
        return isAdmitted
    }

    func closeAll() {
        for channel in self.open.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}

/// Reads one request at a time and writes its answer.
private final class PlainHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: PlainLimits
    private let budget: ByteBudget
    private let answer: PlainServer.Answer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var deadline: Scheduled<Void>?
    private var task: Task<Void, Never>?

    init(limits: PlainLimits, budget: ByteBudget, answer: @escaping PlainServer.Answer) {
        self.limits = limits
        self.budget = budget
        self.answer = answer
    }

    func channelActive(context: ChannelHandlerContext) {
        self.arm(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.deadline?.cancel()
        self.task?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.budget.isRefusing { return }
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            self.body = []
            self.budget.stage = .body
            if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }), length > self.limits.body {
                self.refuseBody()
            } else if head.version == .http1_1, head.headers.first(name: "expect")?.lowercased() == "100-continue" {
                self.budget.invite()
            }
        case .body(let bytes):
            self.body += bytes.readableBytesView
            if self.body.count > self.limits.body { self.refuseBody() }
        case .end:
            guard let head = self.head, context.channel.isActive else { return }
            self.budget.stage = .answering
            self.arm(context)
            self.begin(head, context)
        }
    }

    private func refuseBody() {
        self.head = nil
        self.body = []
        self.budget.refuse("413 Content Too Large")
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let request = PlainRequest(
            method: head.method.rawValue,
            target: head.uri,
            fields: head.headers.map { ($0.name, $0.value) },
            body: self.body
        )
        let eventLoop = context.eventLoop
        let place = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
        let answer = self.answer
        self.task = Task {
            let response = await answer(request)
            eventLoop.execute { place.value.handler.finish(head, response, place.value.context) }
        }
    }

    private func finish(_ request: HTTPRequestHead, _ response: EndpointResponse, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        self.task = nil
        self.head = nil
        self.body = []
        var head = HTTPResponseHead(
            version: request.version,
            status: HTTPResponseStatus(statusCode: response.status)
        )
        for field in response.fields { head.headers.add(name: field.name, value: field.value) }
        if response.status != 204 { head.headers.add(name: "content-length", value: String(response.body.count)) }
        if !request.isKeepAlive { head.headers.add(name: "connection", value: "close") }
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD, response.status != 204 {
            let body = context.channel.allocator.buffer(bytes: response.body)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        self.budget.renew()
        let written = context.eventLoop.makePromise(of: Void.self)
        let place = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let keepsAlive = request.isKeepAlive
        written.futureResult.whenComplete { _ in
            let (handler, context) = place.value
            if keepsAlive { handler.arm(context) } else { context.close(promise: nil) }
        }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: written)
    }

    /// Begins a step: when its time is over, the connection closes.
    private func arm(_ context: ChannelHandlerContext) {
        self.deadline?.cancel()
        let place = NIOLoopBound(context, eventLoop: context.eventLoop)
        self.deadline = context.eventLoop.scheduleTask(in: self.limits.step) { place.value.close(promise: nil) }
    }
}
