import CLinux
import Glibc

/// The process as a whole.
package enum Process {
    /// Makes a crash write a last log line that names the signal. The core dump and the exit status do not change.
    package static func reportFatalSignals() {
        sallyport_use_signal_stack()
        sallyport_report_fatal_signals(self.standardOutput)
    }

    /// The descriptor of standard output.
    package static let standardOutput: Int32 = 1

    /// Opens `/dev/null` for each closed standard descriptor, so that no file or socket gets its number and receives
    /// what is printed. The direction is reversed (input for writing, output for reading), so that using the descriptor
    /// still fails.
    package static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Ends the process with this exit status after flushing buffered output.
    ///
    /// No exit handler runs. `exit` would run the handlers of libraries while other threads continue, and OpenSSL's
    /// handler frees memory that a thread may be using to make a key.
    package static func end(_ status: Int32) -> Never {
        fflush(nil)
        _exit(status)
    }

    /// The environment variables. If a name occurs twice, its first value applies, as with `getenv`.
    package static let environment: [String: String] = {
        var variables: [String: String] = [:]
        guard var next = process_environment() else { return variables }
        while let variable = next.pointee {
            let text = String(cString: variable)
            next += 1
            guard let mark = text.firstIndex(of: "=") else { continue }
            let name = String(text[..<mark])
            if variables[name] == nil { variables[name] = String(text[text.index(after: mark)...]) }
        }
        return variables
    }()
}

extension Process {
    /// The working directory, which relative paths start from. Empty if it has been removed.
    package static var folder: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }

    /// The machine's name. Empty if it cannot be read.
    package static var hostName: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { name in
            guard let start = name.baseAddress, gethostname(start, name.count) == 0 else { return "" }
            name[name.count - 1] = 0
            return String(cString: start)
        }
    }

    /// The arguments after the program's name. The runtime looks for arguments next to the environment. It finds none
    /// if a preloaded library has moved the environment (`setenv`), so `/proc` is the fallback.
    package static var words: [String] {
        let known = CommandLine.arguments
        guard known.isEmpty, let file = fopen("/proc/self/cmdline", "r") else { return Array(known.dropFirst()) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        // Each argument ends with a zero byte.
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false).dropFirst().dropLast()
        return words.map { String(decoding: $0, as: UTF8.self) }
    }
}
