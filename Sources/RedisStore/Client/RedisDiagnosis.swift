package import NIOCore
package import NIOSSL
package import Vocabulary

/// Diagnoses a server that does not answer as configured. The server is asked over separate connections that carry no
/// secret, because it may be any program.
package enum RedisDiagnosis {
    /// The period in which a certificate is valid.
    package struct Validity: Sendable, Hashable {
        /// The first valid moment.
        package let from: UnixTime
        /// The last valid moment.
        package let until: UnixTime

        package init(_ certificate: NIOSSLCertificate) {
            self.from = UnixTime(seconds: Int64(certificate.notValidBefore))
            self.until = UnixTime(seconds: Int64(certificate.notValidAfter))
        }
    }

    /// The time within which the server must send something, unless the connect timeout is shorter.
    private static let patience = Duration.seconds(1)

    /// Returns up to 64 bytes of the reply to a `PING` without TLS; empty without a reply. The future always succeeds.
    package static func firstBytes(
        of endpoint: RedisEndpoint,
        over connector: RedisConnector,
        on loop: any EventLoop
    ) -> EventLoopFuture<[UInt8]> {
        self.ask(endpoint, over: connector, on: loop) { channel, answer in
            try channel.pipeline.syncOperations.addHandler(FirstBytes(answer))
        }
    }

    /// Returns the validity of the certificates that the server presents, starting with its own certificate; `nil` if
    /// it does not speak TLS. The future always succeeds.
    package static func certificates(
        of endpoint: RedisEndpoint,
        over connector: RedisConnector,
        on loop: any EventLoop
    ) -> EventLoopFuture<[Validity]?> {
        self.ask(endpoint, over: connector, on: loop) { channel, answer in
            let context = try NIOSSLContext(configuration: .makeClientConfiguration())
            // Every certificate is rejected, so that the handshake ends before any data is sent.
            let handler = try NIOSSLClientHandler(
                context: context,
                serverHostname: connector.serverName(endpoint),
                customVerificationCallback: { certificates, verdict in
                    answer.succeed(certificates.map { Validity($0) })
                    verdict.succeed(.failed)
                }
            )
            try channel.pipeline.syncOperations.addHandler(handler)
        }.map { $0.isEmpty ? nil : $0 }
    }

    /// Returns the validity of the certificates in a PEM file; empty if no certificate can be read.
    package static func certificates(inFile path: String) -> [Validity] {
        ((try? NIOSSLCertificate.fromPEMFile(path)) ?? []).map { Validity($0) }
    }

    /// Reports whether a PEM file contains a private key.
    package static func isKey(file path: String) -> Bool {
        (try? NIOSSLPrivateKey(file: path, format: .pem)) != nil
    }

    /// Reports whether a PEM file contains the private key of the first certificate in another file.
    package static func isKey(file path: String, ofCertificateIn certificatePath: String) -> Bool {
        guard let key = try? NIOSSLPrivateKey(file: path, format: .pem),
            let chain = try? NIOSSLCertificate.fromPEMFile(certificatePath)
        else { return false }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
        return (try? NIOSSLContext(configuration: configuration)) != nil
    }

    /// Connects, and returns the answer of the handler that `prepare` adds to the pipeline. The answer is empty if the
    /// connect fails, the connection ends or the server stays silent.
    private static func ask<Element: Sendable>(
        _ endpoint: RedisEndpoint,
        over connector: RedisConnector,
        on loop: any EventLoop,
        _ prepare: @escaping @Sendable (any Channel, EventLoopPromise<[Element]>) throws -> Void
    ) -> EventLoopFuture<[Element]> {
        // The promise may be completed several times. Only the first answer is used.
        let answer = loop.makePromise(of: [Element].self)
        let connected = connector.connect(to: endpoint, on: loop) { try prepare($0, answer) }
        connected.whenFailure { _ in answer.succeed([]) }
        connected.whenSuccess { channel in
            let patience = min(self.patience, connector.configuration.connectTimeout)
            let timer = loop.scheduleTask(in: TimeAmount(patience)) { answer.succeed([]) }
            channel.closeFuture.whenComplete { _ in answer.succeed([]) }
            answer.futureResult.whenComplete { _ in
                timer.cancel()
                channel.close(promise: nil)
            }
        }
        return answer.futureResult
    }
}

/// Sends `PING` and keeps the first bytes that arrive.
private final class FirstBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: EventLoopPromise<[UInt8]>

    init(_ answer: EventLoopPromise<[UInt8]>) {
        self.answer = answer
    }

    func channelActive(context: ChannelHandlerContext) {
        // The empty line makes servers of other protocols answer as well.
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: "PING\r\n\r\n")), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.answer.succeed(Array(self.unwrapInboundIn(data).readableBytesView.prefix(64)))
    }
}
