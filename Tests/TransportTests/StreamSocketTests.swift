import Glibc
import NIOCore
import TestSupport
import Testing
import Transport

/// What happens to the bytes and the ends of a socket.
@Suite("A stream socket") struct StreamSocketTests {
    @Test func passesBytesInBothDirections() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.pair()
            try peer.send(someBytes(300_000))
            try await watcher.until(bench) { $0.received.count == 300_000 }
            #expect(try await bench.onLoop { watcher.received == someBytes(300_000) })
            try await bench.onLoop { watcher.stream?.writeAndFlush(ByteBuffer(bytes: [1, 2, 3])) }
            #expect(peer.read(3) == [1, 2, 3])
        }
    }

    @Test func sendsNothingBeforeTheFlush() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.pair()
            try await bench.onLoop {
                watcher.stream?.write(ByteBuffer(string: "a"))
                watcher.stream?.write(ByteBuffer(string: "b"))
                #expect(watcher.stream?.unsentBytes == 2)
                watcher.stream?.flush()
                watcher.stream?.write(ByteBuffer(string: "c"))
                #expect(watcher.stream?.unsentBytes == 1)
                watcher.stream?.close()
            }
            #expect(peer.read(9) == Array("ab".utf8))
        }
    }

    @Test(arguments: [1, 100, 65_000]) func keepsTheOrderWhenThePeerIsSlow(_ size: Int) async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.pair()
            let all = someBytes(max(1_000_000, size * 3000) / size * size)
            try await bench.onLoop {
                for start in stride(from: 0, to: all.count, by: size) {
                    let part = ByteBuffer(bytes: all[start..<start + size])
                    if start % 3 == 0 { watcher.stream?.writeAndFlush(part) } else { watcher.stream?.write(part) }
                }
                watcher.stream?.endOutput()
                #expect(watcher.stream?.isWritable == false && !watcher.hasOutputEnded)
            }
            #expect(peer.read(all.count + 1) == all)
            try await watcher.until(bench) { $0.hasOutputEnded }
        }
    }

    @Test func tellsOnceThatItTakesBytesAgain() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.pair()
            try await bench.onLoop {
                watcher.stream?.writeAndFlush(ByteBuffer(bytes: someBytes(2_000_000)))
                #expect(watcher.stream?.isWritable == false)
            }
            #expect(peer.read(2_000_000).count == 2_000_000)
            try await watcher.until(bench) { $0.becameWritableCount > 0 }
            try await bench.onLoop {
                #expect(watcher.becameWritableCount == 1 && watcher.stream?.isWritable == true)
            }
        }
    }

    @Test func readsNothingWhileItIsPaused() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.pair()
            try await bench.onLoop { watcher.stream?.pause() }
            try peer.send([1])
            let (other, otherPeer) = try await bench.pair()
            try otherPeer.send([2])
            try await other.until(bench) { $0.received == [2] }
            try await bench.onLoop {
                #expect(watcher.received.isEmpty && watcher.stream?.hasUnreadBytes == true)
                watcher.stream?.resume()
            }
            try await watcher.until(bench) { $0.received == [1] }
        }
    }

    @Test func aPauseWithinABurstLeavesTheRest() async throws {
        try await SocketBench.with { bench in
            let watcher = Watcher()
            watcher.onReceived = { $0.stream?.pause() }
            let (_, peer) = try await bench.pair(watcher)
            let all = someBytes(200_000)
            try peer.send(Array(all[..<150_000]))
            try await watcher.until(bench) { !$0.received.isEmpty }
            #expect(try await bench.onLoop { watcher.received.count < 150_000 })
            try await bench.onLoop {
                watcher.onReceived = { _ in }
                watcher.stream?.resume()
            }
            try peer.send(Array(all[150_000...]))
            try await watcher.until(bench) { $0.received.count == 200_000 }
            #expect(try await bench.onLoop { watcher.received == all })
        }
    }

    @Test func readsEverythingBeforeTheEnd() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.connection()
            let all = someBytes(200_000)
            try peer.send(all)
            peer.endOutput()
            #expect(try await watcher.end(bench))
            #expect(try await bench.onLoop { watcher.received == all })
        }
    }

    /// Else a slow reader would have this process keep everything that a fast writer has sent before its end.
    @Test(arguments: [20_000, 200_000, 2_000_000])
    func theEndWaitsBehindBytesThatAreNotRead(_ count: Int) async throws {
        try await SocketBench.with { bench in
            let watcher = Watcher()
            watcher.onReceived = { $0.stream?.pause() }
            let (_, peer) = try await bench.connection(watcher)
            let all = someBytes(count)
            let sending = Task.detached {
                try peer.send(all)
                peer.endOutput()
            }
            try await watcher.until(bench) { !$0.received.isEmpty }
            var taken = 0
            while taken < count {
                let step = try await bench.onLoop { (watcher.received.count, watcher.isClosed) }
                #expect(!step.1 || step.0 == count)
                taken = step.0
                try await bench.onLoop { watcher.stream?.resume() }
                let known = taken
                try await watcher.until(bench) { $0.received.count > known || $0.isClosed }
            }
            try await bench.onLoop { watcher.stream?.resume() }
            try await sending.value
            #expect(try await watcher.end(bench))
            #expect(try await bench.onLoop { watcher.received == all })
        }
    }

    @Test func aPeerThatHasEndedItsOutputStillReads() async throws {
        try await SocketBench.with { bench in
            let watcher = Watcher()
            watcher.staysOpen = true
            let (_, peer) = try await bench.connection(watcher)
            try peer.send([1, 2, 3])
            peer.endOutput()
            try await watcher.until(bench) { $0.hasInputEnded }
            let all = someBytes(8_000_000)
            try await bench.onLoop {
                #expect(watcher.received == [1, 2, 3] && watcher.stream?.isOpen == true)
                watcher.stream?.writeAndFlush(ByteBuffer(bytes: all))
                watcher.stream?.endOutput()
            }
            #expect(peer.read(all.count + 1) == all)
            #expect(try await watcher.end(bench))
        }
    }

    @Test(arguments: [false, true]) func aPeerThatIsGoneIsNoticed(isPaused: Bool) async throws {
        try await SocketBench.with { bench in
            let watcher = Watcher()
            watcher.staysOpen = true
            try await {
                let (_, peer) = try await bench.connection(watcher)
                if isPaused { try await bench.onLoop { watcher.stream?.pause() } }
                peer.endOutput()
                peer.resetsWhenClosed()
            }()
            try await watcher.until(bench) { $0.isClosed }
        }
    }

    /// By its first answer to what is sent: it has closed both sides.
    @Test func aPeerThatHasClosedIsNoticedWhenItIsWrittenTo() async throws {
        try await SocketBench.with { bench in
            let watcher = Watcher()
            watcher.staysOpen = true
            try await {
                _ = try await bench.connection(watcher)
            }()
            try await watcher.until(bench) { $0.hasInputEnded }
            try await bench.onLoop {
                #expect(!watcher.isClosed)
                watcher.stream?.writeAndFlush(ByteBuffer(string: "are you there?"))
            }
            try await watcher.until(bench) { $0.isClosed }
        }
    }

    @Test func countsWhatThePeerHasNotAcknowledged() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.connection()
            let all = someBytes(16_000_000)
            try await bench.onLoop {
                watcher.stream?.writeAndFlush(ByteBuffer(bytes: all))
                let (unsent, waiting) = (watcher.stream?.unsentBytes ?? 0, watcher.stream?.unacknowledgedBytes ?? 0)
                #expect(unsent > 0 && waiting > unsent && waiting <= all.count)
                watcher.stream?.endOutput()
            }
            #expect(peer.read(all.count + 1) == all)
            // The peer's system may acknowledge the last of it a moment later.
            try await waitUntil("all is acknowledged") {
                try await bench.onLoop { watcher.stream?.unacknowledgedBytes } == 0
            }
            #expect(try await bench.onLoop { watcher.hasOutputEnded && watcher.stream?.unsentBytes == 0 })
        }
    }

    /// The system of an end that answers waits with acknowledgements, so that they go with the answers.
    @Test func acknowledgesAtOnce() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.connection()
            var count = 0
            func send() async throws {
                count += 1
                try peer.send([1])
                try await watcher.until(bench) { [count] in $0.received.count == count }
            }
            var (waiting, acknowledged) = (0, 0)
            for _ in 0..<200 where waiting < 5 {
                for _ in 0..<5 {
                    try await send()
                    try await bench.onLoop { watcher.stream?.writeAndFlush(ByteBuffer(bytes: [2])) }
                    #expect(peer.read(1) == [2])
                }
                try await send()
                // It may have been acknowledged meanwhile.
                guard peer.unacknowledgedBytes > 0 else { continue }
                waiting += 1
                try await bench.onLoop { watcher.stream?.acknowledge() }
                if peer.unacknowledgedBytes == 0 { acknowledged += 1 }
            }
            #expect(waiting == 5 && acknowledged == waiting)
        }
    }

    @Test func countsWhatWasLostWithAConnection() async throws {
        try await SocketBench.with { bench in
            let watcher = Watcher()
            try await {
                let (_, peer) = try await bench.connection(watcher)
                try await bench.onLoop { watcher.stream?.writeAndFlush(ByteBuffer(bytes: someBytes(16_000_000))) }
                _ = peer.read(1000)
                peer.resetsWhenClosed()
            }()
            try await watcher.until(bench) { $0.isClosed }
            try await bench.onLoop {
                let lost = watcher.stream?.unacknowledgedBytes ?? 0
                #expect(lost > 0 && lost < 16_000_000)
            }
        }
    }

    /// As between `fork` and `exec`: the file stays open, and so would its events, for an object that has been freed.
    @Test func aClosedSocketHasNoEventsWhileAnotherProcessHasItsDescriptor() async throws {
        try await SocketBench.with { bench in
            var peers: [Peer] = []
            var copies: [Peer] = []
            for _ in 0..<100 {
                let (peer, copy) = try await bench.closedPair()
                peers.append(peer)
                copies.append(copy)
            }
            for peer in peers { try peer.send([1]) }
            let (watcher, peer) = try await bench.pair()
            try peer.send([2])
            try await watcher.until(bench) { $0.received == [2] }
            #expect(copies.allSatisfy { $0.read(1) == [1] })
        }
    }

    @Test func aResetIsNotClean() async throws {
        try await SocketBench.with { bench in
            let watcher = Watcher()
            do {
                let (_, peer) = try await bench.connection(watcher)
                peer.resetsWhenClosed()
            }
            #expect(try await !watcher.end(bench))
        }
    }

    @Test func whatWasSentBeforeAFailedWriteIsRead() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.pair()
            try await bench.onLoop {
                try peer.send([1, 2, 3])
                peer.shutDownInput()
                watcher.stream?.writeAndFlush(ByteBuffer(string: "too late"))
                #expect(watcher.isClosed && !watcher.isClean && watcher.received == [1, 2, 3])
            }
        }
    }

    @Test func resetsThePeer() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.connection()
            try await bench.onLoop { watcher.stream?.reset() }
            #expect(peer.readError() == ECONNRESET)
            #expect(try await watcher.end(bench))
        }
    }

    @Test func endsItsOutputAndReadsOn() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.connection()
            try await bench.onLoop {
                watcher.stream?.writeAndFlush(ByteBuffer(string: "end"))
                watcher.stream?.endOutput()
                #expect(watcher.hasOutputEnded)
                watcher.stream?.writeAndFlush(ByteBuffer(string: "more"))
            }
            #expect(peer.read(9) == Array("end".utf8))
            try peer.send([7])
            try await watcher.until(bench) { $0.received == [7] }
        }
    }

    @Test func theCloseBehindLastBytesIsTheirEnd() async throws {
        try await SocketBench.with { bench in
            let (watcher, peer) = try await bench.connection()
            try await bench.onLoop {
                guard let stream = watcher.stream else { return }
                stream.close {
                    stream.writeAndFlush(ByteBuffer(string: "last"))
                    stream.endOutput()
                }
                #expect(!stream.isOpen)
                #expect(!watcher.hasOutputEnded)
            }
            #expect(peer.read(9) == Array("last".utf8))
            #expect(try await watcher.end(bench))
        }
    }

    @Test func aSocketThatClosedInATurnGetsNoEventOfIt() async throws {
        try await SocketBench.with { bench in
            let (first, second) = (Watcher(), Watcher())
            // Whichever is handled first closes the other.
            first.onReceived = { _ in second.stream?.close() }
            second.onReceived = { _ in first.stream?.close() }
            let (_, firstPeer) = try await bench.pair(first)
            let (_, secondPeer) = try await bench.pair(second)
            try await bench.onLoop {
                try firstPeer.send([1])
                try secondPeer.send([2])
            }
            try await first.until(bench) { $0.isClosed || !$0.received.isEmpty }
            let counts = try await bench.onLoop { (first.received.count, second.received.count) }
            #expect(counts.0 + counts.1 == 1)
        }
    }

    @Test func closesWithItsLoop() async throws {
        let watcher = Watcher()
        nonisolated(unsafe) var peer: Peer?
        try await SocketBench.with { bench in peer = try await bench.pair(watcher).1 }
        #expect(peer?.read(1).isEmpty == true && watcher.isClosed)
    }
}
