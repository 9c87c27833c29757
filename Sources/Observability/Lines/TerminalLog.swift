import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// Shows the lines of a `LineWriter` on a terminal as text. A thread of its own reads what the writer writes, so that
/// nothing else knows of it.
package final class TerminalLog: Sendable {
    private struct State {
        /// Lines wait until something is said first.
        var isOpen = false
        var waiting: [String] = []
        var hasEnded = false
    }

    /// What ends the output: no line of a writer begins with this byte.
    private static let end: [UInt8] = [0, 0x0A]
    /// The most lines that wait.
    private static let most = 1000

    /// Where the writer writes.
    package let descriptor: Int32
    private let source: Int32
    private let output: Int32
    private let state = Mutex(State())

    /// nil: the system has no pipe or no thread for it.
    ///
    /// - Parameter output: The terminal.
    package init?(output: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (self.source, self.descriptor, self.output) = (ends[0], ends[1], output)
        guard OutputThread.start({ self.run() }) == 0 else {
            close(ends[0])
            close(ends[1])
            return nil
        }
    }

    /// Writes `text` before all lines of the log, and the lines from now on.
    ///
    /// - Parameter text: Empty: nothing is said first.
    package func open(with text: String) {
        self.state.withLock { state in
            guard !state.isOpen else { return }
            state.isOpen = true
            let lines = (text.isEmpty ? [] : [text]) + state.waiting
            state.waiting = []
            for line in lines { self.put(line) }
        }
    }

    /// Waits, a second at most, until what the writer has written is shown.
    package func finish() {
        self.open(with: "")
        _ = Self.end.withUnsafeBytes { write(self.descriptor, $0.baseAddress, $0.count) }
        for _ in 0..<200 where !self.state.withLock({ $0.hasEnded }) { usleep(5_000) }
    }

    private func run() {
        var piece = [UInt8](repeating: 0, count: 65_536)
        var rest: [UInt8] = []
        while true {
            let count = piece.withUnsafeMutableBytes { read(self.source, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest += piece[..<count]
            while let end = rest.firstIndex(of: 0x0A) {
                let line = rest[..<end]
                if line.elementsEqual(Self.end.dropLast()) {
                    self.state.withLock { $0.hasEnded = true }
                } else {
                    self.show(TerminalText.line(line))
                }
                rest.removeSubrange(...end)
            }
        }
    }

    private func show(_ line: String) {
        self.state.withLock { state in
            if state.isOpen {
                self.put(line)
            } else if state.waiting.count < Self.most {
                state.waiting.append(line)
            }
        }
    }

    private func put(_ line: String) {
        var rest = Array("\(line)\n".utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(self.output, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
