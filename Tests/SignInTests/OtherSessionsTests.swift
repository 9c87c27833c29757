import EndpointBench
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("A user ends all other sessions")
struct OtherSessionsTests {
    private let bench = SignInBench()

    private var users: UserSessions { UserSessions(sessions: self.bench.sessions) }

    /// Signs alice in with this many browsers, each a second after the last.
    private func signIn(_ count: Int) async throws -> [FoundSession] {
        var all: [FoundSession] = []
        for _ in 0..<count {
            self.bench.time.advance(by: .seconds(1))
            let (token, session) = try await self.bench.sessions.begin(
                SwitchedProvider.alice,
                SessionTerms(.web),
                for: try self.bench.requester()
            )
            let key = try #require(self.bench.authority.key(.session, of: token.bytes))
            all.append(FoundSession(key: key, session: session))
        }
        return all
    }

    private func live(_ all: [FoundSession]) async throws -> Int {
        var count = 0
        for found in all {
            if try await self.users.session(found.key) != nil { count += 1 }
        }
        return count
    }

    @Test("The current session stays, also if the list has just room for one more")
    func listed() async throws {
        let all = try await self.signIn(MemoryStore.listCapacity - 1)
        let current = try #require(all.last)
        #expect(try await self.users.endOthers(than: current, for: try self.bench.requester()) == all.count - 1)
        #expect(try await self.live(all) == 1)
        #expect(try await self.live([current]) == 1)
    }

    @Test("Sessions that a full list does not have end, too: the user signs in again")
    func unlisted() async throws {
        let all = try await self.signIn(MemoryStore.listCapacity + 2)
        let current = try #require(all.last)
        let count = try await self.users.endOthers(than: current, for: try self.bench.requester())
        #expect(count == MemoryStore.listCapacity - 1)
        #expect(try await self.live(all) == 0)
        let record = try #require(self.bench.audit.records.last)
        #expect(record.sessionID == nil && record.subject == current.session.subject)
    }
}
