#if canImport(Glibc)
import Glibc
#endif

/// The process as a whole.
enum Process {
    /// Ends the process; buffered lines have been flushed by whoever calls.
    static func exit(_ code: Int32) -> Never {
        #if canImport(Glibc)
        Glibc.exit(code)
        #endif
    }

    /// A reader of our output that has gone away is a failed write, not our end.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    static let standardOutput: Int32 = 1
}
