package import NIOCore
package import Settings
import Transport

/// One health check of a server. Only the status line of the answer matters. The rest is read, too: a reset at each
/// check would fill the app's error log.
final class HealthCheck: StreamHandler {
    /// The maximum number of bytes of an answer that are read.
    private static let limit = 65_536
    /// The maximum size of all interim answers in bytes (RFC 9110 15.2).
    private static let interimLimit = 8192

    private let health: HealthSettings
    private let request: String
    private var stream: (any ByteStream)?
    private var head: [UInt8] = []
    private var then: ((CheckFault?) -> Void)?
    private var unread = limit
    /// Ends the check after its timeout.
    var timer: Scheduled<Void>?

    /// - Parameter then: Called once with the reason why the server is down. The reason is `nil` if the server is up.
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

    /// Starts a connected stream and sends the request over it.
    func start(on stream: any ByteStream) {
        guard self.then != nil, (try? stream.start(self)) != nil else {
            stream.close()
            return self.end(.closed)
        }
        self.stream = stream
        stream.writeAndFlush(ByteBuffer(string: self.request))
    }

    /// Ends the check, unless it has ended, and closes its connection.
    func end(_ fault: CheckFault) {
        // Taken first, because closing calls `closed`.
        let then = self.then.take()
        self.timer.take()?.cancel()
        self.stream.take()?.close()
        self.head = []
        then?(fault)
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

    /// Returns the fault of the answer. `.some(nil)` if it has none, `nil` if its status has not arrived yet.
    private func verdict() -> CheckFault?? {
        var rest = self.head[...]
        while rest.count >= 12 {
            // `HTTP/1.1 200`
            guard let status = Self.status(rest.prefix(12)) else { return .some(.malformed) }
            // 101 is not an interim answer: it agrees to a protocol that the check has not asked for.
            guard 100..<200 ~= status, status != 101 else {
                return .some(self.health.isGood(status) ? nil : .status(status))
            }
            guard let end = rest.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) else { break }
            rest = rest[end.upperBound...]
        }
        return self.head.count > Self.interimLimit ? .some(.malformed) : nil
    }

    /// Returns the status in the first twelve bytes of an answer. `nil` if they are not HTTP/1.
    private static func status(_ line: ArraySlice<UInt8>) -> Int? {
        guard line.starts(with: "HTTP/1.".utf8), line.dropFirst(8).first == 0x20 else { return nil }
        return Int(String(decoding: line.dropFirst(9), as: UTF8.self))
    }
}

/// Decides from the results of a server's checks whether the server is up. Has no clock and no sockets.
package struct HealthCount {
    private var passes = 0
    private var fails = 0
    private var next = NIODeadline.uptimeNanoseconds(0)
    private var isRunning = false

    package init() {}

    /// Returns whether a check begins now. If so, `end` must be called with its result.
    package mutating func begin(now: NIODeadline, every interval: TimeAmount) -> Bool {
        guard !self.isRunning, now >= self.next else { return false }
        self.isRunning = true
        self.next = now + interval
        return true
    }

    /// Ends a check that has no result.
    package mutating func skip() { self.isRunning = false }

    /// Returns whether the server is down after the result of a check. `nil` if too few checks in a row agree.
    package mutating func end(_ isGood: Bool, _ health: HealthSettings) -> Bool? {
        self.isRunning = false
        self.passes = isGood ? self.passes + 1 : 0
        self.fails = isGood ? 0 : self.fails + 1
        if self.passes >= health.passes { return false }
        return self.fails >= health.fails ? true : nil
    }
}
