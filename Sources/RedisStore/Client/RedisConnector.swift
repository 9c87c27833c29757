package import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Opens connections to any server of one configuration, over TLS where it says so.
package struct RedisConnector: Sendable {
    package let configuration: RedisConfiguration
    private let tls: NIOSSLContext?

    /// - Throws: what NIOSSL says of a certificate, key or authority file that cannot be used.
    package init(_ configuration: RedisConfiguration) throws {
        self.configuration = configuration
        self.tls = try configuration.tls.map { try NIOSSLContext(configuration: Self.context($0)) }
    }

    /// A channel to `endpoint` with TLS and nothing else in its pipeline; its handshake may still be under way. Host names
    /// are resolved off the loop, and addresses tried one after the other, within the connect timeout.
    package func connect(to endpoint: RedisEndpoint, on loop: any EventLoop) -> EventLoopFuture<any Channel> {
        self.connect(to: endpoint, on: loop) { channel in
            guard let tls = self.tls else { return }
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: self.serverName(endpoint))
            try channel.pipeline.syncOperations.addHandler(handler)
        }
    }

    /// The same whatever the configuration says of TLS: with what `prepare` puts into the pipeline.
    func connect(
        to endpoint: RedisEndpoint,
        on loop: any EventLoop,
        prepare: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(self.configuration.connectTimeout))
            // Called for each address that is tried: only the channel that connects lives on.
            .channelInitializer { channel in channel.eventLoop.makeCompletedFuture { try prepare(channel) } }
        switch endpoint {
        case .tcp(let host, let port):
            let bootstrap = bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // An address needs no resolver, whose threads may all be waiting for name servers just now.
            if let address = try? SocketAddress(ipAddress: host, port: port) { return bootstrap.connect(to: address) }
            return bootstrap.connect(host: host, port: port)
        case .unix(let path):
            return bootstrap.connect(unixDomainSocketPath: path)
        }
    }

    /// Connects for an owner that lives on `loop`, and tells it there: either `adopt`, which puts the owner's handler into
    /// the new channel's pipeline, or why there is no connection.
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

    /// The name for SNI; nil for an address, which is then verified as an address.
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
    /// The duration in whole nanoseconds.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
