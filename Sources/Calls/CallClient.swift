package import NIOCore
package import Observability
package import Settings
import Synchronization

/// The process's HTTP/1.1 client for providers, with TLS 1.2 or later and optional proxies. It follows no redirects.
///
/// The process makes one client and keeps it across reloads of the configuration.
package final class CallClient: Sendable {
    let loop: any EventLoop
    let connections: NIOLoopBoundBox<CallConnections>
    /// Whether the client has shut down. It then sends no calls, because its loop may have ended.
    private let isShutDown = Atomic(false)

    /// - Parameters:
    ///   - group: A `TransportGroup`. One of its loops runs the connections. A handshake takes a millisecond, so this
    ///     should not be a loop that serves requests.
    ///   - idleTime: The idle timeout of a connection. It is shorter than the timeout of most servers (2 s and more),
    ///     so that few calls are retried.
    package init(group: any EventLoopGroup, idleTime: TimeAmount = .seconds(1)) {
        self.loop = group.next()
        self.connections = .makeBoxSendingValue(CallConnections(idleTime: idleTime), eventLoop: self.loop)
    }

    /// Makes a transport that uses the connections of this client.
    ///
    /// - Parameters:
    ///   - caFile: The PEM file with the certificates to trust instead of the system's. The file is read immediately.
    ///   - certificate: The PEM files of a client certificate and its key. The files are read immediately.
    ///   - allowsPlainHTTP: Whether calls may go to other machines without TLS.
    ///   - proxies: The HTTP proxies that calls go through.
    ///   - registry: The registry that counts the calls. `nil` disables the counters.
    /// - Throws: `CallTLSError`, which names the file.
    package func transport(
        caFile: String? = nil,
        certificate: (chain: String, key: String)? = nil,
        allowsPlainHTTP: Bool = false,
        proxies: OutgoingProxies = OutgoingProxies(),
        countedIn registry: MetricsRegistry? = nil
    ) throws(CallTLSError) -> HTTPCallTransport {
        do {
            return HTTPCallTransport(
                self,
                trust: try CallTrust(caFile: caFile, certificate: certificate),
                allowsPlainHTTP: allowsPlainHTTP,
                proxies: proxies,
                registry: registry
            )
        } catch {
            let others = certificate.map { ", client_certificate_file: \($0.chain), client_key_file" } ?? ""
            throw CallTLSError(description: "ca_file: \(caFile ?? "none")\(others) cannot be used: \(error)")
        }
    }

    var isOpen: Bool { !self.isShutDown.load(ordering: .relaxed) }

    /// Closes all connections. Calls that are under way fail, and later calls are not sent.
    package func shutdown() async {
        guard !self.isShutDown.exchange(true, ordering: .relaxed) else { return }
        try? await self.loop.submit { self.connections.value.shutDown() }.get()
    }
}

/// An error for a file that cannot be used for TLS to a provider.
package struct CallTLSError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}
