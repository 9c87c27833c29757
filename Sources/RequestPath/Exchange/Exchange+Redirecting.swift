import AddressIntelligence
import Endpoints
import NIOCore
import Settings
import Vocabulary

/// Redirects clients of plain http to https.
extension Exchange {
    /// Redirects to the same path and query under the host's public URL. Nothing else of the request is used, because
    /// plain http cannot be trusted.
    func redirect(_ head: RequestHead, _ buffer: inout ByteBuffer, by configuration: PathConfiguration) {
        self.keepForLog(head, buffer)
        let answer = buffer.withUnsafeReadableBytes { bytes -> LocalAnswer in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return .problem(.requestMalformed, requestID: self.record.requestID, closes: true)
            }
            self.noteReader(of: head, base, by: configuration)
            self.record.judge.findings.clientAddress = configuration.clientAddress.client(
                of: head,
                base,
                peer: self.peer
            )
            return self.place(of: head, base, by: configuration)
        }
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        self.answer(answer)
    }

    /// True if the request is an ACME HTTP challenge (RFC 8555 8.3) and has a public route for challenges. The request
    /// is then judged and forwarded instead of redirected.
    func isAskedForProof(_ head: RequestHead, _ buffer: ByteBuffer, by configuration: PathConfiguration) -> Bool {
        guard head.knownMethod == .get || head.knownMethod == .head, !head.hasQuery, !head.isWebSocketUpgrade else {
            return false
        }
        return buffer.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
            let path = head.path.bytes(in: base)
            let folder = Self.proofs.utf8
            // The token may contain only bytes that every app reads in the same way.
            guard path.count > folder.count, path.starts(with: folder),
                path.dropFirst(folder.count).allSatisfy({ $0.isAlphanumeric || $0 == 0x2D || $0 == 0x5F }),
                let host = configuration.routes.host(for: head.authority.bytes(in: base), kept: self.loop.namedHosts),
                host.publicURL.isHTTPS,
                case .read(let reading) = PathReading.read(path, into: self.loop.scratch.reading),
                case .route(let route) = configuration.routes.match(host: host, head: head, base, reading: reading)
            else { return false }
            return route.use { $0.isPublic && $0.settings.path.hasPrefix(Self.proofs) }
        }
    }

    /// The path prefix of all ACME HTTP challenges.
    private static let proofs = "/.well-known/acme-challenge/"

    private func place(of head: RequestHead, _ base: Bytes, by configuration: PathConfiguration) -> LocalAnswer {
        let authority = head.authority.bytes(in: base)
        guard let host = configuration.routes.host(for: authority, kept: self.loop.namedHosts) else {
            self.loop.notifyUnknownHost(authority, self.peer)
            return configuration.unknownHost(for: self.peer, self.record.requestID)
        }
        self.record.judge.findings.pinnedHost = Pinned(host)
        self.keepNamedHost()
        // A redirect to an http URL could lead back to this listener.
        guard host.publicURL.isHTTPS else { return .problem(.requestMisdirected, requestID: self.record.requestID) }
        // The parser accepts only visible ASCII in the target.
        let target =
            head.hasAsteriskTarget(in: base) ? "/" : String(decoding: head.target.bytes(in: base), as: UTF8.self)
        let fields = [
            // The query may contain a token.
            ("Location", host.publicURL.description + target), ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
        ]
        // 308 keeps the method (RFC 9110 15.4.9).
        return LocalAnswer(EndpointResponse(status: 308, fields: fields))
    }
}
