import NIOCore
import NIOHTTP1
import NIOSSL
import Settings
import Vocabulary

/// Sends calls over the network.
package struct HTTPProviderTransport: ProviderTransport {
    let client: ProviderHTTPClient
    let trust: ProviderTrust
    /// Whether calls may go to other machines without TLS, as inside a network of containers.
    var allowsPlainHTTP = false
    /// The proxies of the network.
    var proxies = OutgoingProxies()

    package func send(_ call: ProviderCall) async throws(ProviderCallError) -> ProviderAnswer {
        let url: ProviderURL
        do {
            url = try ProviderURL(call.url, allowsPlainHTTP: self.allowsPlainHTTP)
        } catch {
            throw ProviderCallError(isUnsent: true, detail: "the URL of the call cannot be used: \(error)")
        }
        guard call.hasWellFormedFields else {
            throw ProviderCallError(isUnsent: true, detail: "the call of \(url.host) has a field that cannot be sent")
        }
        guard self.client.isOpen else {
            throw ProviderCallError(ProviderClientEnded(), of: url.host, isUnsent: true)
        }
        var tls = url.isHTTPS ? self.trust.context : nil
        if url.isHTTPS, tls == nil {
            do {
                tls = try await offLoop { Result { try self.trust.makeContext() } }.get()
            } catch {
                let detail = "TLS with \(url.host) is impossible: the system has no certificates to trust"
                throw ProviderCallError(isUnsent: true, detail: detail, cause: .tls)
            }
        }
        let (loop, connections) = (self.client.loop, self.client.connections)
        let exchange = ProviderExchange(call, to: ProviderServer(url, tls: tls, proxies: self.proxies), url, on: loop)
        do {
            return try await withTaskCancellationHandler {
                loop.execute { connections.value.begin(exchange) }
                return try await exchange.answer.get()
            } onCancel: {
                loop.execute { exchange.fail(CancellationError()) }
            }
        } catch {
            // The exchange has no other errors.
            throw (error as? ProviderCallError) ?? ProviderCallError(error, of: url.host, isUnsent: true)
        }
    }
}

extension ProviderCall {
    /// Whether the names and values of the fields have the syntax of HTTP (RFC 9110 5.1 and 5.5), so that none of them
    /// becomes two.
    fileprivate var hasWellFormedFields: Bool {
        self.fields.allSatisfy { name, value in
            !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
                && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }
        }
    }
}
