import AsyncHTTPClient
package import NIOCore
import NIOSSL

/// The connections of the process to providers: HTTP/1.1, TLS 1.2 and later, no redirects and no proxy, also none that
/// the environment names.
///
/// One is made for the process, and kept across reloads of the configuration.
package final class ProviderHTTPClient: Sendable {
    let client: HTTPClient

    /// - Parameter group: The loops of the connections.
    package init(group: any EventLoopGroup) {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(4)),
            // Shorter than servers keep idle connections (2 s and more). Otherwise a request could be sent on a
            // connection that the server is closing, and it would be unknown whether a refresh token was used.
            connectionPool: .init(idleTimeout: .seconds(1), concurrentHTTP1ConnectionsPerHostSoftLimit: 8)
        )
        configuration.httpVersion = .http1Only
        // The callers decide when to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        self.client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    deinit {
        self.client.shutdown { _ in }
    }

    /// A transport over these connections.
    ///
    /// - Parameters:
    ///   - caFile: The PEM file of the certificates to trust instead of the system's; it is read now.
    ///   - allowsPlainHTTP: Whether calls may go to other machines without TLS.
    /// - Throws: `ProviderTLSError`, which names the file.
    package func transport(
        caFile: String? = nil,
        allowsPlainHTTP: Bool = false
    ) throws(ProviderTLSError) -> HTTPProviderTransport {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let caFile {
            do {
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(caFile))
            } catch {
                throw ProviderTLSError(description: "ca_file: \(caFile) cannot be used: \(error)")
            }
        }
        return HTTPProviderTransport(client: self, tls: tls, allowsPlainHTTP: allowsPlainHTTP)
    }

    /// Closes all connections. Calls that are under way fail.
    package func shutdown() async {
        try? await self.client.shutdown()
    }
}

/// A file for TLS to a provider cannot be used.
package struct ProviderTLSError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}
