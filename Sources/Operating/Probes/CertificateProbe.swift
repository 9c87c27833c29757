import Calls
import NIOCore
import NIOSSL
import Providers
import RedisStore
import Transport
import Vocabulary

/// Finds out why a server's certificate is not trusted, over a connection of its own that sends nothing.
enum CertificateProbe {
    private static let patience = TimeAmount.seconds(2)
    /// Where all probes run. `nil` if the system has no thread for it.
    private static let loop = try? TransportGroup(count: 1).next()

    /// What is wrong with the times of the certificates; nil: nothing, so their authority is the reason.
    static func fault(of url: EndpointURL, now: UnixTime) async -> String? {
        guard let loop = self.loop else { return nil }
        let validities = (try? await Self.validities(url, on: loop).get()) ?? []
        return self.fault(of: validities, now: now, mend: "renew it")
    }

    /// The same of certificates that a server has shown, its own first.
    ///
    /// - Parameter mend: What to do about its own if that has expired.
    static func fault(of validities: [RedisDiagnosis.Validity], now: UnixTime, mend: String) -> String? {
        guard let own = validities.first else { return nil }
        if own.until < now { return "its certificate expired on \(own.until.day): \(mend)" }
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
            // No certificate is accepted: the handshake ends before anything is sent.
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
