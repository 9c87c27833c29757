import NIOCore
import RequestPath
import TestSupport
import Testing

/// Frames of clients with bytes changed, missing and repeated: whatever the session takes them for, nothing ends the process,
/// every request that an app gets is whole, and the connection is left behind as it should be.
@Suite("Damaged frames") struct HTTP2DamageTests {
    private static let whole = ClientFrames.opening([(id: 4, value: 100_000)])
        .headers(1, ClientFrames.request([("cookie", "a=1"), ("cookie", "b=2"), ("accept", "*/*")]))
        .headers(3, ClientFrames.request("POST", [("content-length", "5")]), endsStream: false)
        .data(3, Array("hello".utf8), endsStream: true)
        .headers(
            5,
            [(":method", "CONNECT"), (":protocol", "websocket")] + Array(ClientFrames.request().dropFirst()),
            endsStream: false
        )
        .windowUpdate(0, 1000).ping().data(5, [0x81, 0x80, 0, 0, 0, 0]).reset(5).settingsAck()
        .headers(7, ClientFrames.request("POST"), endsStream: false).data(7, [1, 2, 3]).headers(7, [("a", "b")])
        .bytes

    @Test("Changed bytes are read or refused", arguments: 0..<8 as Range<UInt64>) func changedBytes(_ seed: UInt64)
        throws
    {
        var numbers = SeededNumbers(seed: seed)
        for _ in 0..<150 {
            var bytes = Self.whole
            for _ in 0..<Int.random(in: 0...6, using: &numbers) {
                let place = Int.random(in: 24..<bytes.count, using: &numbers)
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
                case 2: bytes.remove(at: place)
                default: bytes.insert(contentsOf: bytes[place..<min(place + 20, bytes.count)], at: place)
                }
            }
            try self.read(bytes, inPieces: Int.random(in: 1...400, using: &numbers))
        }
    }

    private func read(_ bytes: [UInt8], inPieces size: Int) throws {
        let bench = try HTTP2Bench(opens: false)
        let apps = (0..<8).map { _ in ScriptedApp() }
        bench.bench.pool.kept = apps
        for start in stride(from: 0, to: bytes.count, by: size) where bench.stream.isOpen {
            bench.come(ClientFrames(Array(bytes[start..<min(start + size, bytes.count)])))
            for app in apps where !app.hasSent && !app.headText.isEmpty {
                #expect(app.headText.hasSuffix("\r\n\r\n") && app.headText.contains(" HTTP/1.1\r\nHost: "))
                app.send()
            }
        }
        for app in apps where app.hasSent { _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        _ = bench.sent()
        bench.connection.sweep(.now() + .seconds(100))
        bench.connection.closeNow()
        #expect(bench.bench.loop.busyCount == 0)
    }
}
