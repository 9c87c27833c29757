import NIOCore

extension Listener {
    /// Lets nobody new in, and takes those who are in the kernel's queue already.
    ///
    /// Closing a listening socket resets what waits in its queue, together with the requests that were sent over it: a
    /// proxy in front must not send a POST again whose connection stood. So for a moment the kernel drops what would open
    /// a connection (`SO_ATTACH_FILTER`, socket(7)), and after `close` refuses it. Where there are no such filters, this
    /// does nothing.
    package func takeLast(within moment: Duration) async {
        guard let options = self.channel as? any SocketOptionProvider else { return }
        try? await options.unsafeSetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: FilterProgram.option),
            value: FilterProgram.dropsOpenings
        ).get()
        try? await Task.sleep(for: moment)
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

    /// `SO_ATTACH_FILTER`
    static let option: CInt = 26

    /// Drops what opens a connection, and lets pass what belongs to one that is being opened. A filter of a TCP socket sees
    /// segments from their header on.
    static let dropsOpenings: FilterProgram = {
        let program = [
            // The flags, of which SYN without ACK opens.
            Instruction(code: 0x30, operand: 13),
            Instruction(code: 0x54, operand: 0x12),
            Instruction(code: 0x15, whenFalse: 1, operand: 0x02),
            // None of its bytes passes, or all.
            Instruction(code: 0x06, operand: 0),
            Instruction(code: 0x06, operand: .max),
        ]
        // Its memory is needed for as long as the process may stop.
        let memory = UnsafeMutableBufferPointer<Instruction>.allocate(capacity: program.count)
        _ = memory.initialize(from: program)
        return FilterProgram(count: UInt16(program.count), address: UInt(bitPattern: memory.baseAddress))
    }()
}
