import NIOCore
import RequestPath
import Testing

/// How a message on an HTTP/1 connection is framed, and whether another one may follow.
@Suite("A message of HTTP/1") struct HTTP1MessageTests {
    private static func message(_ text: String) throws -> HTTP1Message {
        let head = RequestHead(fieldCount: 20)
        let parser = RequestParser(
            names: FieldNames(roles: FieldNames.requestRoles, managedNames: [], managedPrefixes: []),
            limits: HeadLimits(line: 8192, field: 16_384, fields: 65_536, fieldCount: 20),
            dropsUnderscore: true
        )
        let buffer = ByteBuffer(string: text)
        let result = buffer.withUnsafeReadableBytes { bytes in
            bytes.bindMemory(to: UInt8.self).baseAddress.map { parser.parse($0, bytes.count, into: head) }
        }
        try #require(result == .complete)
        return HTTP1Message(head, keepsAlive: head.keepsAlive)
    }

    private static func get(_ version: String, _ fields: String...) -> String {
        (["GET / \(version)", "Host: a"] + fields).map { $0 + "\r\n" }.joined() + "\r\n"
    }

    private static let upgrade = [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13",
    ].joined(separator: "\r\n")

    @Test(arguments: [
        (get("HTTP/1.1"), BodyFraming.length(5), OutgoingFraming.asIs, ConnectionField.none),
        (get("HTTP/1.1"), .none, .asIs, .none),
        (get("HTTP/1.1"), .chunked, .chunked, .none),
        (get("HTTP/1.1"), .untilClose, .chunked, .none),
        (get("HTTP/1.1", "Connection: close"), .untilClose, .chunked, .close),
        (get("HTTP/1.0"), .length(5), .asIs, .close),
        (get("HTTP/1.0", "Connection: keep-alive"), .length(5), .asIs, .keepAlive),
        (get("HTTP/1.0", "Connection: keep-alive"), .chunked, .untilClose, .close),
        (get("HTTP/1.0", "Connection: keep-alive"), .untilClose, .untilClose, .close),
        (get("HTTP/1.1", upgrade), .none, .asIs, .close),
    ])
    func anAppsAnswer(_ head: String, _ body: BodyFraming, _ framing: OutgoingFraming, _ field: ConnectionField) throws
    {
        var message = try Self.message(head)
        message.begin(body, isRequestWhole: true, isDraining: false)
        #expect(message.framing == framing && message.connection == field && message.keepsAlive == (field != .close))
        var draining = try Self.message(head)
        draining.begin(body, isRequestWhole: true, isDraining: true)
        #expect(draining.framing == framing && draining.connection == .close)
        var early = try Self.message(head)
        early.begin(body, isRequestWhole: false, isDraining: false)
        #expect(early.framing == framing && early.connection == .close)
    }

    @Test(arguments: [
        (get("HTTP/1.1"), ConnectionField.none), (get("HTTP/1.1", upgrade), .close),
        (get("HTTP/1.1", "Content-Length: 10"), .none),
        (get("HTTP/1.1", "Content-Length: 10", "Expect: 100-continue"), .close),
        (get("HTTP/1.0", "Connection: keep-alive"), .keepAlive), (get("HTTP/1.0"), .close),
    ])
    func anAnswerOfTheGateway(_ head: String, _ field: ConnectionField) throws {
        var message = try Self.message(head)
        message.beginOwn(closes: false)
        #expect(message.connection == field && message.framing == .asIs)
        var closing = try Self.message(head)
        closing.beginOwn(closes: true)
        #expect(closing.connection == .close && !closing.keepsAlive)
    }

    @Test func aClientThatWasToldToGoOnIsKept() throws {
        var message = try Self.message(Self.get("HTTP/1.1", "Content-Length: 10", "Expect: 100-continue"))
        #expect(message.awaitsContinue)
        message.awaitsContinue = false
        message.beginOwn(closes: false)
        #expect(message.keepsAlive)
    }

    @Test func whatCouldNotBeReadIsTheLast() {
        var message = HTTP1Message()
        message.beginOwn(closes: false)
        #expect(message.connection == .close && !message.keepsAlive)
    }
}
