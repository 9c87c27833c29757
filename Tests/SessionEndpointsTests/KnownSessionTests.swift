import EndpointBench
import Endpoints
import NIOCore
import Sessions
import StoreBench
import Testing
import Transport
import Vocabulary

/// `whoami` on an event loop, which knows the sessions that it has read.
@Suite(.timeLimit(.minutes(5))) struct KnownSessionTests {
    /// A gateway whose endpoints run on one event loop.
    private struct Bench {
        let gateway: Gateway
        /// The same process, on another host.
        let sibling: Gateway
        private let group: TransportGroup
        private let caches: SessionCaches

        /// How often the loop knew a session.
        var hits: Int {
            get async throws { try await self.caches.counters(on: self.group.loops[0]).get().hits }
        }

        init() async throws {
            let group = try TransportGroup(count: 1)
            let (resolvers, caches) = (SessionResolvers(), SessionCaches())
            self.group = group
            self.caches = caches
            self.gateway = try Gateway(known: (group, resolvers), caches: caches)
            self.sibling = try Gateway(host: "b.example.com", beside: self.gateway, known: (group, resolvers))
            let (loop, store, clock, authority) =
                (group.loops[0], self.gateway.store, self.gateway.time.clock, self.gateway.authority)
            try await loop.submit {
                let cache = SessionCache(capacity: 100)
                caches.register(cache, on: loop)
                resolvers.add(
                    SessionResolver(loop: loop, cache: cache, store: store, authority: authority, clock: clock)
                )
            }.get()
        }

        /// The status of `whoami`, asked on the loop.
        func whoami(
            _ name: String,
            _ value: String,
            at gateway: Gateway? = nil
        ) async throws -> Int {
            let gateway = gateway ?? self.gateway
            return try await Task(executorPreference: self.group.loops[0].taskExecutor) {
                try await gateway.whoami((name, value)).status
            }.value
        }

        func close() async throws { try await self.group.shutdownGracefully() }
    }

    private func withBench(_ body: (Bench) async throws -> Void) async throws {
        let bench = try await Bench()
        do { try await body(bench) } catch {
            try await bench.close()
            throw error
        }
        try await bench.close()
    }

    @Test("A session that was shown is shown for some seconds without the store, and then only if the store answers")
    func withoutStore() async throws {
        try await self.withBench { bench in
            let native = try await bench.gateway.nativeToken()
            let web = "__Host-sallyport=\(try await bench.gateway.signInBrowser())"
            for _ in 0..<2 {
                #expect(try await bench.whoami("x-session-token", native) == 200)
                #expect(try await bench.whoami("cookie", web) == 200)
                bench.gateway.store.fail(with: .unavailable)
            }
            bench.gateway.time.advance(by: SessionCache.hardAge)
            #expect(try await bench.whoami("x-session-token", native) == 503)
            #expect(try await bench.whoami("cookie", web) == 503)
            bench.gateway.store.fail(with: nil)
            #expect(try await bench.whoami("x-session-token", native) == 200)
        }
    }

    @Test("T8: what is known is shown for its own kind of credential and its own host only")
    func kindsAndHosts() async throws {
        try await self.withBench { bench in
            let native = try await bench.gateway.nativeToken()
            let web = try await bench.gateway.signInBrowser()
            for _ in 0..<2 {
                #expect(try await bench.whoami("authorization", "Bearer \(native)") == 200)
                #expect(try await bench.whoami("cookie", "__Host-sallyport=\(web)") == 200)
                #expect(try await bench.whoami("x-session-token", web) == 401)
                #expect(try await bench.whoami("cookie", "__Host-sallyport=\(native)") == 401)
                #expect(try await bench.whoami("cookie", "__Host-sallyport=\(web)", at: bench.sibling) == 401)
                let both = "__Host-sallyport=\(web); __Host-sallyport=\(native)"
                #expect(try await bench.whoami("cookie", both) == 401)
            }
            #expect(try await bench.hits >= 10)
        }
    }

    @Test("What is known is not shown after a sign-out, nor to users of another provider")
    func endedAndOthers() async throws {
        try await self.withBench { bench in
            let token = try await bench.gateway.nativeToken()
            #expect(try await bench.whoami("x-session-token", token) == 200)
            let signOut = try await bench.gateway.send(
                "DELETE",
                "/self-service/logout/api",
                fields: [("content-type", "application/json")],
                body: #"{"session_token":"\#(token)"}"#
            )
            #expect(signOut.status == 204)
            #expect(try await bench.whoami("x-session-token", token) == 401)

            let lineage = bench.gateway.authority.newLineage()
            let made = bench.gateway.authority.make(.session, in: lineage)
            let now = bench.gateway.time.now
            let session = Session(
                id: "ses_other",
                kind: .native,
                origin: .native,
                lineage: lineage,
                identity: Identity(id: "bob", traits: [:]).inRealm(Realm("other")),
                aal: .aal1,
                methods: ["password"],
                authenticatedAt: now,
                issuedAt: now,
                expiresAt: now.advanced(by: .seconds(3600)),
                idleLifetime: .seconds(3600)
            )
            try await bench.gateway.store.create(NewSession(key: made.key, session: session), on: bench.gateway.loop)
                .get()
            for _ in 0..<2 {
                let token = String(decoding: made.token.bytes, as: UTF8.self)
                #expect(try await bench.whoami("x-session-token", token) == 401)
            }
            #expect(try await bench.hits >= 1)
        }
    }
}
