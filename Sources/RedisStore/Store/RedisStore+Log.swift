import Cryptography
package import NIOCore
package import Sessions
import Synchronization
import Vocabulary

/// The index of sessions by their start: an append-only log for each hour, and a list of the hours with logs that may
/// have live sessions. Finding all sessions therefore needs no scan of all keys.
///
/// A log has the same lines as a list (`RedisStore+Index.swift`), all of one length. It is kept until its last session
/// expires. Hours are counted from 1970. A line of the list of hours is `<end in ms> <hour>`. The end is a time by
/// which the log's last session has expired.
extension RedisStore {
    /// The hour of the log to which this gateway last added a session, and the hour's end in the list of hours.
    struct LoggedHour: Sendable {
        var hour: Int64 = 0
        var end: Int64 = 0
    }

    private static let hour: Int64 = 3_600_000
    /// The number of bytes of a log that are read for a page. It is enough even if lines become somewhat longer.
    private static let chunk = 128 * pageSize

    /// Returns the keys of the log of an hour, one per secret.
    private func logs(of hour: Int64) -> [[UInt8]] {
        self.seals.ring.names(of: "\u{0}log \(hour)").map(Keyspace.sessions)
    }

    /// The keys of the list of hours, one per secret.
    private var hourLists: [[UInt8]] { self.seals.ring.names(of: "\u{0}hours").map(Keyspace.sessions) }

    /// Adds a session to the log of this hour.
    func log(_ new: NewSession, on loop: any EventLoop) {
        let now = self.clock.now()
        let (hour, end) = (now.milliseconds / Self.hour, new.session.expiresAt.milliseconds)
        guard let place = self.logs(of: hour).first, let hours = self.hourLists.first else { return }
        let margin = Self.digits(Self.margin)
        let added = ScriptCall(
            Scripts.logSession,
            keys: [place],
            arguments: [
                Self.digits(of: now), Self.digits(of: new.session.expiresAt), self.line(new, in: place), margin,
            ]
        )
        self.client.evaluate(added, on: loop) { _ in }
        let listed = self.loggedHour.withLock { logged -> Int64? in
            guard hour != logged.hour || end > logged.end else { return nil }
            // The listed end is an hour late to save writes: new sessions usually end later than earlier ones.
            logged = LoggedHour(hour: hour, end: end.addingWithinBounds(Self.hour))
            return logged.end
        }
        guard let listed else { return }
        let call = ScriptCall(
            Scripts.noteHour,
            keys: [hours],
            arguments: [Self.digits(of: now), Array("\(listed)".utf8), Array("\(hour)".utf8), margin]
        )
        self.client.evaluate(call, on: loop) { _ in }
    }

    // MARK: Pages

    /// Returns a page of sessions. Under each secret, later pages have earlier sessions. An `IndexPlace` is the number
    /// of a secret, an hour, and how many bytes at the beginning of the hour's log are unread. New sessions are added
    /// after these bytes.
    package func sessions(from place: IndexPlace?, on loop: any EventLoop) -> EventLoopFuture<SessionPage> {
        let lists = self.hourLists
        let numbers = place?.numbers ?? [0, .max, .max]
        guard numbers.count == 3, let number = Int(exactly: numbers[0]), lists.indices.contains(number) else {
            return loop.makeSucceededFuture(SessionPage())
        }
        return self.hours(in: lists[number], on: loop).flatMap { hours in
            let left = hours.filter { $0 <= numbers[1] }
            let afterAll = number + 1 < lists.count ? IndexPlace([numbers[0] + 1, .max, .max]) : nil
            guard let hour = left.first else { return loop.makeSucceededFuture(SessionPage(next: afterAll)) }
            let next = left.count > 1 ? IndexPlace([numbers[0], left[1], .max]) : afterAll
            let end = hour == numbers[1] ? numbers[2] : .max
            return self.page(self.logs(of: hour)[number], before: end, on: loop).map { keys, left in
                SessionPage(keys: keys, next: left > 0 ? IndexPlace([numbers[0], hour, left]) : next)
            }
        }
    }

    /// Returns the live sessions in the piece of a log that ends at `end`, and the number of bytes before that piece.
    ///
    /// - Parameter end: The end of the piece; `.max` for the end of the log.
    private func page(
        _ log: [UInt8],
        before end: Int64,
        on loop: any EventLoop
    ) -> EventLoopFuture<(keys: [RecordKey], left: Int64)> {
        let length = end == .max ? self.length(of: log, on: loop).map(\.length) : loop.makeSucceededFuture(Int(end))
        return length.flatMap { end in
            let start = max(0, end - Self.chunk)
            guard start < end else { return loop.makeSucceededFuture(([], 0)) }
            return self.piece(of: log, Int64(start), end - start, on: loop).flatMapThrowing { bytes in
                let breaks = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
                // The first line may be incomplete. It belongs to the next page.
                let first = start == 0 ? breaks.count : breaks.count - 1
                let count = min(first, Self.pageSize)
                guard let last = breaks.last, count > 0 else {
                    // Bytes without a whole line are an error. Otherwise the pages would never end.
                    guard bytes.isEmpty || start == 0 else { throw StoreError.unavailable }
                    return ([], 0)
                }
                let begin = count == breaks.count ? 0 : breaks[breaks.count - count - 1] + 1
                return (try self.sessions(in: bytes[begin...last], at: log), Int64(start + begin))
            }
        }
    }

