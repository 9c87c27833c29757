import Calls
import NIOCore
import NIOSSL
import Providers
import RedisStore
import Transport
import Vocabulary

/// Finds out why a server's certificate is not trusted, by a TLS handshake that ends before any data is sent.
enum CertificateProbe {
    private static let patience = TimeAmount.seconds(2)
    /// The event loop of all probes; `nil` if the system has no thread for it.
    private static let loop = try? TransportGroup(count: 1).next()

    /// Returns the fault in the validity periods of a server's certificates; `nil` if none is found. In that case, the
    /// authority is probably not trusted.
    static func fault(of url: EndpointURL, now: UnixTime) async -> String? {
        guard let loop = self.loop else { return nil }
        let validities = (try? await Self.validities(url, on: loop).get()) ?? []
        return self.fault(of: validities, now: now, fix: "renew it")
    }

    /// Returns the fault in the validity periods of a certificate chain; `nil` if they have none.
    ///
    /// - Parameters:
    ///   - validities: The validity periods, beginning with the server's own certificate.
    ///   - fix: What to do if the server's own certificate has expired.
    static func fault(of validities: [RedisDiagnosis.Validity], now: UnixTime, fix: String) -> String? {
        guard let own = validities.first else { return nil }
        if own.until < now { return "its certificate expired on \(own.until.day): \(fix)" }
        if own.from > now {
            return "its certificate is valid only from \(own.from.day): are its clock and this machine's clock right?"
        }
        guard let former = validities.dropFirst().first(where: { $0.until < now }) else { return nil }
        return "an authority between its certificate and a trusted one expired on \(former.until.day): renew it"
    }

    private static func validities(_ url: EndpointURL, on loop: any EventLoop) -> EventLoopFuture<
        [RedisDiagnosis.Validity]
    > {
        let answer = loop.makePromise(of: [RedisDiagnosis.Validity].self)
        let isAddress = url.host.utf8.contains(UInt8(ascii: ":")) || (url.host.last?.isNumber ?? false)
        let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        let port = url.port ?? 443
        let connected = PipelineChannel.connect(toHost: host, port: port, on: loop, timeout: self.patience) { channel in
            // Every certificate is rejected: the handshake ends before any data is sent.
            let handler = try NIOSSLClientHandler(
                context: try NIOSSLContext(configuration: .makeClientConfiguration()),
                serverHostname: isAddress ? nil : host,
                customVerificationCallback: { certificates, verdict in
                    answer.succeed(certificates.map { RedisDiagnosis.Validity($0) })
                    verdict.succeed(.failed)
                }
            )
            try channel.pipeline.syncOperations.addHandler(handler)
        }
        connected.whenFailure { answer.fail($0) }
        connected.whenSuccess { channel in
            let timer = loop.scheduleTask(in: self.patience) { channel.close(promise: nil) }
            channel.closeFuture.whenComplete { _ in
                timer.cancel()
                answer.fail(ChannelError.eof)
            }
        }
        return answer.futureResult
    }
}
