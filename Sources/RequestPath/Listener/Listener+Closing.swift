import Glibc
import NIOCore
import Transport

extension Listener {
    /// The maximum number of checks whether the kernel's queue is empty.
    private static let maxMoments = 50

    /// Admits no new connections, and accepts the connections in the kernel's queue.
    ///
    /// Closing a listening socket resets the connections in its queue, and a proxy must not retry a POST after a reset.
    /// Therefore, a socket filter (`SO_ATTACH_FILTER`, socket(7)) drops new connections until the queue is empty.
    /// Returns at once if the system has no socket filters.
    ///
    /// - Parameter moment: The time to wait before each check of the queue.
    package func acceptQueued(within moment: Duration) async {
        guard await self.option({ Self.setFilter($0) }) else { return }
        for _ in 0..<Self.maxMoments {
            try? await Task.sleep(for: moment)
            guard await self.option({ Self.hasQueue($0) }) else { return }
        }
    }

    /// Runs `body` with the socket's descriptor on the socket's loop, and returns the result.
    private func option(_ body: @escaping @Sendable (Int32) -> Bool) async -> Bool {
        let answer = self.socket.eventLoop.submit { self.socket.value.withDescriptor(body) }
        return (try? await answer.get()) ?? false
    }

    private static func setFilter(_ descriptor: Int32) -> Bool {
        var program = FilterProgram.dropsOpenings
        return setsockopt(
            descriptor,
            SOL_SOCKET,
            FilterProgram.option,
            &program,
            socklen_t(MemoryLayout<FilterProgram>.size)
        ) == 0
    }

    private static func hasQueue(_ descriptor: Int32) -> Bool {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        // For a listening socket, this is the length of its queue (tcp(7), `TCP_INFO`).
        return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 && info.tcpi_unacked > 0
    }
}

/// `struct sock_fprog` of linux/filter.h.
private struct FilterProgram {
    /// `struct sock_filter`.
    private struct Instruction {
        var code: UInt16
        var whenTrue: UInt8 = 0
        var whenFalse: UInt8 = 0
        var operand: UInt32
    }

    private var count: UInt16
    private var address: UInt

    /// The socket option `SO_ATTACH_FILTER`.
    static let option: CInt = 26

    /// A filter that drops the first segment (SYN) of each new connection, and passes the segments of connections that
    /// are already being opened. A TCP socket's filter sees segments from their TCP header on.
    static let dropsOpenings: FilterProgram = {
        let program = [
            // The TCP flags: SYN without ACK opens a connection.
            Instruction(code: 0x30, operand: 13),
            Instruction(code: 0x54, operand: 0x12),
            Instruction(code: 0x15, whenFalse: 1, operand: 0x02),
            // Drop the segment, or pass all of it.
            Instruction(code: 0x06, operand: 0),
            Instruction(code: 0x06, operand: .max),
        ]
        // Never freed, because the constant may be used until the process ends.
        let memory = UnsafeMutableBufferPointer<Instruction>.allocate(capacity: program.count)
        _ = memory.initialize(from: program)
        return FilterProgram(count: UInt16(program.count), address: UInt(bitPattern: memory.baseAddress))
    }()
}
