package import ArgumentParser
import Glibc
import Settings
import Synchronization

/// Reads the input and writes the output of commands.
package enum Console {
    /// The maximum length of a token in bytes. Header fields are shorter.
    static let longestToken = 65_536

    /// Writes `text` and a line break to standard output.
    package static func say(_ text: String) {
        self.write(Array("\(text)\n".utf8), to: STDOUT_FILENO)
    }

    /// Writes `text` and a line break to standard error.
    package static func complain(_ text: String) {
        self.write(Array("\(text)\n".utf8), to: STDERR_FILENO)
    }

    /// Prints an error message. Returns the error that ends the command with exit status 1.
    package static func failure(_ text: String) -> ExitCode {
        self.complain(text)
        return .failure
    }

    /// Writes bytes to standard output, without a line break.
    static func say(exactly bytes: [UInt8]) {
        self.write(bytes, to: STDOUT_FILENO)
    }

    /// The error number of the last failed write to standard output; 0 if none failed.
    private static let fault = Atomic<CInt>(0)

    /// Returns the exit status for a command that ended with `status`. If output was lost, prints an error message and
    /// turns 0 into 1.
    package static func status(after status: CInt) -> CInt {
        let code = self.fault.load(ordering: .relaxed)
        guard code != 0 else { return status }
        self.complain("sallyport: cannot write to standard output: \(String(cString: strerror(code)))")
        return status == EXIT_SUCCESS ? EXIT_FAILURE : status
    }

    /// Writes all bytes. Failures on standard output are kept for `status(after:)`, except a closed pipe: its reader
    /// wants no more.
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
                // Another program made the shared descriptor non-blocking.
                var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&event, 1, -1)
            case let code:
                if descriptor == STDOUT_FILENO, code != EPIPE { self.fault.store(code, ordering: .relaxed) }
                return
            }
        }
    }

    /// Returns the first bytes of a file or, for `-`, of standard input; `nil` if they cannot be read.
    static func read(_ file: String, atMost count: Int) -> [UInt8]? {
        file == "-"
            ? SettingsFiles.bytes(of: STDIN_FILENO, atMost: count) : SettingsFiles.bytes(ofFile: file, atMost: count)
    }

    /// Returns the token in a file or, for `-`, on standard input, without white space around it; `nil` if unreadable.
    static func readToken(_ file: String) -> [UInt8]? {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let bytes = self.read(file, atMost: self.longestToken) else { return nil }
        return Array(bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
