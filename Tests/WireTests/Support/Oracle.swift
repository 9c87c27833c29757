import NIOCore
import NIOEmbedded
import NIOHTTP1

/// What llhttp, by way of NIOHTTP1, makes of the same bytes.
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
                    fields: head.headers.map { Field($0.name, $0.value) }
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

/// Compares the gateway's reading with the oracle's.
enum Differential {
    private static let commonMethods: Set = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// How the oracle reads `bytes` otherwise than the gateway did; nil: it does not.
    ///
    /// llhttp knows a closed list of methods and RFC 9110 9.1 does not: an uncommon one is replaced for the oracle.
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
                guard theirs.isComplete else { return "request \(index) has not ended: \(String(describing: oracle.failure))" }
                if theirs.body != ours.body { return "body \(ours.body.count) | \(theirs.body.count)" }
            }
            // Behind a request for another protocol the oracle reads nothing more.
            if ours.asksForUpgrade { return nil }
        }
        return nil
    }
}
