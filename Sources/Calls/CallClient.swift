package import NIOCore
package import Observability
package import Settings
import Synchronization

/// The HTTP/1.1 client for calls to providers, with TLS and optional proxies. It does not follow redirects. A gateway
/// has one client, which stays across reloads.
package final class CallClient: Sendable {
    let loop: any EventLoop
    let connections: NIOLoopBoundBox<CallConnections>
    /// True after `shutdown`. No more calls are sent, because the loop may have ended.
    private let isShutDown = Atomic(false)

    /// - Parameters:
    ///   - group: A `TransportGroup`. The connections run on one of its loops. This loop should not serve requests,
    ///     because TLS handshakes block it for a millisecond.
    ///   - idleTime: The idle timeout. It is shorter than that of most servers, so that few calls must be retried.
    package init(group: any EventLoopGroup, idleTime: TimeAmount = .seconds(1)) {
        self.loop = group.next()
        self.connections = .makeBoxSendingValue(CallConnections(idleTime: idleTime), eventLoop: self.loop)
    }

    /// Makes a transport that uses this client's connections.
    ///
    /// - Parameters:
    ///   - caFile: A PEM file with authorities to trust instead of the system's. Read at once.
    ///   - certificate: The PEM files of a client certificate and its key. Read at once.
    ///   - allowsPlainHTTP: True to allow http for hosts other than loopback.
    ///   - registry: Counts the calls; `nil` to count nothing.
    /// - Throws: `CallTLSError` for a file that cannot be used.
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

    /// Closes all connections. Current and later calls fail.
    package func shutdown() async {
        guard !self.isShutDown.exchange(true, ordering: .relaxed) else { return }
        try? await self.loop.submit { self.connections.value.shutDown() }.get()
    }
}

/// A file cannot be used for TLS with a provider.
package struct CallTLSError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}
