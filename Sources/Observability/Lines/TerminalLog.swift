import Glibc
import Synchronization

/// Shows the lines of a `LineWriter` as text on a terminal. A thread reads them from a pipe and writes to the terminal.
/// Nothing else waits for a slow or stopped terminal (Ctrl-S).
package final class TerminalLog: Sendable {
    private struct State {
        /// The text to show before all lines; `nil` until `open` is called.
        var first: String?
        var isEnding = false
        var hasEnded = false
    }

    /// The maximum number of lines to keep until `open` is called.
    private static let most = 1000

    /// The descriptor for the `LineWriter`.
    package let descriptor: Int32
    private let source: Int32
    /// A pipe. A byte in it makes the thread check the state.
    private let calls: (source: Int32, target: Int32)
    private let output: Int32
    private let state = Mutex(State())

    /// `nil` if the system cannot create a pipe or thread.
    ///
    /// - Parameter output: The terminal.
    package init?(output: Int32) {
        guard let lines = Self.pipe() else { return nil }
        guard let calls = Self.pipe() else {
            for end in [lines.source, lines.target] { close(end) }
            return nil
        }
        // A full pipe must not block `call`.
        for end in [calls.source, calls.target] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        (self.source, self.descriptor, self.calls, self.output) = (lines.source, lines.target, calls, output)
        guard OutputThread.start({ self.run() }) == 0 else {
            for end in [lines.source, lines.target, calls.source, calls.target] { close(end) }
            return nil
        }
    }

    private static func pipe() -> (source: Int32, target: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Shows `text` (unless empty), the lines kept so far, and from now on each line at once. Later calls do nothing.
    package func open(with text: String) {
        self.state.withLock { state in
            if state.first == nil { state.first = text }
        }
        self.call()
    }

    /// Waits up to a second until all lines written so far are shown.
    package func finish() {
        self.open(with: "")
        self.state.withLock { $0.isEnding = true }
        self.call()
        for _ in 0..<200 where !self.state.withLock({ $0.hasEnded }) { usleep(5_000) }
    }

    private func call() {
        var byte: UInt8 = 0
        _ = write(self.calls.target, &byte, 1)
    }

    // MARK: The thread

    private func run() {
        var piece = [UInt8](repeating: 0, count: 65_536)
        var rest: [UInt8] = []
        var waiting: [String] = []
        var isOpen = false
        while true {
            let state = self.state.withLock { $0 }
            if !isOpen, let first = state.first {
                isOpen = true
                if !first.isEmpty { self.put(first) }
                for line in waiting { self.put(line) }
                waiting = []
            }
            var polls = [self.source, self.calls.source].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            _ = poll(&polls, nfds_t(polls.count), state.isEnding ? 0 : -1)
            if polls[1].revents != 0 {
                _ = piece.withUnsafeMutableBytes { read(self.calls.source, $0.baseAddress, $0.count) }
            }
            guard polls[0].revents != 0 else {
                guard state.isEnding else { continue }
                // The pipe is empty: all lines written before `finish` have been shown.
                return self.state.withLock { $0.hasEnded = true }
            }
            let count = piece.withUnsafeMutableBytes { read(self.source, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest += piece[..<count]
            while let end = rest.firstIndex(of: 0x0A) {
                let line = TerminalText.line(rest[..<end])
                if isOpen { self.put(line) } else if waiting.count < Self.most { waiting.append(line) }
                rest.removeSubrange(...end)
            }
        }
    }

    private func put(_ line: String) {
        var rest = Array("\(line)\n".utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(self.output, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // Another program made this terminal non-blocking.
                var poll = pollfd(fd: self.output, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, 250)
                continue
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
