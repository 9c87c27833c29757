import Cryptography
import GatewayBench

/// An app that accepts WebSockets and sends their messages back, streams events without an end at `/events`, and answers all
/// other requests with their heads.
enum SocketApp {
    static let serve: @Sendable (Link) -> Void = { link in
        while let request = link.next() {
            if let key = request.values("sec-websocket-key").first { return Self.echo(link, key: key) }
            guard request.target == "/events" else {
                link.answer("200 OK", "Content-Type: text/html\r\n", body: String(latin1: request.head))
                continue
            }
            link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
            _ = link.wire.receiveAll(seconds: 20)
            return
        }
    }

    /// Accepts the WebSocket of a request.
    static func answer(_ link: Link, _ request: Received) {
        if let key = request.values("sec-websocket-key").first { self.echo(link, key: key) }
    }

    private static func echo(_ link: Link, key: String) {
        let accept = SHA1.digest(Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
        link.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: \(Base64.encode(accept))\r\n\r\n"
        )
        // Frames with a mask and a short length (RFC 6455 5.2).
        while let head = link.wire.receive(count: 6, seconds: 20) {
            let length = Int(head[1] & 0x7F)
            guard let masked = length == 0 ? [] : link.wire.receive(count: length) else { return }
            link.wire.send([head[0], UInt8(length)] + masked.enumerated().map { $0.element ^ head[2 + $0.offset % 4] })
            if head[0] == 0x88 { return }
        }
    }
}
