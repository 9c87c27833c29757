import AddressIntelligence
import Endpoints
import NIOCore
import NIOEmbedded
import Observability
import RequestPath
import Settings
import TestSupport
import Transport
import Vocabulary

/// Bytes of a client of HTTP/2, behind its preface: whatever frames they are, the session reads or refuses them, what it sends
/// are whole frames, and nothing of the connection is left when it has closed.
enum HTTP2FrameFuzzing {
    static func frames(_ bytes: [UInt8]) -> String? {
        guard let bench = Bench() else { return "a connection cannot be made" }
        bench.stream.come(ClientFrames.preface)
        // In two pieces, so that frames are also cut.
        bench.stream.come(Array(bytes.prefix(bytes.count / 2)))
        bench.eventLoop.run()
        bench.stream.come(Array(bytes.dropFirst(bytes.count / 2)))
        bench.eventLoop.run()
        bench.connection.sweep(.now() + .seconds(3))
        bench.eventLoop.run()
        bench.connection.closeNow()
        bench.eventLoop.run()
        if bench.loop.busyCount != 0 { return "a connection that has closed is busy" }
        return self.fault(in: bench.stream.sent)
    }

    /// The frames that the gateway sent.
    private static func fault(in bytes: [UInt8]) -> String? {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard rest.count >= 9 else { return "half the head of a frame was sent" }
            let length = rest.prefix(3).reduce(0) { $0 << 8 | Int($1) }
            guard length <= 16_384 else { return "a frame is larger than clients take" }
            guard rest.count >= 9 + length else { return "half a frame was sent" }
            rest = rest.dropFirst(9 + length)
        }
        return nil
    }

    /// A connection on a loop without apps: requests are judged as far as their routes, and answered.
    private final class Bench {
        let eventLoop = EmbeddedEventLoop()
        let stream = Stream()
        let loop: PathLoop
        let connection: HTTP2Connection

        init?() {
            let url = PublicURL(isHTTPS: false, host: "a.example", port: 80)
            let host = HostSettings(publicURL: url, endpoints: false, routes: [])
            let settings = Settings(hosts: [host], upstreams: [])
            let registry = MetricsRegistry()
            let routes = RouteTable(forAnyName: host)
            guard let endpoints = try? EndpointTable([], forwarding: [], on: routes, upstreams: []),
                let address = IPAddress("192.0.2.1")
            else { return nil }
            let configuration = PathConfiguration(
                settings: settings,
                routes: routes,
                endpoints: endpoints,
                registry: registry
            )
            self.loop = PathLoop(
                eventLoop: self.eventLoop,
                configuration: configuration,
                sessions: nil,
                shard: registry.makeShard(on: self.eventLoop),
                accessLog: nil,
                sessionClock: .system,
                makePool: { _, _, _ in preconditionFailure("there are no apps") }
            )
            let gate = ConnectionGate(settings.limits, trusted: [])
            gate.reserve()
            guard let place = gate.name(address, now: NIODeadline.now()) else { return nil }
            self.connection = HTTP2Connection(
                loop: self.loop,
                stream: self.stream,
                place: place,
                acceptedAt: .now(),
                isSecure: false
            )
            self.connection.open()
        }
    }

    /// The stream of a client without a socket.
    private final class Stream: ClientByteStream {
        private var handler: (any StreamHandler)?
        private(set) var sent: [UInt8] = []
        let isWritable = true
        let hasUnreadBytes = false
        let unacknowledgedBytes = 0
        let unsentBytes = 0
        private(set) var isPaused = false

        func start(_ handler: any StreamHandler) { self.handler = handler }
        func write(_ bytes: ByteBuffer) { self.sent += bytes.readableBytesView }
        func writeAndFlush(_ bytes: ByteBuffer) { self.write(bytes) }
        func flush() {}
        func pause() { self.isPaused = true }
        func resume() { self.isPaused = false }
        func endOutput() {}
        func reset() { self.close() }
        func close() { self.handler.take()?.closed(isClean: true) }

        func come(_ bytes: [UInt8]) {
            guard !bytes.isEmpty else { return }
            var buffer = ByteBuffer(bytes: bytes)
            self.handler?.received(&buffer)
        }
    }
}

extension EmbeddedEventLoop: TurnLoop {
    func atTurnEnd(_ task: any TurnEndTask) {
        nonisolated(unsafe) let task = task
        self.execute { task.turnEnded() }
    }

    var taskExecutor: (any TaskExecutor)? { nil }
}
