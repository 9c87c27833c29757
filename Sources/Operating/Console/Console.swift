package import ArgumentParser
import Settings
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// Reads from, and prints for, the person or script that called a command.
package enum Console {
    /// More than fits into a header field.
    static let longestToken = 65_536

    /// Writes `text` and a line break to standard output.
    package static func say(_ text: String) {
        self.write(Array("\(text)\n".utf8), to: STDOUT_FILENO)
    }

    /// Writes `text` and a line break to standard error.
    package static func complain(_ text: String) {
        self.write(Array("\(text)\n".utf8), to: STDERR_FILENO)
    }

    /// Prints why a command cannot do its work, and returns the error that ends it with exit status 1.
    package static func failure(_ text: String) -> ExitCode {
        self.complain(text)
        return .failure
    }

    /// Writes the bytes as they are to standard output.
    static func say(exactly bytes: [UInt8]) {
        self.write(bytes, to: STDOUT_FILENO)
    }

    /// The error number of the last write to standard output that failed; 0 if none has.
    private static let fault = Atomic<CInt>(0)

    /// The exit status of a command that has ended with `status`: if a part of its output is lost, says why on standard
    /// error, and returns 1 instead of 0.
    package static func status(after status: CInt) -> CInt {
        let code = self.fault.load(ordering: .relaxed)
        guard code != 0 else { return status }
        self.complain("sallyport: cannot write to standard output: \(String(cString: strerror(code)))")
        return status == EXIT_SUCCESS ? EXIT_FAILURE : status
    }

    /// Writes all bytes. A reader of standard output that goes away has read what it wanted; any other failure is kept for
    /// `status(after:)`.
    private static func write(_ bytes: [UInt8], to descriptor: CInt) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count < 0 else {
                rest = rest.dropFirst(count)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Another program has made what both write to non-blocking.
                var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&event, 1, -1)
            case let code:
                if descriptor == STDOUT_FILENO, code != EPIPE { self.fault.store(code, ordering: .relaxed) }
                return
            }
        }
    }

    /// The first bytes of a file, or of standard input for `-`; nil: it cannot be read.
    static func read(_ file: String, atMost count: Int) -> [UInt8]? {
        file == "-"
            ? SettingsFiles.bytes(of: STDIN_FILENO, atMost: count) : SettingsFiles.bytes(ofFile: file, atMost: count)
    }

    /// The token in such a file, without blanks and line breaks around it.
    static func readToken(_ file: String) -> [UInt8]? {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let bytes = self.read(file, atMost: self.longestToken) else { return nil }
        return Array(bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
