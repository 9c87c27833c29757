import NIOCore
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

@Suite("A refresh waits while another gateway asks the provider")
struct SharedGrantWaitTests {
    private let bench = GrantBench(life: .seconds(86_400), isShared: true)

    /// The user's browser, and an app whose refresh is due while `asking` waits for the provider, which has new claims.
    private func due(
        _ asking: GrantBench.Node
    ) async throws -> (holder: GrantBench.Holder, app: SharedGrantTests.App) {
        let holder = try await self.bench.signIn(asking)
        let app = try await SharedGrantTests.join(holder, asking)
        self.bench.time.advance(by: .seconds(900))
        self.bench.provider.set(["name": "Ada"])
        self.bench.provider.hold()
        asking.grants.renew(holder.session, holder.key)
        try await waitUntil("the provider is asked") { self.bench.provider.heldCount == 1 }
        return (holder, app)
    }

    @Test("A use that nobody waits for does not keep a later refresh from waiting")
    func useBefore() async throws {
        let (asking, other) = (self.bench.node(), self.bench.node())
        let (holder, app) = try await self.due(asking)
        other.grants.renew(holder.session, holder.key)
        try await self.bench.settled(other)
        #expect(self.bench.waits.isEmpty)
        let refreshed = Task { [app] in
            var app = app
            return try await SharedGrantTests.refresh(&app, other)
        }
        try await waitUntil("the refresh waits") { !self.bench.waits.isEmpty }
        self.bench.provider.release()
        #expect(try await refreshed.value.identity.traits["name"]?.string == "Ada")
        #expect(self.bench.provider.presented.count == 1)
    }

    @Test("A client whose settings have changed waits once")
    func changedSettings() async throws {
        let (asking, other) = (self.bench.node(), self.bench.node(longestWait: .milliseconds(500)))
        var (_, app) = try await self.due(asking)
        app.client.refreshToken.confirmEvery = .seconds(60)
        let waits = Mutex<Int?>(nil)
        // The settings are noted after the first wait.
        self.bench.store.change { [bench] in
            $0.beforeReplace = { waits.withLock { $0 = bench.waits.count } }
        }
        let session = try await SharedGrantTests.refresh(&app, other)
        #expect(session.identity.traits["name"]?.string == "Alice")
        try await self.bench.settled(other)
        let first = try #require(waits.withLock { $0 })
        #expect(first > 0 && self.bench.waits.count == first)
        self.bench.provider.release()
        try await self.bench.settled(asking)
    }
}
