import CLinux
import Glibc

/// Functions and values of the whole process.
package enum Process {
    /// Logs the signal that ends a crashing process. The core dump and the exit status stay the same.
    package static func reportFatalSignals() {
        sallyport_use_signal_stack()
        sallyport_report_fatal_signals(self.standardOutput)
    }

    /// The descriptor of standard output.
    package static let standardOutput: Int32 = 1

    /// Opens `/dev/null` for each closed standard descriptor. Otherwise a file or socket could get its number and
    /// receive what is printed. The direction is reversed (input for writing, output for reading): using the descriptor
    /// still fails.
    package static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Ends the process with this exit status, after flushing buffered output.
    ///
    /// Exit handlers do not run. While other threads continue, OpenSSL's handler could free memory that they use.
    package static func end(_ status: Int32) -> Never {
        fflush(nil)
        _exit(status)
    }

    /// The environment variables. If a name occurs twice, the first value applies (as with `getenv`).
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
    /// The working directory; empty if it was removed.
    package static var folder: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }

    /// The machine's name; empty if it cannot be read.
    package static var hostName: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { name in
            guard let start = name.baseAddress, gethostname(start, name.count) == 0 else { return "" }
            name[name.count - 1] = 0
            return String(cString: start)
        }
    }

    /// The arguments after the program's name. The runtime finds no arguments if a preloaded library called `setenv`.
    /// They are then read from `/proc`.
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
