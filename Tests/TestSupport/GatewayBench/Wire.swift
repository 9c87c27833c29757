import Dispatch
package import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// One TCP connection over system calls, with a deadline on every read. Used by one thread at a time.
package final class Wire: Sendable {
    /// The result of a read.
    package enum Event: Equatable {
        case bytes([UInt8])
        case end
        case reset
        case silence
    }

    private struct State {
        var descriptor: Int32
        var kept: [UInt8] = []
    }

    private let state: Mutex<State>

    /// A connected socket, which is closed with this object.
    package init(descriptor: Int32) {
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        self.state = Mutex(State(descriptor: descriptor))
    }

    /// Connects on loopback.
    ///
    /// - Parameters:
    ///     - source: The local address to connect from.
    ///     - receiveBuffer: The size in bytes of the kernel's receive buffer, for a client that does not read.
    package convenience init(to port: Int, from source: String? = nil, receiveBuffer: Int32? = nil) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BenchFailure("socket: \(errno)") }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        if let source {
            let result = Self.withAddress(source, 0) { bind(descriptor, $0, $1) }
            guard result == 0 else { throw BenchFailure("bind: \(errno)") }
        }
        let result = Self.withAddress("127.0.0.1", port) { connect(descriptor, $0, $1) }
        guard result == 0 else {
            let code = errno
            Glibc.close(descriptor)
            throw BenchFailure("connect to \(port): \(code)")
        }
        self.init(descriptor: descriptor)
    }

    deinit {
        self.close()
    }

    /// Calls a closure with an IPv4 socket address.
    package static func withAddress<Result>(
        _ host: String,
        _ port: Int,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private var descriptor: Int32 { self.state.withLock { $0.descriptor } }

    /// The IPv4 address of the other side; empty if there is none any more.
    package var peer: String {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(self.descriptor, $0, &length) }
        }
        guard result == 0 else { return "" }
        let bytes = withUnsafeBytes(of: address.sin_addr.s_addr) { Array($0) }
        return bytes.map(String.init).joined(separator: ".")
    }

    // MARK: Sending

    /// Sends everything; false if the other side stops reading for ten seconds or no longer accepts bytes.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            guard self.wait(for: Int16(POLLOUT), seconds: 10) else { return false }
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    self.descriptor,
                    $0.baseAddress.map { $0 + sent },
                    bytes.count - sent,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
                )
            }
            if count > 0 {
                sent += count
            } else if errno != EAGAIN, errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Sends text.
    @discardableResult
    package func send(_ text: String) -> Bool {
        self.send(Array(text.utf8))
    }

    /// Sends as much as is possible without waiting; returns the number of bytes.
    package func sendWhatFits(_ bytes: [UInt8]) -> Int {
        let count = bytes.withUnsafeBytes {
            Glibc.send(
                self.descriptor,
                $0.baseAddress,
                bytes.count,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            )
        }
        return max(count, 0)
    }

    /// True once the other side's system has acknowledged every byte that was sent (tcp(7), `SIOCOUTQ`).
    package var isDelivered: Bool {
        var count: Int32 = 0
        return ioctl(self.descriptor, UInt(TIOCOUTQ), &count) == 0 && count == 0
    }

    // MARK: Receiving

    /// Reads the next bytes, or how the connection ended.
    package func receive(seconds: Double = 5) -> Event {
        let kept = self.state.withLock { state in
            defer { state.kept = [] }
            return state.kept
        }
        if !kept.isEmpty { return .bytes(kept) }
        guard self.wait(for: Int16(POLLIN), seconds: seconds) else { return .silence }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = buffer.withUnsafeMutableBytes { recv(self.descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 { return .bytes(Array(buffer[..<count])) }
        return count == 0 ? .end : .reset
    }

    /// Puts bytes back, so that the next read returns them.
    package func keep(_ bytes: some Sequence<UInt8>) {
        self.state.withLock { $0.kept = Array(bytes) + $0.kept }
    }

    /// Reads until the end. The returned event is never `bytes`.
    package func receiveAll(seconds: Double = 5) -> (bytes: [UInt8], last: Event) {
        var all: [UInt8] = []
        while true {
            switch self.receive(seconds: seconds) {
            case .bytes(let bytes): all += bytes
            case let last:
                Secrets.shared.note(in: all)
                return (all, last)
            }
        }
    }

    /// Reads up to and including `mark`; nil if it does not arrive.
    package func receive(through mark: String, seconds: Double = 5) -> [UInt8]? {
        var all: [UInt8] = []
        let mark = Array(mark.utf8)
        let deadline = DispatchTime.now() + seconds
        while DispatchTime.now() < deadline {
            guard case .bytes(let bytes) = self.receive(seconds: seconds) else { break }
            all += bytes
            if let end = all.firstRange(of: mark)?.upperBound {
                self.keep(all[end...])
                return Array(all[..<end])
            }
        }
        self.keep(all)
        return nil
    }

    /// Reads exactly `count` bytes; nil if they do not arrive.
    package func receive(count: Int, seconds: Double = 5) -> [UInt8]? {
        var all: [UInt8] = []
        while all.count < count {
            guard case .bytes(let bytes) = self.receive(seconds: seconds) else {
                self.keep(all)
                return nil
            }
            all += bytes
        }
        self.keep(all[count...])
        return Array(all[..<count])
    }

    private func wait(for events: Int16, seconds: Double) -> Bool {
        var entry = pollfd(fd: self.descriptor, events: events, revents: 0)
        return poll(&entry, 1, Int32(seconds * 1000)) > 0
    }

    // MARK: The end

    /// Closes the connection.
    package func close() {
        self.state.withLock { state in
            if state.descriptor >= 0 { Glibc.close(state.descriptor) }
            state.descriptor = -1
        }
    }

    /// Sends FIN and keeps reading.
    package func finish() {
        shutdown(self.descriptor, Int32(SHUT_WR))
    }

    /// Ends the connection with RST.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        self.close()
    }

    /// Wakes a thread that is reading here, and that may be closing the connection just now.
    package func interrupt() {
        self.state.withLock { state in
            if state.descriptor >= 0 { shutdown(state.descriptor, Int32(SHUT_RDWR)) }
        }
    }
}

extension String {
    /// Decodes each byte as one Latin-1 character, so that no byte is lost.
    package init(latin1 bytes: some Sequence<UInt8>) {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: bytes.map { Unicode.Scalar($0) })
        self.init(text)
    }
}

/// Waits until a condition holds, for far longer than it can take on a busy machine; false if it does not hold in time.
package func eventually(within seconds: Double = 60, _ condition: () -> Bool) -> Bool {
    let deadline = DispatchTime.now() + seconds
    while !condition() {
        if DispatchTime.now() > deadline { return false }
        usleep(10_000)
    }
    return true
}
