import CLinux
import Glibc
import NIOCore

/// System calls, and the checks of their results.
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

    /// Returns the bytes of a socket's own address or of its peer's. `nil` if there is none.
    ///
    /// - Parameter call: `getsockname` or `getpeername`.
    static func name(
        of descriptor: Int32,
        _ call: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> [UInt8]? {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &size) }
        }
        return result == 0 ? withUnsafeBytes(of: address) { Array($0.prefix(Int(size))) } : nil
    }

    /// Makes the system close a socket with RST.
    static func resetOnClose(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}
