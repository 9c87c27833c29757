package import NIOCore
package import Settings
import Transport

/// One question to a server of an app: whether it is there. Only the status line of the answer is read.
final class HealthCheck: StreamHandler {
    private let health: HealthSettings
    private let request: String
    private var stream: (any ByteStream)?
    private var line: [UInt8] = []
    private var then: ((Bool) -> Void)?
    /// Ends the check when it takes too long.
    var timer: Scheduled<Void>?

    /// - Parameter then: Called once with what was found.
    init(_ health: HealthSettings, of server: ServerSettings, _ then: @escaping (Bool) -> Void) {
        self.health = health
        self.then = then
        self.request = """
            GET \(health.path) HTTP/1.1\r
            Host: \(server.authority)\r
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
            return self.end(false)
        }
        self.stream = stream
        stream.writeAndFlush(ByteBuffer(string: self.request))
    }

    /// Ends the check, if it has not ended.
    func end(_ isGood: Bool) {
        guard let then = self.then.take() else { return }
        self.timer.take()?.cancel()
        self.stream.take()?.close()
        then(isGood)
    }

    func received(_ buffer: inout ByteBuffer) {
        // `HTTP/1.1 200`
        self.line += buffer.readableBytesView.prefix(12 - self.line.count)
        buffer.clear()
        if self.line.count == 12 { self.end(Self.status(self.line).map(self.health.isGood) ?? false) }
    }

    func becameWritable() {}

    func closed(isClean: Bool) {
        self.stream = nil
        self.end(false)
    }

    /// The status in the first twelve bytes of an answer; nil: they are not HTTP/1.
    static func status(_ line: [UInt8]) -> Int? {
        guard line.count == 12, line.starts(with: "HTTP/1.".utf8), line[8] == 0x20 else { return nil }
        return Int(String(decoding: line[9...], as: UTF8.self))
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
