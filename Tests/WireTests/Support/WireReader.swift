import FuzzTargets
import NIOCore
import RequestPath
import Vocabulary

/// Reads a client's bytes as a connection does, with the gateway's parser and body decoder only.
struct WireReader {
    /// One request in the gateway's reading.
    struct Request: Equatable {
        var method: String
        /// The target in the request line.
        var target: String
        var minorVersion: Int
        var fields: [Field]
        var body: [UInt8] = []
        var isComplete = false
        /// Whether it asks for another protocol, whose bytes a reader may expect after it.
        var asksForUpgrade: Bool
        /// The offset of the method in all bytes.
        var methodRange: Range<Int>
    }

    enum End: Equatable {
        /// Between two requests.
        case idle
        case incompleteHead
        case incompleteBody
        case refused(Reason)
        case badBody
        /// The last request ended the connection; later bytes are not read.
        case closed
        case tunnel

        /// The name of the state, the same for every refusal.
        var kind: String {
            if case .refused = self { return "refused" }
            return "\(self)"
        }
    }

    private(set) var requests: [Request] = []
    private(set) var end = End.idle
    private let parser: RequestParser
    private var input = ByteBuffer()
    private var consumed = 0
    private var body = BodyDecoder(.none)
    private var keepsAlive = true

    init(_ parser: RequestParser = Heads.request) {
        self.parser = parser
    }

    /// Reads all of `bytes`, in pieces of `step` if that is given.
    static func read(_ bytes: [UInt8], step: Int? = nil, parser: RequestParser = Heads.request) -> WireReader {
        var reader = WireReader(parser)
        var start = 0
        let step = step ?? max(1, bytes.count)
        while start < bytes.count {
            reader.feed(bytes[start..<min(bytes.count, start + step)])
            start += step
        }
        return reader
    }

    mutating func feed(_ bytes: some Sequence<UInt8>) {
        self.input.writeBytes(bytes)
        while self.input.readableBytes > 0 {
            switch self.end {
            case .refused, .badBody, .closed, .tunnel: return
            case .incompleteBody: self.readBody()
            case .idle, .incompleteHead:
                guard self.readHead() else { return }
            }
        }
    }

    /// False when the head is incomplete or refused.
    private mutating func readHead() -> Bool {
        let head = RequestHead(fieldCount: self.parser.limits.fieldCount)
        let consumed = self.consumed
        let parser = self.parser
        let (result, request) = self.input.withUnsafeReadableBytes { raw -> (ParseResult, Request?) in
            guard let base = raw.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return (.incomplete, nil) }
            let result = parser.parse(base, raw.count, into: head)
            guard result == .complete else { return (result, nil) }
            let bytes = ParsedBytes(base)
            let targetStart = head.method.end + 1
            let tokens = head.fields(in: bytes) { $0.role == .connection }
                .flatMap { $0.value.lowercased().split { ", \t".contains($0) } }
            return (
                result,
                Request(
                    method: bytes.text(head.method),
                    target: bytes.text(Slice(targetStart, head.target.end - targetStart)),
                    minorVersion: head.minorVersion,
                    fields: head.fields(in: bytes),
                    asksForUpgrade: tokens.contains("upgrade") && head.line(.upgrade) != nil,
                    methodRange: consumed + head.method.start..<consumed + head.method.end
                )
            )
        }
        switch result {
        case .incomplete:
            self.end = .incompleteHead
            return false
        case .refused(let refusal):
            self.end = .refused(refusal)
            return false
        case .complete:
            break
        }
        if let request { self.requests.append(request) }
        self.input.moveReaderIndex(forwardBy: head.byteCount)
        self.consumed += head.byteCount
        self.keepsAlive = head.keepsAlive
        self.body = BodyDecoder(head.framing)
        self.end = .incompleteBody
        if head.isWebSocketUpgrade {
            self.finish()
            self.end = .tunnel
        } else if self.body.isDone {
            self.finish()
        }
        return true
    }

    private mutating func readBody() {
        let before = self.input.readableBytes
        var content: [UInt8] = []
        let outcome = self.body.collect(&self.input, into: &content)
        self.consumed += before - self.input.readableBytes
        self.requests[self.requests.count - 1].body += content
        switch outcome {
        case .more: self.end = .incompleteBody
        case .end: self.finish()
        case .malformed: self.end = .badBody
        }
    }

    private mutating func finish() {
        self.requests[self.requests.count - 1].isComplete = true
        self.end = self.keepsAlive ? .idle : .closed
    }
}
