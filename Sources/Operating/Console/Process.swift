import CLinux
import Glibc

/// The process as a whole.
package enum Process {
    /// Has a fault write a last line that names its signal, in the form of the log. Core dump and exit status stay what they
    /// are.
    package static func reportFatalSignals() {
        sallyport_use_signal_stack()
        sallyport_report_fatal_signals(self.standardOutput)
    }

    /// The descriptor of standard output.
    package static let standardOutput: Int32 = 1

    /// Opens `/dev/null` in the place of each standard descriptor that is closed, so that no file or socket gets its number
    /// and what is printed. It is opened the wrong way round: what is printed to a closed descriptor fails, as it should.
    package static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Ends the process with this exit status, after what was printed is written.
    ///
    /// `exit` would also run the handlers of libraries while other threads go on: OpenSSL's frees what a thread may be
    /// using to make a key. So no handler runs, and no thread does anything in a process that is half taken down.
    package static func end(_ status: Int32) -> Never {
        fflush(nil)
        _exit(status)
    }

    /// The variables of the environment. If a name occurs twice, its first value applies, as with `getenv`.
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
    /// The folder in which the process works, where relative paths begin. Empty if it has been removed.
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

    /// The words behind the program's name. The runtime looks for them beside the environment, and finds none if a preloaded
    /// library has moved that (`setenv`).
    package static var words: [String] {
        let known = CommandLine.arguments
        guard known.isEmpty, let file = fopen("/proc/self/cmdline", "r") else { return Array(known.dropFirst()) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        // A zero byte ends each of them.
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false).dropFirst().dropLast()
        return words.map { String(decoding: $0, as: UTF8.self) }
    }
}
