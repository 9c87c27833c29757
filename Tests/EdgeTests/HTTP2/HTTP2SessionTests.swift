import Foundation
import GatewayBench
import TestSupport
import Testing

/// Sessions behind streams of HTTP/2: what needs one, and what ends with it.
@Suite("Sessions over HTTP/2", .blocking) struct HTTP2SessionTests {
    private static func settings(_ app: FakeUpstream, loops: Int = 1) -> String {
        Config.file(
            upstream: app.port,
            listen: "[{address: \"127.0.0.1:0\", protocols: [h2c, http/1.1]}]",
            loops: loops,
            more: "log: {access: true}\n"
        )
    }

    private static func webSocket(_ fields: [(String, String)]) -> [(String, String)] {
        [(":method", "CONNECT"), (":protocol", "websocket")]
            + ClientFrames.request(authority: Request.host, path: "/socket").dropFirst()
            + [("sec-websocket-version", "13")] + fields
    }

    @Test("Another site cannot open a WebSocket with the user's cookie") func crossSite() throws {
        let app = try FakeUpstream(serve: SocketApp.serve)
        defer { app.stop() }
        try Gateway.with(Self.settings(app)) { gateway throws in
            let cookie = ("cookie", "sallyport=\(try gateway.browser())")
            let client = try HTTP2Wire(to: gateway)
            let others = [
                [("origin", "http://evil.example")], [("sec-fetch-site", "cross-site")], [], [("origin", "null")],
                [("origin", Request.origin), ("sec-fetch-site", "cross-site")],
            ]
            for (index, fields) in others.enumerated() {
                let stream = UInt32(2 * index + 1)
                client.send(ClientFrames().headers(stream, Self.webSocket([cookie] + fields), endsStream: false))
                #expect(try client.answer(stream).allSatisfy { !$0.isOK })
            }
            #expect(
                eventually {
                    let lines = gateway.output.split(separator: "\n").filter { $0.contains("\"HTTP/2\"") }
                    return lines.count { $0.contains("\"status\":403,\"reason\":\"request.cross_site\"") }
                        == others.count
                },
                "\(gateway.output.suffix(3000))"
            )
            #expect(app.requests.isEmpty)
        }
    }

    @Test(
        "Sign-out closes the WebSocket of a stream with 1008 and resets an answer; other streams go on",
        arguments: [1, 2]
    )
    func signOut(_ loops: Int) throws {
        let app = try FakeUpstream(serve: SocketApp.serve)
        defer { app.stop() }
        try Gateway.with(Self.settings(app, loops: loops)) { gateway throws in
            let cookie = try gateway.browser()
            let native = ("authorization", "Bearer \(try gateway.native())")
            let own = [("cookie", "sallyport=\(cookie)"), ("origin", Request.origin)]
            let client = try HTTP2Wire(to: gateway)
            // 1: a browser's WebSocket. 3: a native app's. 5: an answer that goes on.
            client.send(ClientFrames().headers(1, Self.webSocket(own), endsStream: false))
            #expect(try client.frames(of: 1) { $0.kind == .headers }.last?.isOK == true)
            client.send(ClientFrames().headers(3, Self.webSocket([native]), endsStream: false))
            #expect(try client.frames(of: 3) { $0.kind == .headers }.last?.isOK == true)
            let events = ClientFrames.request(authority: Request.host, path: "/events")
            client.send(ClientFrames().headers(5, events + own))
            #expect(try client.frames(of: 5) { $0.kind == .data }.last?.payload.isEmpty == false)
            let frame: [UInt8] = [0x81, 0x82, 1, 1, 1, 1, 0x69, 0x68]
            let echo: [UInt8] = [0x81, 2, 0x68, 0x69]
            client.send(ClientFrames().data(1, frame))
            #expect(try client.frames(of: 1) { $0.kind == .data }.last?.payload == echo)

            #expect(try gateway.signOut(cookie).status == 303)
            var ends: [UInt32: [HTTP2Wire.Frame]] = [:]
            while ends[1]?.last?.endsStream != true || ends[5]?.contains(where: { $0.kind == .reset }) != true {
                let frame = try #require(client.next(), "\(ends)")
                ends[frame.stream, default: []].append(frame)
            }
            #expect(ends[1]?.filter { $0.kind == .data }.flatMap(\.payload) == [0x88, 2, 0x03, 0xF0])
            #expect(ends[5]?.contains { $0.endsStream } == false)
            #expect(ends[3] == nil)
            client.send(ClientFrames().data(3, frame))
            #expect(try client.frames(of: 3) { $0.kind == .data }.last?.payload == echo)
        }
    }
}
