import AddressIntelligence
import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// The memory of sessions of users with an email address, a name, two groups and a tenant.
@Suite struct SessionSizeTests {
    private static let count = 50_000

    /// What the process has of the machine's memory, in bytes.
    private static var residentSize: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let fields = String(decoding: line.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(getpagesize())
    }

    /// By how much the process grows for each session.
    private static func growth(_ step: () throws -> Void) rethrows -> Int {
        let before = self.residentSize
        try step()
        return (self.residentSize - before) / self.count
    }

    private static func session(_ index: Int, _ lineage: Lineage, now: UnixTime) -> Session {
        var session = makeSession(lineage: lineage, now: now)
        session.identity = Identity(
            id: "u-\(100_000 + index)",
            traits: [
                "email": .string("user\(index)@example.com"), "name": .string("User Number \(index)"),
                "groups": ["staff", "dev"], "tenant": "t-42",
            ]
        )
        session.device = DeviceFacts(
            address: IPAddress(v4: 0xC000_0201),
            asn: 64_500,
            userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
        )
        return session
    }

    @Test(
        "A session takes at most 1 KB in the store in memory, and half of that in the cache of each event loop",
        // The address sanitizer adds to each object.
        .enabled(if: getenv("ASAN_OPTIONS") == nil)
    )
    func size() async {
        // Its own process, because other tests take and release memory at the same time.
        await #expect(processExitsWith: .success) {
            let bench = MemoryBench()
            let made = (0..<Self.count).map { _ in
                let lineage = testAuthority.newLineage()
                return (lineage, testAuthority.make(.session, in: lineage))
            }
            let inStore = try Self.growth {
                for (index, (lineage, (_, key))) in made.enumerated() {
                    let session = Self.session(index, lineage, now: bench.clock.now)
                    try bench.store.create(NewSession(key: key, session: session), on: bench.loop).wait()
                }
            }
            let cache = SessionCache(capacity: 65_536)
            let resolver = SessionResolver(
                loop: bench.loop,
                cache: cache,
                store: bench.store,
                authority: testAuthority,
                clock: bench.clock.clock
            )
            let inCache = Self.growth {
                for (_, (token, _)) in made {
                    _ = token.bytes.withUnsafeBytes { resolver.resolve(.native, token: $0, now: bench.clock.now) }
                    bench.loop.run()
                }
            }
            #expect(inStore <= 1024)
            #expect(inCache <= 512)
            #expect(cache.counters.entries == Self.count)
        }
    }
}
