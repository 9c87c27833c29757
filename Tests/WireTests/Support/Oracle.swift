import NIOCore
import NIOEmbedded
import NIOHTTP1

/// How llhttp, through NIOHTTP1, reads the same bytes.
final class Oracle: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    struct Request: Equatable {
        var method: String
        var target: String
        var minorVersion: Int
        var fields: [Field]
        var body: [UInt8] = []
        var isComplete = false
    }

    private(set) var requests: [Request] = []
    private(set) var failure: (any Error)?

    static func read(_ bytes: [UInt8]) throws -> Oracle {
        let oracle = Oracle()
        let channel = EmbeddedChannel()
        let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes))
        try channel.pipeline.syncOperations.addHandlers([decoder, oracle])
        channel.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
        channel.pipeline.fireChannelReadComplete()
        _ = try? channel.finish(acceptAlreadyClosed: true)
        return oracle
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.requests.append(
                Request(
                    method: head.method.rawValue,
                    target: head.uri,
                    minorVersion: head.version.minor,
                    // NIOHTTP1 keeps a TAB after a value that is not part of it (RFC 9110 5.5).
                    fields: head.headers.map { Field($0.name, $0.value.trimmingBlanks()) }
                )
            )
        case .body(let buffer):
            self.requests[self.requests.count - 1].body += Array(buffer.readableBytesView)
        case .end:
            self.requests[self.requests.count - 1].isComplete = true
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if self.failure == nil { self.failure = error }
    }
}

extension String {
    fileprivate func trimmingBlanks() -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let bytes = Array(self.utf8.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Compares the gateway's reading with the oracle's.
enum Differential {
    private static let commonMethods: Set = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// Whether a blank is next to `;` or `=` in a chunk's extension. llhttp refuses it, though "a recipient MUST parse
    /// for such bad whitespace and remove it before interpreting the protocol element" (RFC 9110 5.6.3). Extensions are
    /// not passed on.
    private static func hasBadWhitespace(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).contains { line in
            line.prefixMatch(of: /[0-9A-Fa-f]+[ \t]*;/) != nil && line.contains(/[ \t][;=]|[;=][ \t]/)
        }
    }

    /// How the oracle's reading of `bytes` differs from the gateway's; nil when it does not.
    ///
    /// llhttp has a closed list of methods, RFC 9110 9.1 has not. An uncommon method is replaced for the oracle.
    static func difference(_ bytes: [UInt8], _ reader: WireReader) throws -> String? {
        guard !reader.requests.isEmpty else { return nil }
        var shown = bytes
        for request in reader.requests.reversed() where !self.commonMethods.contains(request.method) {
            shown.replaceSubrange(request.methodRange, with: Array("POST".utf8))
        }
        let oracle = try Oracle.read(shown)
        for (index, ours) in reader.requests.enumerated() {
            guard oracle.requests.count > index else {
                return "request \(index): the oracle has none: \(oracle.failure.map { "\($0)" } ?? "no error")"
            }
            let theirs = oracle.requests[index]
            let method = self.commonMethods.contains(ours.method) ? ours.method : "POST"
            if theirs.method != method { return "method \(ours.method) | \(theirs.method)" }
            if theirs.target != ours.target { return "target \(ours.target) | \(theirs.target)" }
            if theirs.minorVersion != ours.minorVersion { return "version" }
            if theirs.fields != ours.fields { return "fields \(ours.fields) | \(theirs.fields)" }
            if ours.isComplete {
                guard theirs.isComplete else {
                    if self.hasBadWhitespace(bytes) { return nil }
                    return "request \(index) has not ended: \(String(describing: oracle.failure))"
                }
                if theirs.body != ours.body { return "body \(ours.body.count) | \(theirs.body.count)" }
            }
            // After a request for another protocol the oracle reads no more.
            if ours.asksForUpgrade { return nil }
        }
        return nil
    }
}
