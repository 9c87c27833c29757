import Glibc
import NIOCore
import NIOSSL
import Settings
import Transport
import Vocabulary

/// Opens streams to the server.
extension ServerPool {
    /// A connected stream and its address. The caller must start the stream at once.
    typealias Connected = (stream: any ByteStream, address: SocketAddress)

    /// The reason why a stream could not be opened.
    enum Missing: Error {
        case server(ServerNotice.Fault)
        /// The server did not answer within the timeout.
        case late(ServerNotice.Fault)
        /// The process had no file descriptor left.
        case file
        /// The system had no local port left.
        case port

        var fault: ServerNotice.Fault {
            switch self {
            case .server(let fault), .late(let fault): fault
            case .file, .port: .unreachable
            }
        }

        /// Whether the gateway's own machine is the reason, which says nothing about the server.
        var isOwn: Bool {
            switch self {
            case .server, .late: false
            case .file, .port: true
            }
        }
    }

    /// Connects to the first address that answers, with TLS if the app uses it.
    ///
    /// - Parameters:
    ///   - timeout: The time limit for each address. TLS gets the rest of this time, at least a quarter.
    ///   - accepted: Called when the server has accepted the connection and TLS begins.
    ///   - then: Called once, after this function has returned unless `addresses` is empty. It is not called if the
    ///     returned race is cancelled before the server has accepted the connection.
    @discardableResult
    func connectStream(
        _ addresses: [SocketAddress],
        within timeout: TimeAmount,
        accepted: @escaping () -> Void = {},
        _ then: @escaping (Result<Connected, Missing>) -> Void
    ) -> ConnectionRace {
        let tls = self.target.tls
        let end = NIODeadline.now() + timeout
        let memory = self.server.memory
        let race = ConnectionRace(addresses, on: self.transport, timeout: timeout, memory: memory) { result in
            do {
                let (socket, address) = try result.get()
                guard let tls else { return then(.success((socket, address))) }
                let stream = try self.beginTLS(tls, socket, address)
                accepted()
                // The handshake gets some time even if the first addresses have used up the timeout.
                let patience = max(end - .now(), .nanoseconds(timeout.nanoseconds / 4))
                self.awaitTLS(on: stream, for: patience) { missing in
                    then(missing.map { .failure($0) } ?? .success((stream, address)))
                }
            } catch {
                then(.failure(self.missing(after: error)))
            }
        }
        race.start()
        return race
    }

    /// Begins TLS on a connected socket.
    private func beginTLS(_ tls: NIOSSLContext, _ socket: StreamSocket, _ address: SocketAddress) throws -> TLSStream {
        let name = self.server.tlsName
        let host = self.server.settings.host
        let hasCertificate = self.target.settings.certificateFile != nil
        let stream = TLSStream(socket) { error, certificate in
            TLSFault(
                error,
                name: name ?? host,
                hasCertificate: hasCertificate,
                certificate: certificate,
                now: Clock.system.now()
            )
        }
        _ = try PipelineChannel.begin(socket, to: address) { channel in
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: name)
            try channel.pipeline.syncOperations.addHandlers(handler, stream)
        }
        return stream
    }

    /// Returns the reason why a connect failed. Closes idle connections if the process has no file descriptor left.
    private func missing(after error: any Error) -> Missing {
        if case ChannelError.connectTimeout = error { return .late(.unreachable) }
        if let error = error as? NoLocalPort {
            self.room.notify(.upstreamUnreachable, error.description)
            return .port
        }
        guard let code = (error as? IOError)?.errnoCode, code == EMFILE || code == ENFILE else {
            return .server(.unreachable)
        }
        self.loop.ranOutOfFiles()
        return .file
    }

    /// Waits until the TLS handshake is complete, has failed or has taken too long.
    ///
    /// - Parameter then: Called with the reason of a failure, or with `nil`.
    private func awaitTLS(on stream: TLSStream, for patience: TimeAmount, _ then: @escaping (Missing?) -> Void) {
        // The connection may have ended while TLS began.
        guard stream.isOpen else { return then(.server(stream.fault == nil ? .reset : .tls)) }
        let timer = self.transport.assumeIsolated().scheduleTask(in: patience) { stream.giveUp() }
        stream.onHandshake = { isComplete in
            timer.cancel()
            if let fault = stream.fault { self.room.notify(.upstreamTLS, fault.description) }
            if isComplete { return then(nil) }
            then(stream.fault == .late ? .late(.tls) : .server(stream.fault == nil ? .reset : .tls))
        }
    }

    /// Connects to find out whether the server is up, and closes the connection. Calls `then` once, unless the
    /// gateway's own machine keeps it from connecting.
    func seek(_ then: @escaping (Bool) -> Void) {
        self.connectStream(self.server.current.all, within: self.loop.configuration.connectTimeout) { result in
            switch result {
            case .success(let connected): connected.stream.close()
            case .failure(let missing) where missing.isOwn: return
            case .failure: self.server.refreshSoon(now: .now())
            }
            then((try? result.get()) != nil)
        }
    }

    /// Runs a health check of the server.
    ///
    /// - Parameter then: Called once with the reason why the server is down. The reason is `nil` if the server is up.
    func check(_ health: HealthSettings, _ then: @escaping (CheckFault?) -> Void) {
        let timeout = TimeAmount(health.timeout)
        let check = HealthCheck(health, of: self.server.settings, then)
        check.timer = self.transport.assumeIsolated().scheduleTask(in: timeout) { check.end(.timeout) }
        self.connectStream(self.server.current.all, within: timeout) { result in
            switch result {
            case .success(let connected): check.start(on: connected.stream)
            case .failure(let missing) where missing.isOwn: check.end(.notMade)
            case .failure(let missing):
                self.server.refreshSoon(now: .now())
                check.end(missing.fault == .tls ? .tls : .unreachable)
            }
        }
    }
}
