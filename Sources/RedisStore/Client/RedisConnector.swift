package import NIOCore
import NIOSSL
import Synchronization
import Transport

/// Opens connections to any server of one configuration, with TLS if the configuration says so.
package struct RedisConnector: Sendable {
    /// The configuration from the start of the process. Its credentials may be out of date: see `current`.
    package let configuration: RedisConfiguration
    private let latest: Latest
    private let tls: NIOSSLContext?

    /// - Throws: An error of NIOSSL if a certificate, key or authority file cannot be used.
    package init(_ configuration: RedisConfiguration) throws {
        self.configuration = configuration
        self.latest = Latest(configuration)
        self.tls = try configuration.tls.map { try NIOSSLContext(configuration: Self.context($0)) }
    }

    /// The configuration with the latest users and passwords. New connections use them to sign in.
    package var current: RedisConfiguration { self.latest.configuration.withLock { $0 } }

    /// Uses the users and passwords of another configuration for new connections, in all copies of this connector.
    package func adoptCredentials(of other: RedisConfiguration) {
        self.latest.configuration.withLock { $0.adoptCredentials(of: other) }
    }

    /// The state that all copies of a connector share.
    private final class Latest: Sendable {
        let configuration: Mutex<RedisConfiguration>

        init(_ configuration: RedisConfiguration) {
            self.configuration = Mutex(configuration)
        }
    }

    /// Opens a channel to `endpoint` on `loop`, a loop of a `TransportGroup`, within the connect timeout. With TLS, the
    /// pipeline contains the TLS handler, and the handshake may still be running. Without TLS, the pipeline is empty.
    package func connect(to endpoint: RedisEndpoint, on loop: any EventLoop) -> EventLoopFuture<any Channel> {
        self.connect(to: endpoint, on: loop) { channel in
            guard let tls = self.tls else { return }
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: self.serverName(endpoint))
            try channel.pipeline.syncOperations.addHandler(handler)
        }
    }

    /// Opens a channel to `endpoint`. Only `prepare` adds handlers to the pipeline, including any for TLS.
    func connect(
        to endpoint: RedisEndpoint,
        on loop: any EventLoop,
        prepare: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        let timeout = TimeAmount(self.configuration.connectTimeout)
        let connected: EventLoopFuture<PipelineChannel>
        switch endpoint {
        case .tcp(let host, let port):
            // An IP address does not go through the resolver, whose threads may all be waiting for name servers.
            if let address = try? SocketAddress(ipAddress: host, port: port) {
                connected = PipelineChannel.connect(to: address, on: loop, timeout: timeout, prepare)
            } else {
                connected = PipelineChannel.connect(toHost: host, port: port, on: loop, timeout: timeout, prepare)
            }
        case .unix(let path):
            do {
                let address = try SocketAddress(unixDomainSocketPath: path)
                connected = PipelineChannel.connect(to: address, on: loop, timeout: timeout, prepare)
            } catch {
                return loop.makeFailedFuture(error)
            }
        }
        return connected.map { $0 }
    }

    /// Connects, and calls `adopt` on `loop` to add the owner's handler to the new channel's pipeline. If the connect
    /// or `adopt` fails, calls `failed` with the cause.
    func open(
        to endpoint: RedisEndpoint,
        on loop: any EventLoop,
        adopt: @escaping (any Channel) throws -> Void,
        failed: @escaping (RedisError.Cause) -> Void
    ) {
        let owner = NIOLoopBound((adopt, failed), eventLoop: loop)
        self.connect(to: endpoint, on: loop).whenComplete { result in
            let (adopt, failed) = owner.value
            guard case .success(let channel) = result else { return failed(.notConnected) }
            do {
                try adopt(channel)
            } catch {
                channel.close(promise: nil)
                failed(.closed)
            }
        }
    }

    /// Returns the name for SNI: the configured name, or the host. `nil` for a Unix socket, and for an IP address.
    func serverName(_ endpoint: RedisEndpoint) -> String? {
        if let name = self.configuration.tls?.serverName { return name }
        guard case .tcp(let host, _) = endpoint else { return nil }
        return (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
    }

    private static func context(_ tls: RedisConfiguration.TLS) throws -> TLSConfiguration {
        var context = TLSConfiguration.makeClientConfiguration()
        context.minimumTLSVersion = .tlsv12
        if let file = tls.authorityFile { context.trustRoots = .file(file) }
        if let file = tls.certificateFile {
            context.certificateChain = try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) }
        }
        if let file = tls.keyFile {
            context.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
        }
        return context
    }
}

extension TimeAmount {
    /// Converts a duration and drops fractions of a nanosecond.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
