#if canImport(Glibc)
import Glibc
#endif

/// The process as a whole.
enum Process {
    /// Ends the process; the caller has flushed buffered lines.
    static func exit(_ code: Int32) -> Never {
        #if canImport(Glibc)
        Glibc.exit(code)
        #endif
    }

    /// Turns a closed pipe into a failed write instead of the end of the process.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    static let standardOutput: Int32 = 1
}
