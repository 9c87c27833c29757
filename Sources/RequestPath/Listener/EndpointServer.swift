package import Endpoints
import NIOCore
import Observability
package import Settings
package import Transport
import Vocabulary

/// A separate listener that serves only endpoints of the gateway, without apps and sessions. It serves one host or any
/// host name.
///
/// It has its own `PathLoop`, connection limit and metrics. Its requests are not in the access log. Its handshakes and
/// PROXY headers are counted in the gateway's metrics.
package struct EndpointServer: Sendable {
    /// The maximum number of simultaneous connections.
    private static let connectionLimit = 64

    private let listener: Listener
    private let loops: PathLoops
    /// Creates the configuration for a list of endpoints.
    private let configure: @Sendable ([Endpoint], ListenerTLS?, [PublicURL]) throws -> PathConfiguration

    /// Starts the listener on one event loop.
    ///
    /// - Parameters:
    ///   - setting: The settings key that contains the address, for the error.
    ///   - clients: The gateway's loops, which count handshakes. `nil` in a process without a gateway.
    ///   - limits: The limits on connections from one address. `nil` if all clients may share one address, such as a
    ///     local proxy's.
    ///   - others: The URLs that the gateway serves at other addresses.
    /// - Throws: A `ListenerError` that names the address.
    package static func start(
        _ listener: ListenerSettings,
        setting: String,
        besides clients: PathLoops? = nil,
        limits: LimitSettings? = nil,
        tls: ListenerTLS? = nil,
        others: [PublicURL] = [],
        on eventLoop: TransportLoop,
        _ endpoints: [Endpoint]
    ) async throws -> EndpointServer {
        let registry = MetricsRegistry()
        let configure = { @Sendable (endpoints: [Endpoint], tls: ListenerTLS?, others: [PublicURL]) throws in
            try self.configuration(listener, limits, tls, endpoints, others, registry: registry)
        }
        let configuration = try configure(endpoints, tls, others)
        let loop = try await eventLoop.submit {
            let loop = PathLoop(
                eventLoop: eventLoop,
                configuration: configuration,
                sessions: nil,
                shard: registry.makeShard(on: eventLoop),
                accessLog: nil,
                sessionClock: .system,
                makePool: ServerGroup.maker(on: eventLoop)
            )
            loop.openings = clients?.loop(on: eventLoop)
            loop.start()
            return PathLoops.Place(loop, on: eventLoop)
        }.get()
        let loops = PathLoops([loop])
        let bound = try await Listener.bind(
            listener.address,
            setting: setting,
            loops: loops,
            gate: ConnectionGate(configuration.settings.limits, trusted: [])
        )
        return EndpointServer(listener: bound, loops: loops, configure: configure)
    }

    /// The port, including one that the system chose.
    package var port: Int { self.listener.port }

    /// A configuration with new endpoints that is not in use yet.
    package struct Prepared: Sendable {
        /// The loops that serve the endpoints.
        package let loops: PathLoops
        /// The configuration to be used.
        package let configuration: PathConfiguration
    }

    /// Creates the configuration with these endpoints.
    package func prepare(_ endpoints: [Endpoint], tls: ListenerTLS? = nil, others: [PublicURL] = []) throws -> Prepared
    {
        Prepared(loops: self.loops, configuration: try self.configure(endpoints, tls, others))
    }

    /// Stops accepting clients and closes every connection.
    package func close() async {
        await self.listener.close()
        await self.loops.onEach { $0.closeAll() }
    }

    private static func configuration(
        _ listener: ListenerSettings,
        _ limits: LimitSettings?,
        _ tls: ListenerTLS?,
        _ endpoints: [Endpoint],
        _ others: [PublicURL],
        registry: MetricsRegistry
    ) throws -> PathConfiguration {
        let address = listener.address
        let name = address.host.utf8.contains(UInt8(ascii: ":")) ? "[\(address.host)]" : address.host
        let host = HostSettings(
            publicURL: listener.publicURL ?? PublicURL(isHTTPS: false, host: name, port: address.port),
            endpoints: true,
            routes: []
        )
        var settings = Settings(hosts: [host], upstreams: [])
        settings.listen = [listener]
        settings.limits.connections = self.connectionLimit
        settings.limits.connectionsPerAddress = limits?.connectionsPerAddress ?? 0
        let routes =
            listener.publicURL == nil
            ? RouteTable(forAnyName: host) : RouteTable([host], upstreams: [], others: others)
        return PathConfiguration(
            settings: settings,
            routes: routes,
            endpoints: try EndpointTable(endpoints, forwarding: [], on: routes, upstreams: []),
            registry: registry,
            tls: [tls]
        )
    }
}
