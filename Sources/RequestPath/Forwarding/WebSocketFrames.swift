/// Follows the frame lengths of a WebSocket stream (RFC 6455 5.2) without reading the contents, so that the gateway can
/// insert its own close frame between two frames and never inside one.
package struct WebSocketFrames: Sendable, Equatable {
    private var header: (UInt8, UInt8) = (0, 0)
    private var headerCount = 0
    private var extendedLength: UInt64 = 0
    private var extendedRemaining = 0
    private var payloadRemaining: UInt64 = 0
    private var maskRemaining = 0
    /// False after bytes that are not valid frames. Then no frame may be inserted.
    package private(set) var isFollowing = true

    package init() {}

    package static func == (left: WebSocketFrames, right: WebSocketFrames) -> Bool {
        left.isBetweenFrames == right.isBetweenFrames && left.payloadRemaining == right.payloadRemaining
    }

    /// True when the next byte begins a frame.
    package var isBetweenFrames: Bool {
        self.isFollowing && self.headerCount == 0 && self.payloadRemaining == 0
    }

    /// Records bytes that are passed on.
    package mutating func pass(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count, self.isFollowing {
            if self.headerCount == 0, self.payloadRemaining > 0 {
                let count = min(UInt64(bytes.count - index), self.payloadRemaining)
                self.payloadRemaining -= count
                index += Int(count)
                continue
            }
            self.headerByte(bytes[index])
            index += 1
        }
    }

    private mutating func headerByte(_ byte: UInt8) {
        if self.headerCount == 0 {
            self.header.0 = byte
            self.headerCount = 1
        } else if self.headerCount == 1 {
            self.header.1 = byte
            self.headerCount = 2
            self.maskRemaining = byte & 0x80 == 0 ? 0 : 4
            self.extendedLength = 0
            switch byte & 0x7F {
            case 126: self.extendedRemaining = 2
            case 127: self.extendedRemaining = 8
            default:
                self.extendedRemaining = 0
                self.extendedLength = UInt64(byte & 0x7F)
            }
            self.finishHeader()
        } else if self.extendedRemaining > 0 {
            self.extendedLength = self.extendedLength << 8 | UInt64(byte)
            self.extendedRemaining -= 1
            self.finishHeader()
        } else {
            self.maskRemaining -= 1
            self.finishHeader()
        }
    }

    private mutating func finishHeader() {
        guard self.extendedRemaining == 0, self.maskRemaining == 0 else { return }
        if self.extendedLength > UInt64(Int64.max) {
            self.isFollowing = false
            return
        }
        self.payloadRemaining = self.extendedLength
        self.headerCount = 0
    }

    /// A close frame from the server with status 1008, "policy violation" (RFC 6455 7.4.1): the session has ended.
    package static let sessionEnded: [UInt8] = [0x88, 0x02, 0x03, 0xF0]
    /// The same with status 1013, "try again later" (IANA, WebSocket Close Code Number Registry).
    package static let tryAgainLater: [UInt8] = [0x88, 0x02, 0x03, 0xF5]
}
