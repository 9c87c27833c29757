import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// Requests and streams that hold a session learn of its end, whatever else the loop has open.
@Suite struct SessionHoldersTests {
    private final class Stream: SessionHolder {
        var holderPlace: Int32 = -1
        private(set) var ends = 0
        private(set) var isUnreadable = false

        func sessionEnded() { self.ends += 1 }
        func sessionUnreadable() { self.isUnreadable = true }
    }

    private let bench = ResolverBench(capacity: 64)
    private let holders: SessionHolders

    init() {
        self.holders = SessionHolders(cache: self.bench.cache)
        self.bench.cache.onInvalidation = { [holders] in holders.end($0) }
    }

    private func entry(_ holder: ResolverBench.Holder) throws -> CachedSession {
        self.bench.warm(holder)
        return try #require(self.bench.resolve(holder.token).entry)
    }

    @Test(
        "An end reaches the streams of its sessions and no others, also when the table has evicted them",
        arguments: 0..<3
    )
    func reaches(_ way: Int) throws {
        let users = (0..<200).map { self.bench.holder(subject: "user \($0)") }
        let streams = try users.map { user in
            let stream = Stream()
            self.holders.add(stream, of: try self.entry(user))
            return stream
        }
        let ended = users[17]
        let ends: [Invalidation] = [.session(ended.key), .lineage(ended.key.lineage), .subject("user 17")]
        self.bench.cache.invalidate(ends[way])
        #expect(streams.indices.filter { streams[$0].ends > 0 } == [17])
        for change in [Invalidation.sessionRecord(users[18].key), .all] { self.bench.cache.invalidate(change) }
        #expect(streams.count(where: { $0.ends > 0 }) == 1, "these end none")
        self.holders.giveUp(users[19].key)
        #expect(streams.indices.filter { streams[$0].isUnreadable } == [19])
    }

    @Test("The end of a client reaches the streams of what it got before, and no browser's", arguments: [false, true])
    func client(isInGroup: Bool) throws {
        let now = self.bench.clock.now
        func holder(_ client: String?, _ kind: Session.Kind, _ seconds: Int64) -> ResolverBench.Holder {
            let holder = self.bench.holder(kind: kind)
            var session = holder.session
            session.clientID = client
            session.issuedAt = now.advanced(by: .seconds(seconds))
            return ResolverBench.Holder(token: holder.token, key: holder.key, session: session)
        }
        let holders = [
            holder("app", .native, -10), holder("app", .native, 0), holder("other", .native, -10),
            holder("app", .web, -10), holder(nil, .native, -10),
        ]
        let streams = try holders.map { holder in
            let stream = Stream()
            self.bench.warm(holder)
            self.holders.add(
                stream,
                of: try #require(self.bench.resolve(holder.token, as: holder.session.kind).entry)
            )
            return stream
        }
        let others: [Invalidation] = isInGroup ? [.subject("nobody")] : []
        self.bench.cache.invalidate(Endings(others + [.client("app", before: now)]))
        #expect(streams.map(\.ends) == [1, 0, 0, 0, 0])
        #expect(holders.map { self.bench.serves($0) } == [false, true, true, true, true])
        self.bench.cache.invalidate(Endings(others + [.client("app", before: nil)]))
        #expect(streams.map { $0.ends > 0 } == [true, true, false, false, false])
    }

    @Test("Thousands of streams whose sessions end together are told within a second, a few at a time")
    func slices() throws {
        let user = self.bench.holder(subject: "crowd")
        let entry = try self.entry(user)
        let streams = (0..<4000).map { _ in Stream() }
        for stream in streams { self.holders.add(stream, of: entry) }
        let (left, moved) = (streams[1000], streams[2000])
        self.bench.cache.invalidate(.subject("crowd"))
        #expect(self.bench.cache.hasEnded(entry))
        #expect(streams.count(where: { $0.ends > 0 }) < 10)
        self.holders.remove(left)
        self.holders.remove(moved)
        self.holders.add(moved, of: try self.entry(self.bench.holder(subject: "somebody else")))
        self.bench.loop.advanceTime(by: .seconds(1))
        #expect(left.ends == 0 && moved.ends == 0, "they did not hold the session any more")
        #expect(streams.count(where: { $0.ends == 1 }) == streams.count - 2)
    }

    @Test("A request that begins to hold a session that has ended meanwhile is told at once")
    func endedBefore() throws {
        // More than are told in the first slice.
        let entries = try (0..<60).map { _ in try self.entry(self.bench.holder(subject: "crowd")) }
        self.bench.cache.invalidate(.subject("crowd"))
        let streams = entries.map { entry in
            let stream = Stream()
            self.holders.add(stream, of: entry)
            return stream
        }
        #expect(streams.allSatisfy { $0.ends == 1 })
    }

    @Test(
        "A session that the table does not have when a request begins to hold it is read again: an end may have been missed",
        arguments: [0, 64]
    )
    func notKept(capacity: Int) throws {
        let bench = ResolverBench(capacity: capacity)
        let user = bench.holder()
        let request = bench.resolve(user.token)
        bench.answer(user.session)
        let entry = try #require(request.entry)
        SessionHolders(cache: bench.cache).add(Stream(), of: entry)
        let streams = StreamSessions(loop: bench.loop, resolver: bench.resolver, clock: bench.clock.clock)
        streams.check(entry, now: bench.clock.now)
        bench.loop.advanceTime(by: .milliseconds(100))
        #expect(bench.store.takeRead()?.key == (capacity == 0 ? user.key : nil))
    }
}
