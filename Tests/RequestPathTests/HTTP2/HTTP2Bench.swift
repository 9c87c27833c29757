import AddressIntelligence
import NIOCore
import NIOEmbedded
import RequestPath
import Settings
import TestSupport
import Testing

/// A connection of HTTP/2 without a socket: frames in, frames out. The app has scripted connections.
final class HTTP2Bench {
    let bench: ExchangeBench
    let stream = ScriptedStream()
    let connection: HTTP2Connection
    private let reader: ServerFrames

    /// - Parameter opens: Whether the client has sent its preface and these settings.
    init(
        opens: Bool = true,
        client settings: [(id: UInt16, value: UInt32)] = [],
        bench: ExchangeBench? = nil,
        _ change: (inout Settings) -> Void = { _ in }
    ) throws {
        self.bench = try bench ?? ExchangeBench([], change)
        self.reader = try ServerFrames()
        let gate = ConnectionGate(LimitSettings(), trusted: [])
        gate.reserve()
        let address = try #require(IPAddress("192.0.2.1"))
        self.connection = HTTP2Connection(
            loop: self.bench.loop,
            stream: self.stream,
            place: try #require(gate.name(address, now: .now())),
            acceptedAt: .now() - .seconds(2),
            isSecure: false
        )
        self.connection.open()
        if opens { _ = self.come(.opening(settings).settingsAck()) }
    }

    deinit {
        self.stream.close()
    }

    /// Frames of the client, and what the gateway answers in the same turn.
    @discardableResult
    func come(_ frames: ClientFrames) -> [ServerFrame] {
        self.stream.come(frames.bytes)
        return self.sent()
    }

    /// What the gateway has sent since the last call.
    func sent() -> [ServerFrame] {
        // What is sent may be followed by more in the next turn.
        for _ in 0..<4 { self.bench.eventLoop.run() }
        return self.reader.read(self.stream.sentBytes())
    }

    /// The next connection to the app.
    func app() -> ScriptedApp {
        let app = ScriptedApp()
        self.bench.pool.kept.append(app)
        return app
    }
}

extension [ServerFrame] {
    /// The status of the answer on a stream; nil: none has begun.
    func status(_ stream: UInt32 = 1) -> String? {
        self.lazy.filter { $0.stream == stream && $0.kind == 1 }.last?.fields.first { $0.name == ":status" }?.value
    }

    /// The content that was sent on a stream.
    func content(_ stream: UInt32 = 1) -> String {
        String(decoding: self.filter { $0.stream == stream && $0.kind == 0 }.flatMap(\.payload), as: UTF8.self)
    }

    /// The code with which a stream was reset; nil: it was not.
    func reset(_ stream: UInt32 = 1) -> UInt32? { self.first { $0.kind == 3 && $0.stream == stream }?.code }

    /// The code with which the connection ends; nil: it does not.
    var goAway: UInt32? { self.last { $0.kind == 7 }?.code }

    func hasEnded(_ stream: UInt32 = 1) -> Bool { self.contains { $0.stream == stream && $0.endsStream } }
}
