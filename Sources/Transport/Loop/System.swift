import Glibc
import NIOCore

/// Checks the results of system calls.
enum System {
    /// Returns the error of the system call that has just failed.
    static func error(_ call: String) -> IOError {
        IOError(errnoCode: errno, reason: call)
    }

    /// - Throws: `IOError` if the call failed.
    @discardableResult
    static func check(_ result: Int32, _ call: String) throws -> Int32 {
        if result < 0 { throw self.error(call) }
        return result
    }
}
