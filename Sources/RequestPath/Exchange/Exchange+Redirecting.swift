import AddressIntelligence
import Endpoints
import NIOCore
import Settings
import Vocabulary

/// Sends clients of plain http to https.
extension Exchange {
    /// Answers with the place of the same path and query below the host's public URL. Nothing else is looked at: what came
    /// by plain http counts for nothing.
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

    private func place(of head: RequestHead, _ base: Bytes, by configuration: PathConfiguration) -> LocalAnswer {
        let authority = head.authority.bytes(in: base)
        guard let host = configuration.routes.host(for: authority, kept: self.loop.namedHosts) else {
            self.loop.tellUnknownHost(authority, self.peer)
            return configuration.unknownHost(for: self.peer, self.record.requestID)
        }
        self.record.judge.findings.pinnedHost = Pinned(host)
        self.keepNamedHost()
        // A public URL of http may lead here again.
        guard host.publicURL.isHTTPS else { return .problem(.requestMisdirected, requestID: self.record.requestID) }
        // The parser takes visible ASCII only.
        let target =
            head.hasAsteriskTarget(in: base) ? "/" : String(decoding: head.target.bytes(in: base), as: UTF8.self)
        let fields = [
            // The query may have a token.
            ("Location", host.publicURL.description + target), ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
        ]
        // 308: the method stays (RFC 9110 15.4.9).
        return LocalAnswer(EndpointResponse(status: 308, fields: fields))
    }
}
