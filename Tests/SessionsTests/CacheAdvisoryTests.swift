import Cryptography
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// Mistakes of other gateways in caches and shared reads, each with its id.
@Suite struct CacheAdvisoryTests {
    private let bench = ResolverBench()

    @Test("CVE-2026-33496, CVE-2021-32701: the cache keeps sessions, not decisions")
    func decisionsAreNotKept() throws {
        let holder = self.bench.holder(kind: .web)
        self.bench.warm(holder)
        // The two verifiers differ, however often and in whatever order they are asked.
        for _ in 0..<3 {
            #expect(self.bench.resolve(holder.token, as: .web).outcome == .hit("alice"))
            #expect(self.bench.resolve(holder.token, as: .native).outcome == .noSession)
        }
        // Bytes that were prepared under one configuration are not used under the next.
        let entry = try #require(self.bench.resolve(holder.token, as: .web).entry)
        entry.setRendering([1], generation: 7)
        #expect(entry.rendering(generation: 8) == nil)
    }

    @Test(
        "CVE-2026-71326, CVE-2026-88010: keys are not concatenated, and a read for one token never answers another token"
    )
    func keysAreNotConcatenated() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        let (tag, digest) = (holder.key.lineage.tag, holder.key.digest)
        // A digest has a fixed length and its own type, so the boundary between the parts cannot move; each part
        // counts.
        let others = [
            RecordKey(kind: .session, lineage: Lineage(tag: String(tag.dropLast())), digest: digest),
            RecordKey(kind: .session, lineage: Lineage(tag: tag + String(digest.base64URL.prefix(1))), digest: digest),
            RecordKey(kind: .session, lineage: Lineage(tag: tag), digest: SHA256.digest(digest.bytes)),
            RecordKey(kind: .transfer, lineage: Lineage(tag: tag), digest: digest),
        ]
        for other in others {
            #expect(other != holder.key)
            self.bench.cache.invalidate(.session(other))
            #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        }
        // `ab` + `c` and `a` + `bc`: a longer or shorter token is another token and does not share the read.
        self.bench.cache.invalidate(.all)
        let pending = self.bench.resolve(holder.token)
        for odd in [Array(holder.token.bytes.dropLast()), holder.token.bytes + [UInt8(ascii: "A")]] {
            #expect(self.bench.resolve(odd).outcome == .malformed)
        }
        #expect(self.bench.store.waiting == 1)
        self.bench.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
    }

    @Test("oathkeeper PR #1282: an entry that is too old is read again at each use until a read succeeds")
    func expiredEntry() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .seconds(60))
        for _ in 0..<3 {
            let pending = self.bench.resolve(holder.token)
            #expect(self.bench.store.waiting == 1)
            self.bench.fail()
            #expect(pending.outcome == .failed(.unavailable))
        }
        self.bench.warm(holder)
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("CVE-2021-41230, GHSA-x883-2vmg-xwf7: no request is served from a record that is five seconds old")
    func staleness() throws {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        var changed = holder.session
        changed.identity.traits = ["groups": []]
        // The old record is served for just under five seconds while a refresh is outstanding, and never after that.
        self.bench.clock.advance(by: .milliseconds(4999))
        #expect(self.bench.resolve(holder.token).entry?.session == holder.session)
        self.bench.clock.advance(by: .milliseconds(1))
        let pending = self.bench.resolve(holder.token)
        #expect(pending.outcome == .waiting)
        self.bench.answer(changed, version: 2)
        #expect(pending.entry?.session == changed)
    }

    @Test("kratos PR #3975: neither a failure nor 'no session' is remembered: the next use asks again")
    func nothingNegativeIsKept() {
        let holder = self.bench.holder()
        for isDoubting in [false, true] {
            if isDoubting { self.bench.caches.doubt() }
            let failed = self.bench.resolve(holder.token)
            self.bench.fail()
            #expect(failed.outcome == .failed(.unavailable))
            let absent = self.bench.resolve(holder.token)
            self.bench.answer(nil)
            #expect(absent.outcome == .noSession)
            let found = self.bench.resolve(holder.token)
            self.bench.answer(holder.session)
            #expect(found.outcome == .found("alice"))
            self.bench.cache.invalidate(.all)
        }
    }
}
