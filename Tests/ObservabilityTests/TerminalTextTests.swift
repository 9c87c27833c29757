import Foundation
import Observability
import Testing

#if canImport(Glibc)
import Glibc
#endif

@Suite("Lines on a terminal") struct TerminalTextTests {
    private static func text(_ line: String) -> String { TerminalText.line(line.utf8) }

    @Test("Each stream has a form of its own")
    func forms() {
        #expect(
            Self.text(
                #"{"stream":"log","time":"2026-11-27T15:04:05.678Z","level":"warning","logger":"sallyport","message":"a b","fields":{"peer":"::1","n":"2"}}"#
            ) == "15:04:05 WARNING a b n=2 peer=::1"
        )
        #expect(
            Self.text(
                #"{"stream":"access","time":"2026-11-27T15:04:05.678Z","request_id":"x","method":"GET","host":"localhost","path":"/a","status":401,"reason":"credential.missing","duration_us":1234}"#
            ) == "15:04:05 GET localhost/a 401 1.2 ms reason=credential.missing"
        )
        #expect(
            Self.text(
                #"{"stream":"audit","time":"2026-11-27T15:04:05.678Z","event":"session.created","subject":"ada","address":"::1"}"#
            ) == "15:04:05 audit session.created subject=ada"
        )
    }

    @Test("What a client sends cannot act on the terminal, whatever it is")
    func controls() {
        let line = Self.text(
            #"{"stream":"access","time":"x","method":"GET","host":"a\u001b[2J","path":"/\u009b1m\u202e\u0007","status":200}"#
        )
        #expect(line.hasSuffix("GET a?[2J/?1m?? 200"), "\(line)")
        #expect(Self.text("no JSON \u{1B}]0;x\u{7}") == "no JSON ?]0;x?")
        for odd in ["", "{", "[]", #"{"stream":1}"#, #"{"stream":"log"}"#, #"{"stream":"access","duration_us":-5}"#] {
            #expect(!Self.text(odd).contains("\n"))
        }
        #expect(!TerminalText.line([0xFF, 0x1B, 0x00]).unicodeScalars.contains { $0.value < 0x20 })
    }

    @Test("Lines wait until something is said first, and all are shown before the end")
    func order() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let log = try #require(TerminalLog(output: ends[1]))
        let lines = try LineWriter(descriptor: log.descriptor)
        let queue = lines.queue(.log, capacity: 65_536)
        func say(_ text: String) {
            let line = Array("{\"stream\":\"log\",\"time\":\"0123456789T15:04:05Z\",\"message\":\"\(text)\"}\n".utf8)
            _ = line.withUnsafeBytes { queue.append($0) }
        }
        say("early")
        #expect(lines.flush(timeout: .seconds(10)))
        log.open(with: "ready: first")
        say("late")
        #expect(lines.flush(timeout: .seconds(10)))
        log.finish()
        close(ends[1])
        let shown = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true).readDataToEndOfFile()
        #expect(String(decoding: shown, as: UTF8.self) == "ready: first\n15:04:05 early\n15:04:05 late\n")
    }

    @Test("A terminal that is stopped (Ctrl-S) holds up neither the start nor the end")
    func stoppedTerminal() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        // The thread may write to the other end as long as it lives.
        defer { close(ends[0]) }
        // A pipe that takes no byte more.
        let flags = fcntl(ends[1], F_GETFL)
        _ = fcntl(ends[1], F_SETFL, flags | O_NONBLOCK)
        let piece = [UInt8](repeating: 0x2E, count: 4096)
        while piece.withUnsafeBytes({ write(ends[1], $0.baseAddress, $0.count) }) > 0 {}
        _ = fcntl(ends[1], F_SETFL, flags)
        let log = try #require(TerminalLog(output: ends[1]))
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            log.open(with: "ready: first")
            log.finish()
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 30) == .success)
        // What still waits can be written, so that no thread is left behind.
        var taken = [UInt8](repeating: 0, count: 65_536)
        _ = taken.withUnsafeMutableBytes { read(ends[0], $0.baseAddress, $0.count) }
        _ = done.wait(timeout: .now() + 10)
    }
}
