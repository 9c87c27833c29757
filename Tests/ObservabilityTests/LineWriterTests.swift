import Foundation
import Observability
import Synchronization
import TestSupport
import Testing

/// F26: a full disk or a reader that has stopped loses log lines and delays no request.
@Suite(.timeLimit(.minutes(5)))
struct LineWriterTests {
    @Test func linesOfManyThreadsArriveWholeAndInEachThreadsOrder() async throws {
        let sink = try FileSink()
        let queue = sink.writer.queue(.access, capacity: 1 << 22)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<5000 {
                        queue.append(line: bytes("\(thread) \(number) \(String(repeating: "x", count: number % 90))\n"))
                    }
                }
            }
        }
        let contents = try #require(sink.contents())
        var next = [0, 0, 0, 0]
        for line in contents.split(separator: 0x0A) {
            let parts = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
            let thread = try #require(Int(parts[0]))
            #expect(Int(parts[1]) == next[thread])
            #expect(parts[2].utf8.count == next[thread] % 90)
            next[thread] += 1
        }
        #expect(next == [5000, 5000, 5000, 5000])
        #expect(queue.dropped == 0)
    }

    @Test(arguments: [true, false])
    func aStoppedReaderDelaysNoAppendAndLosesOnlyWholeLines(isBlocking: Bool) throws {
        let pipe = PipeSink(isBlocking: isBlocking)
        let writer = try LineWriter(descriptor: pipe.writing)
        let queue = writer.queue(.access, capacity: 65_536)
        // Far more than pipe and queue hold. If an append waited, this loop would not end.
        var accepted: [String] = []
        for number in 0..<20_000 {
            let line = "\(number) \(String(repeating: "y", count: number % 200))"
            if queue.append(line: bytes(line + "\n")) { accepted.append(line) }
        }
        #expect(accepted.count < 20_000)
        #expect(queue.dropped == UInt64(20_000 - accepted.count))
        #expect(!writer.flush(timeout: .milliseconds(10)))

        #expect(pipe.lines(accepted.count) == accepted)
        #expect(writer.flush(timeout: .seconds(30)))
        #expect(queue.append(line: bytes("recovered\n")))
        #expect(pipe.lines(1) == ["recovered"])
        #expect(writer.stop(timeout: .seconds(30)))
        pipe.closeReader()
    }

    @Test("F26: a full disk is counted and never ends the process") func fullDisk() async throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        defer { close(full) }
        let writer = try LineWriter(descriptor: full)
        let queue = writer.queue(.access, capacity: 4096)
        for _ in 0..<1000 {
            queue.append(line: bytes("0123456789\n"))
        }
        try await waitUntil("a write error") { writer.writeErrors > 0 }
        #expect(!writer.stop(timeout: .milliseconds(50)))
        // Queued and later lines are dropped as well; then the thread stops writing.
        try await waitUntil("dropped lines") { queue.dropped >= 1000 }
        #expect(!queue.append(line: bytes("late\n")))
        #expect(queue.dropped == 1001)
    }

    @Test("F26: a reader that went away costs nothing, and its successor gets whole lines")
    func readerGone() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/sallyport-fifo-\(UUID().uuidString)"
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let first = open(path, O_RDONLY | O_NONBLOCK)
        let writing = open(path, O_WRONLY)
        defer { close(writing) }
        let writer = try LineWriter(descriptor: writing)
        let queue = writer.queue(.log, capacity: 4096)
        close(first)
        queue.append(line: bytes("one\n"))
        // EPIPE, with SIGPIPE: this process has not ignored it.
        try await waitUntil("a write error") { writer.writeErrors > 0 }
        queue.append(line: bytes("two\n"))

        let second = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(second) }
        #expect(writer.stop(timeout: .seconds(30)))
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(second, &buffer, buffer.count)
        #expect(String(decoding: buffer[..<max(count, 0)], as: UTF8.self) == "one\ntwo\n")
        #expect(queue.dropped == 0)
    }

    @Test func streamsOnOneDescriptorNeverTearEachOthersLines() async throws {
        let pipe = PipeSink()
        let writer = try LineWriter(descriptor: pipe.writing)
        // Long lines in small rings: chunks end inside lines, at the end of the ring and of the pipe.
        let queues = [
            writer.queue(.access, capacity: 200_000), writer.queue(.audit, capacity: 150_001),
            writer.queue(.log, capacity: 99_991),
        ]
        let expected = Mutex<[Set<String>]>([])
        Thread.detachNewThread {
            var random = SeededNumbers(seed: 7)
            var sent: [Set<String>] = [[], [], []]
            for number in 0..<600 {
                let which = number % 3
                let letter = ["a", "b", "c"][which]
                let text = "\(number):" + String(repeating: letter, count: Int.random(in: 0..<90_000, using: &random))
                var tries = 0
                while tries < 60_000, !queues[which].append(line: bytes(text + "\n")) {
                    tries += 1
                    usleep(500)
                }
                sent[which].insert(text)
            }
            expected.withLock { $0 = sent }
        }
        let lines = pipe.lines(600)
        #expect(lines.count == 600)
        try await waitUntil("all lines were sent") { expected.withLock { !$0.isEmpty } }
        let sent = expected.withLock { $0 }
        #expect(Set(lines) == sent[0].union(sent[1]).union(sent[2]))
        writer.stop(timeout: .seconds(30))
        pipe.closeReader()
    }

    @Test func ofABatchThatDoesNotFitTheFirstLinesAreTaken() throws {
        let pipe = PipeSink()
        // What the writer's thread has taken out is still in the queue, because the thread cannot write it.
        let others = pipe.fill()
        let writer = try LineWriter(descriptor: pipe.writing)
        let queue = writer.queue(.access, capacity: 4096)
        let line = String(repeating: "z", count: 99) + "\n"
        let batch = bytes(String(repeating: line, count: 50))
        #expect(batch.withUnsafeBytes { queue.append($0) } == 4000)
        #expect(queue.dropped == 10)
        // 96 bytes are free: a line of 100 does not fit, one of 96 does.
        #expect(!queue.append(line: bytes(line)))
        #expect(queue.append(line: bytes(String(repeating: "w", count: 95) + "\n")))
        // A line longer than the queue never fits.
        #expect(!queue.append(line: bytes(String(repeating: "v", count: 5000) + "\n")))
        #expect(queue.dropped == 12)
        #expect(pipe.lines(others + 41).count == others + 41)
        #expect(writer.stop(timeout: .seconds(30)))
        pipe.closeReader()
    }

    /// Each would hang the test if it waited as long as the line before it may.
    @Test func aLineWaitsNoLongerThanLinesOfItsStreamMay() throws {
        let pipe = PipeSink()
        let writer = try LineWriter(
            descriptor: pipe.writing,
            accessLinger: .seconds(3600),
            auditLinger: .milliseconds(1)
        )
        let access = writer.queue(.access, capacity: 4096)
        let audit = writer.queue(.audit, capacity: 4096)
        access.append(line: bytes("a\n"))
        // The thread waits for more now, in most runs.
        usleep(10_000)
        audit.append(line: bytes("b\n"))
        #expect(Set(pipe.lines(2)) == ["a", "b"])
        audit.append(line: bytes("c\n"))
        #expect(pipe.lines(1) == ["c"])
        writer.stop(timeout: .seconds(30))
        pipe.closeReader()
    }

    /// A small queue does not fill while the thread waits for more.
    @Test func aQueueThatFillsIsWritten() throws {
        let pipe = PipeSink()
        let writer = try LineWriter(
            descriptor: pipe.writing,
            accessLinger: .seconds(3600),
            auditLinger: .seconds(3600)
        )
        let queue = writer.queue(.audit, capacity: 4096)
        let line = String(repeating: "a", count: 99) + "\n"
        for _ in 0..<10 { #expect(queue.append(line: bytes(line))) }
        // The thread waits for more now, in most runs.
        usleep(10_000)
        for _ in 0..<10 { #expect(queue.append(line: bytes(line))) }
        #expect(pipe.lines(11).count >= 11)
        #expect(writer.stop(timeout: .seconds(30)) && queue.dropped == 0)
        pipe.closeReader()
    }

    @Test func aLineOfTheLogIsWrittenAtOnceWithAllThatWait() throws {
        let pipe = PipeSink()
        let writer = try LineWriter(
            descriptor: pipe.writing,
            accessLinger: .seconds(3600),
            auditLinger: .seconds(3600)
        )
        writer.queue(.access, capacity: 4096).append(line: bytes("a\n"))
        writer.queue(.audit, capacity: 4096).append(line: bytes("b\n"))
        usleep(10_000)
        writer.queue(.log, capacity: 4096).append(line: bytes("c\n"))
        #expect(Set(pipe.lines(3)) == ["a", "b", "c"])
        writer.stop(timeout: .seconds(30))
        pipe.closeReader()
    }

    @Test func linesOfAnySizeSurviveTheRingsEdge() async throws {
        let pipe = PipeSink()
        let writer = try LineWriter(descriptor: pipe.writing, accessLinger: .zero)
        let queue = writer.queue(.access, capacity: 4096)
        let received = Mutex<[String]?>(nil)
        Thread.detachNewThread {
            let lines = pipe.lines(.max)
            received.withLock { $0 = lines }
        }
        var random = SeededNumbers(seed: 42)
        var accepted: [String] = []
        for number in 0..<30_000 {
            let text = "\(number) " + String(repeating: "q", count: Int.random(in: 0..<700, using: &random))
            if queue.append(line: bytes(text + "\n")) { accepted.append(text) }
        }
        #expect(writer.stop(timeout: .seconds(30)))
        pipe.closeWriter()
        try await waitUntil("the reader has ended") { received.withLock { $0 != nil } }
        #expect(received.withLock { $0 } == accepted)
        #expect(queue.dropped == UInt64(30_000 - accepted.count))
    }

    @Test func dropsAreInTheMetrics() async throws {
        let pipe = PipeSink()
        let writer = try LineWriter(descriptor: pipe.writing)
        let registry = MetricsRegistry()
        writer.register(in: registry)
        let queue = writer.queue(.audit, capacity: 4096)
        queue.append(line: bytes(String(repeating: "v", count: 5000) + "\n"))
        let text = String(decoding: try await registry.render(), as: UTF8.self)
        #expect(text.contains("sallyport_log_dropped_total{stream=\"audit\"} 1\n"))
        #expect(text.contains("sallyport_log_dropped_total{stream=\"access\"} 0\n"))
        #expect(text.contains("sallyport_log_write_errors_total 0\n"))
        writer.stop(timeout: .seconds(30))
        pipe.closeReader()
    }
}
