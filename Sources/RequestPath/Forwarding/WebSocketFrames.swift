/// Follows the frame lengths of a WebSocket (RFC 6455 5.2). The gateway can then insert a close frame between frames.
package struct WebSocketFrames: Sendable, Equatable {
    /// The number of payload bytes still to come. Within a header, the length read so far.
    private var payloadRemaining: UInt64 = 0
    /// The first byte of the current frame's header.
    private var opcode: UInt8 = 0
    /// How many of a header's first two bytes have been read. 0 outside of a header.
    private var headerCount: UInt8 = 0
    private var lengthRemaining: UInt8 = 0
    private var maskRemaining: UInt8 = 0
    /// False after an invalid frame. No frame may be inserted then.
    package private(set) var isFollowing = true
    /// True after a close frame. No other frame may follow (RFC 6455 5.5.1).
    package private(set) var hasClosed = false
    /// True if data has passed since the last call of `takeData()`.
    private var hasData = false

    package init() {}

    package static func == (left: WebSocketFrames, right: WebSocketFrames) -> Bool {
        left.isBetweenFrames == right.isBetweenFrames && left.payloadRemaining == right.payloadRemaining
    }

    /// True if the next byte begins a frame.
    package var isBetweenFrames: Bool {
        self.isFollowing && self.headerCount == 0 && self.payloadRemaining == 0
    }

    /// True if the next byte continues a frame.
    package var isWithinFrame: Bool { self.isFollowing && !self.isBetweenFrames }

    /// True if a close frame may be inserted.
    package var mayClose: Bool { self.isBetweenFrames && !self.hasClosed }

    /// Returns true if a part of a data frame has passed since the last call. Ping, pong and close are ignored.
    package mutating func takeData() -> Bool {
        defer { self.hasData = false }
        return self.hasData
    }

    /// Records forwarded bytes.
    package mutating func pass(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count, self.isFollowing { index += self.step(bytes, index) }
    }

    /// Records the bytes up to the end of the current frame.
    ///
    /// - Returns: The number of these bytes. All bytes if the frame does not end in them.
    package mutating func passFrame(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var index = 0
        while index < bytes.count, self.isWithinFrame { index += self.step(bytes, index) }
        return self.isFollowing ? index : bytes.count
    }

    /// Records a header, one byte of a header, or payload. Returns the number of recorded bytes.
    @inline(__always)
    private mutating func step(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> Int {
        let available = bytes.count - index
        guard self.headerCount == 0 else {
            self.headerByte(bytes[index])
            return 1
        }
        if self.payloadRemaining > 0 {
            let count = min(UInt64(available), self.payloadRemaining)
            self.payloadRemaining -= count
            if self.isDataFrame { self.hasData = true }
            return Int(count)
        }
        self.opcode = bytes[index]
        // A fast path: the header of a short frame usually arrives complete.
        if available >= 6, bytes[index + 1] & 0x7F < 126 {
            self.payloadRemaining = UInt64(bytes[index + 1] & 0x7F)
            self.headerEnds()
            return bytes[index + 1] & 0x80 == 0 ? 2 : 6
        }
        self.headerCount = 1
        return 1
    }

    /// True if the current frame contains data. Control frames have the high bit of the opcode set (RFC 6455 5.2).
    private var isDataFrame: Bool { self.opcode & 0x08 == 0 }

    /// Records a header's byte after the first.
    private mutating func headerByte(_ byte: UInt8) {
        if self.headerCount == 1 {
            self.headerCount = 2
            self.maskRemaining = byte & 0x80 == 0 ? 0 : 4
            switch byte & 0x7F {
            case 126: self.lengthRemaining = 2
            case 127: self.lengthRemaining = 8
            default: self.payloadRemaining = UInt64(byte & 0x7F)
            }
        } else if self.lengthRemaining > 0 {
            self.payloadRemaining = self.payloadRemaining << 8 | UInt64(byte)
            self.lengthRemaining -= 1
        } else {
            self.maskRemaining -= 1
        }
        if self.lengthRemaining == 0, self.maskRemaining == 0 { self.headerEnds() }
    }

    @inline(__always)
    private mutating func headerEnds() {
        guard self.payloadRemaining <= UInt64(Int64.max) else {
            self.isFollowing = false
            return
        }
        self.headerCount = 0
        if self.isDataFrame { self.hasData = true }
        if self.opcode & 0x0F == 0x08 { self.hasClosed = true }
    }
}

/// The status of a close frame (RFC 6455 7.4.1).
package enum WebSocketStatus: UInt16 {
    /// The gateway is stopping.
    case goingAway = 1001
    /// The session has ended, or the client's certificate has expired.
    case policyViolation = 1008
    case tryAgainLater = 1013

    private var payload: [UInt8] {
        [UInt8(truncatingIfNeeded: self.rawValue >> 8), UInt8(truncatingIfNeeded: self.rawValue)]
    }

    /// The close frame of a server, without a mask.
    package var closeFrame: [UInt8] { [0x88, 0x02] + self.payload }

    /// The close frame of a client, with a mask (RFC 6455 5.3).
    package var maskedCloseFrame: [UInt8] {
        let mask = (0..<4).map { _ in UInt8.random(in: .min ... .max) }
        return [0x88, 0x82] + mask + zip(self.payload, mask).map { $0 ^ $1 }
    }
}