    private func piece(
        of log: [UInt8],
        _ offset: Int64,
        _ count: Int,
        on loop: any EventLoop
    ) -> EventLoopFuture<[UInt8]> {
        let range = [offset, offset.addingWithinBounds(Int64(count) - 1)].map { Array("\($0)".utf8) }
        return self.client.ask(RedisCommand("GETRANGE", [log] + range), on: loop) { reply in
            guard case .bulk(let bytes) = reply else { throw StoreError.unavailable }
            return .success(bytes)
        }
    }

    /// Returns the hours in a list if their logs may have live sessions, the latest first.
    private func hours(in list: [UInt8], on loop: any EventLoop) -> EventLoopFuture<[Int64]> {
        self.client.ask(RedisCommand("GET", [list]), on: loop) { reply in
            guard case .bulk(let bytes) = reply else {
                guard case .null = reply else { throw StoreError.unavailable }
                return .success([])
            }
            let now = self.clock.now().milliseconds
            var hours: Set<Int64> = []
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                let numbers = line.split(separator: UInt8(ascii: " ")).compactMap {
                    Int64(String(decoding: $0, as: UTF8.self))
                }
                guard numbers.count == 2, numbers[1] >= 0 else { throw StoreError.unavailable }
                if numbers[0] > now { hours.insert(numbers[1]) }
            }
            return .success(hours.sorted(by: >))
        }
    }

    // MARK: Samples

    private struct Log: Sendable {
        let place: [UInt8]
        let length: Int
    }

    /// The maximum number of logs (the latest ones) from which a sample is drawn, because each log costs a command.
    private static let maxLogs = 2048

    package func sample(on loop: any EventLoop) -> EventLoopFuture<SessionSample> {
        let lists = self.hourLists
        return EventLoopFuture.whenAllSucceed(lists.map { self.hours(in: $0, on: loop) }, on: loop).flatMap { hours in
            let logs = hours.enumerated().flatMap { number, hours in hours.map { self.logs(of: $0)[number] } }
            let lengths = logs.prefix(Self.maxLogs).map { self.length(of: $0, on: loop) }
            return EventLoopFuture.whenAllSucceed(lengths, on: loop)
        }.flatMap { logs in
            self.sample(of: logs.filter { $0.length > 0 }, on: loop)
        }
    }

    private func length(of log: [UInt8], on loop: any EventLoop) -> EventLoopFuture<Log> {
        self.client.ask(RedisCommand("STRLEN", [log]), on: loop) { reply in
            guard case .integer(let length) = reply else { throw StoreError.unavailable }
            return .success(Log(place: log, length: Int(length)))
        }
    }

    private func sample(of logs: [Log], on loop: any EventLoop) -> EventLoopFuture<SessionSample> {
        guard let first = logs.first else {
            return loop.makeSucceededFuture(SessionSample(noted: 0, drawn: 0, keys: []))
        }
        return self.piece(of: first.place, 0, Self.chunk, on: loop).flatMap { bytes in
            guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
                return loop.makeFailedFuture(StoreError.unavailable)
            }
            let line = end + 1
            let noted = logs.reduce(0) { $0 + $1.length / line }
            let isWhole = noted <= Self.sampleSize
            let drawn =
                isWhole ? logs.map { ($0.place, 0, $0.length) } : Self.draw(Self.sampleSize, of: logs, line, noted)
            let keys = drawn.map { place, offset, count in
                self.piece(of: place, Int64(offset), count, on: loop).flatMapThrowing { bytes in
                    // A session that has expired meanwhile is left out.
                    try self.sessions(in: bytes, at: place)
                }
            }
            return EventLoopFuture.whenAllSucceed(keys, on: loop).map { keys in
                SessionSample(noted: noted, drawn: isWhole ? noted : drawn.count, keys: Array(keys.joined()))
            }
        }
    }

    /// Draws lines at random, and returns their logs, offsets and lengths.
    private static func draw(
        _ count: Int,
        of logs: [Log],
        _ line: Int,
        _ noted: Int
    ) -> [(place: [UInt8], offset: Int, count: Int)] {
        (0..<count).compactMap { _ in
            var chosen = Int.random(in: 0..<noted)
            for log in logs {
                let lines = log.length / line
                if chosen < lines { return (log.place, chosen * line, line) }
                chosen -= lines
            }
            return nil
        }
    }
}
