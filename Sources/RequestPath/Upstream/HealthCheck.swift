package import NIOCore
package import Settings
import Transport

/// One question to a server of an app: whether it is there. Only the status line of the answer counts; the rest is read as
/// well, because an app whose answer is cut off by a reset has an error to log, at each check.
final class HealthCheck: StreamHandler {
    /// The most bytes of an answer.
    private static let limit = 65_536
    /// The most bytes of interim answers (RFC 9110 15.2).
    private static let interimLimit = 8192

    private let health: HealthSettings
    private let request: String
    private var stream: (any ByteStream)?
    private var head: [UInt8] = []
    private var then: ((CheckFault?) -> Void)?
    private var unread = limit
    /// Ends the check when it takes too long.
    var timer: Scheduled<Void>?

    /// - Parameter then: Called once with why the server is not there; `nil` if it is.
    init(_ health: HealthSettings, of server: ServerSettings, _ then: @escaping (CheckFault?) -> Void) {
        self.health = health
        self.then = then
        self.request = """
            GET \(health.path) HTTP/1.1\r
            Host: \(health.host ?? server.authority)\r
            User-Agent: sallyport-health\r
            Accept: */*\r
            Connection: close\r
            \r

            """
    }

    /// Sends the question over a stream that has connected.
    func start(on stream: any ByteStream) {
        guard self.then != nil, (try? stream.start(self)) != nil else {
            stream.close()
            return self.end(.closed)
        }
        self.stream = stream
        stream.writeAndFlush(ByteBuffer(string: self.request))
    }

    /// Ends the check, if it has not ended, and its connection.
    func end(_ fault: CheckFault) {
        self.timer.take()?.cancel()
        self.stream.take()?.close()
        self.head = []
        self.then.take()?(fault)
    }

    func received(_ buffer: inout ByteBuffer) {
        let count = buffer.readableBytes
        if self.then != nil { self.head += buffer.readableBytesView }
        buffer.clear()
        self.unread -= min(count, self.unread)
        if self.then != nil, let verdict = self.verdict() {
            self.head = []
            self.then.take()?(verdict)
        }
        if self.unread == 0 { self.end(.malformed) }
    }

    func becameWritable() {}

    func closed(isClean: Bool) {
        self.stream = nil
        self.end(.closed)
    }

    /// What is wrong with the answer, `.some(nil)` if it is a good one, and `nil` if its status has not come yet.
    private func verdict() -> CheckFault?? {
        var rest = self.head[...]
        while rest.count >= 12 {
            // `HTTP/1.1 200`
            guard let status = Self.status(rest.prefix(12)) else { return .some(.malformed) }
            // What agrees to another protocol is no interim answer, and nobody has asked for that.
            guard 100..<200 ~= status, status != 101 else {
                return .some(self.health.isGood(status) ? nil : .status(status))
            }
            guard let end = rest.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) else { break }
            rest = rest[end.upperBound...]
        }
        return self.head.count > Self.interimLimit ? .some(.malformed) : nil
    }

    /// The status in the first twelve bytes of an answer; nil: they are not HTTP/1.
    private static func status(_ line: ArraySlice<UInt8>) -> Int? {
        guard line.starts(with: "HTTP/1.".utf8), line.dropFirst(8).first == 0x20 else { return nil }
        return Int(String(decoding: line.dropFirst(9), as: UTF8.self))
    }
}

/// What the checks of a server have found, one after the other. It has no clock and no sockets.
package struct HealthCount {
    private var passes = 0
    private var fails = 0
    private var next = NIODeadline.uptimeNanoseconds(0)
    private var isRunning = false

    package init() {}

    /// Whether a check begins now, of which `end` is told.
    package mutating func begin(now: NIODeadline, every interval: TimeAmount) -> Bool {
        guard !self.isRunning, now >= self.next else { return false }
        self.isRunning = true
        self.next = now + interval
        return true
    }

    /// Whether the server is down after one more check; nil: that stays as it is.
    package mutating func end(_ isGood: Bool, _ health: HealthSettings) -> Bool? {
        self.isRunning = false
        self.passes = isGood ? self.passes + 1 : 0
        self.fails = isGood ? 0 : self.fails + 1
        if self.passes >= health.passes { return false }
        return self.fails >= health.fails ? true : nil
    }
}
