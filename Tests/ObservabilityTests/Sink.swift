import Foundation
import Observability
import Synchronization

/// A temporary file that a `LineWriter` writes to.
final class FileSink: Sendable {
    let writer: LineWriter
    private let descriptor: Int32
    private let path: String

    init() throws {
        self.path = FileManager.default.temporaryDirectory.path + "/sallyport-lines-\(UUID().uuidString)"
        self.descriptor = open(self.path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        self.writer = try LineWriter(descriptor: self.descriptor)
    }

    deinit {
        self.writer.stop(timeout: .seconds(10))
        close(self.descriptor)
        unlink(self.path)
    }

    /// Everything written so far; nil when the writer could not write it.
    func contents() -> [UInt8]? {
        guard self.writer.flush(timeout: .seconds(30)) else { return nil }
        return FileManager.default.contents(atPath: self.path).map(Array.init)
    }

    /// Each line, decoded as a JSON object.
    func objects() throws -> [[String: Any]] {
        try (self.contents() ?? []).split(separator: 0x0A).map { line in
            try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] ?? [:]
        }
    }
}

/// A pipe that is read only when the test asks.
final class PipeSink: Sendable {
    let reading: Int32
    let writing: Int32
    private let isWriterClosed = Mutex(false)

    init(isBlocking: Bool = true) {
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        // A child process of another test must not inherit the end that this one closes.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        self.reading = ends[0]
        self.writing = ends[1]
        if !isBlocking { _ = fcntl(self.writing, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        self.closeWriter()
    }

    /// Fills the pipe, so that the next write waits for a reader. Returns how many lines are in it.
    func fill() -> Int {
        let flags = fcntl(self.writing, F_GETFL)
        _ = fcntl(self.writing, F_SETFL, flags | O_NONBLOCK)
        defer { _ = fcntl(self.writing, F_SETFL, flags) }
        let line = [UInt8](repeating: 0x66, count: 4095) + [0x0A]
        var lines = 0
        while write(self.writing, line, line.count) == line.count { lines += 1 }
        return lines
    }

    /// Reads until `count` lines have arrived or the writing end is closed.
    func lines(_ count: Int) -> [String] {
        var bytes: [UInt8] = []
        var found = 0
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while found < count {
            let got = read(self.reading, &chunk, chunk.count)
            if got <= 0 { break }
            found += chunk[..<got].count { $0 == 0x0A }
            bytes += chunk[..<got]
        }
        return bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast().map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Only once: later the number may belong to another test's file.
    func closeWriter() {
        self.isWriterClosed.withLock { isClosed in
            if !isClosed { close(self.writing) }
            isClosed = true
        }
    }

    func closeReader() {
        close(self.reading)
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
