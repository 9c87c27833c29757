package import NIOCore
package import Observability
package import Settings
import Synchronization

/// The connections of the process to providers: HTTP/1.1, TLS 1.2 and later, no redirects; directly, or through the proxies
/// that a transport is given.
///
/// One is made for the process, and kept across reloads of the configuration.
package final class CallClient: Sendable {
    let loop: any EventLoop
    let connections: NIOLoopBoundBox<CallConnections>
    /// Whether calls are not sent any more: the loop may have ended.
    private let isShutDown = Atomic(false)

    /// - Parameters:
    ///   - group: A `TransportGroup`, of which one loop has the connections. A handshake takes a millisecond, so it had
    ///     better be no loop that serves requests.
    ///   - idleTime: How long a connection waits for another call: shorter than most servers keep idle ones (2 s and more),
    ///     so that few calls have to be sent again.
    package init(group: any EventLoopGroup, idleTime: TimeAmount = .seconds(1)) {
        self.loop = group.next()
        self.connections = .makeBoxSendingValue(CallConnections(idleTime: idleTime), eventLoop: self.loop)
    }

    /// A transport over these connections.
    ///
    /// - Parameters:
    ///   - caFile: The PEM file of the certificates to trust instead of the system's; it is read now.
    ///   - certificate: The PEM files of a certificate and its key, for servers that ask for one; they are read now.
    ///   - allowsPlainHTTP: Whether calls may go to other machines without TLS.
    ///   - proxies: The proxies of the network.
    ///   - registry: Counts the calls; nil: they are not counted.
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

    /// Whether calls can be sent.
    var isOpen: Bool { !self.isShutDown.load(ordering: .relaxed) }

    /// Closes all connections. Calls that are under way fail, and later ones are not sent.
    package func shutdown() async {
        guard !self.isShutDown.exchange(true, ordering: .relaxed) else { return }
        try? await self.loop.submit { self.connections.value.shutDown() }.get()
    }
}

/// A file for TLS to a provider cannot be used.
package struct CallTLSError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}
