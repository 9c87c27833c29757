package import NIOCore

/// Limits what an HTTP/2 client may send and use besides its requests. Each kind of frame has a limit, because frames
/// are cheap for the client (CVE-2019-9511 to -9518, CVE-2023-44487, CVE-2024-27316, CVE-2025-8671). A connection that
/// exceeds a limit is closed with ENHANCE_YOUR_CALM.
package struct HTTP2Budget {
    /// A token bucket: allows a burst and refills with time.
    private struct Bucket {
        private let capacity: Int64
        private let perSecond: Int64
        /// The remaining tokens, in thousandths of a token.
        private var room: Int64
        private var filledAt: NIODeadline

        init(_ capacity: Int64, perSecond: Int64, now: NIODeadline) {
            self.capacity = capacity * 1000
            self.perSecond = perSecond
            self.room = self.capacity
            self.filledAt = now
        }

        /// Uses a token. Returns false if none is left.
        mutating func take(_ now: NIODeadline) -> Bool {
            let milliseconds = (now - self.filledAt).nanoseconds / 1_000_000
            if milliseconds > 0 {
                self.room = min(self.capacity, self.room + min(milliseconds, 86_400_000) * self.perSecond)
                self.filledAt = now
            }
            guard self.room >= 1000 else { return false }
            self.room -= 1000
            return true
        }
    }

    /// The maximum number of CONTINUATION frames in a field block. `blockTime` limits the block's time.
    static let maxContinuations = 8
    static let blockTime = TimeAmount.seconds(5)
    static let maxEmptyData = 10
    /// The maximum number of PRIORITY frames. Each stream adds two, because clients send them with requests.
    static let maxPriorities = 1000
    /// The maximum number of WINDOW_UPDATE frames. Each stream adds two (Firefox), each sent DATA frame adds ten.
    static let maxWindowUpdates = 100
    /// The maximum number of free PINGs. Each sent DATA or HEADERS frame and each received part of content earns one,
    /// because many clients measure the round trip during a transfer.
    static let maxFreePings = 1000
    static let maxQueued = 1000
    static let maxStalls = 3
    /// The payload in bytes with which each connection starts. Received bytes may be at most eight times the payload.
    static let freeOverhead = 1 << 20

    private var resets: Bucket
    private var pings: Bucket
    private var settings: Bucket
    private var streams = 0
    private var continuations = 0
    private var emptyData = 0
    private var priorities = 0
    private var windowUpdates = 0
    private var freePings = 0
    private var sentData = 0
    private var received = 0
    private var payload = 0
    private var stalls: [NIODeadline] = []

    package init(now: NIODeadline) {
        self.resets = Bucket(100, perSecond: 20, now: now)
        self.pings = Bucket(30, perSecond: 30, now: now)
        self.settings = Bucket(10, perSecond: 10, now: now)
    }

    /// Records the start of a frame.
    ///
    /// - Returns: The limit that the frame exceeds. `nil` if it exceeds none.
    package mutating func frame(_ type: HTTP2FrameType?, now: NIODeadline) -> HTTP2Excess? {
        switch type {
        case .headers:
            self.streams += 1
            self.continuations = 0
        case .continuation:
            self.continuations += 1
            if self.continuations > Self.maxContinuations { return .fieldBlock }
        case .priority:
            self.priorities += 1
            if self.priorities > 2 * self.streams + Self.maxPriorities { return .priorities }
        case .settings:
            if !self.settings.take(now) { return .settings }
        case .ping:
            if self.freePings > 0 { self.freePings -= 1 } else if !self.pings.take(now) { return .pings }
        case .windowUpdate:
            self.windowUpdates += 1
            if self.windowUpdates > 2 * self.streams + 10 * self.sentData + Self.maxWindowUpdates {
                return .windowUpdates
            }
        case .data, .reset, .goAway, nil:
            break
        }
        return nil
    }

    /// Records an empty DATA frame that does not end its stream.
    package mutating func emptyDataCame() -> HTTP2Excess? {
        self.emptyData += 1
        return self.emptyData > Self.maxEmptyData ? .emptyData : nil
    }

    /// Records received content.
    package mutating func dataCame(_ count: Int) {
        self.emptyData = 0
        self.payload &+= count
        self.freePing()
    }

    /// Records a received field.
    @inline(__always)
    package mutating func fieldCame(_ count: Int) { self.payload &+= count }

    /// Records a sent DATA frame.
    @inline(__always)
    package mutating func dataSent(_ count: Int) {
        self.sentData &+= 1
        self.payload &+= count
        self.freePing()
    }

    /// Records a sent HEADERS frame.
    @inline(__always)
    package mutating func fieldsSent() { self.freePing() }

    @inline(__always)
    private mutating func freePing() { self.freePings = min(self.freePings &+ 1, Self.maxFreePings) }

    /// Records received bytes.
    package mutating func bytesCame(_ count: Int) -> HTTP2Excess? {
        self.received &+= count
        return self.received / 8 > self.payload &+ Self.freeOverhead ? .overhead : nil
    }

    /// Records a reset of a stream by the client or because of its fault.
    package mutating func streamWasReset(now: NIODeadline) -> HTTP2Excess? { self.resets.take(now) ? nil : .resets }

    /// Records a reset of a stream whose answer the client did not read.
    package mutating func streamStalled(now: NIODeadline) -> HTTP2Excess? {
        self.stalls = self.stalls.filter { now - $0 < .minutes(1) } + [now]
        return self.stalls.count >= Self.maxStalls ? .stalls : nil
    }
}

/// The types of frames (RFC 9113 6). libnghttp2 skips unknown types.
package enum HTTP2FrameType: UInt8, Sendable {
    case data = 0
    case headers = 1
    case priority = 2
    case reset = 3
    case settings = 4
    case ping = 6
    case goAway = 7
    case windowUpdate = 8
    case continuation = 9
}
