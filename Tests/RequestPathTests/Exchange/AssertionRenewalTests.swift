import NIOCore
import NIOEmbedded
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("The renewal of assertions on a loop") struct AssertionRenewalTests {
    /// A user with a session token, and the loop's entry of the session.
    private struct User {
        let token: String
        let session: CachedSession
    }

    private let bench: ExchangeBench

    init() throws {
        self.bench = try ExchangeBench { settings in
            settings.hosts[0].routes = [route("/app/**", .required)]
            settings.identity.assertion = IdentitySettings.Assertion()
        }
    }

    /// A signed-in user whose assertion has lost half of its life.
    private func user() throws -> User {
        let now = Clock.system.now()
        let (token, _) = try self.bench.signIn("ada")
        let text = String(decoding: token.bytes, as: UTF8.self)
        _ = try self.assertion(text)
        let entry = try #require(token.bytes.withUnsafeBytes { self.bench.resolver.cache.lookup($0, now: now) })
        let aged = CachedAssertion(
            line: ContiguousArray("X-Auth-Assertion: aged\r\n".utf8),
            audience: self.bench.configuration.routes.entries[0].audience.index,
            madeAt: now.advanced(by: .seconds(-40)),
            renewAt: now.advanced(by: .seconds(-10)),
            servesUntil: now.advanced(by: .seconds(600))
        )
        entry.setAssertion(aged, at: now, generation: 1)
        return User(token: text, session: entry)
    }

    /// The assertion that the app gets with a request. The turn ends only if the request has to wait for its session.
    private func assertion(_ token: String) throws -> String {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        try self.bench.begin(ExchangeBench.request("GET", ["Authorization: Bearer \(token)"]))
        if app.headText.isEmpty { self.bench.eventLoop.run() }
        app.send()
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let lines = app.headText.split(separator: "\r\n").filter { $0.hasPrefix("X-Auth-Assertion: ") }
        try #require(lines.count == 1, "\(app.headText)")
        return String(lines[0].dropFirst(18))
    }

    @Test func aRequestGetsTheValidAssertionAndTheNextOneIsSignedAfterItsTurn() throws {
        let user = try self.user()
        for _ in 1...3 { #expect(try self.assertion(user.token) == "aged") }
        self.bench.eventLoop.run()
        let next = try self.assertion(user.token)
        #expect(next != "aged")
        self.bench.eventLoop.run()
        #expect(try self.assertion(user.token) == next, "one use asked for one assertion")
    }

    @Test func manyThatAreDueAtOnceAreSignedAFewAtATime() throws {
        let users = try (0..<10).map { _ in try self.user() }
        for user in users { #expect(try self.assertion(user.token) == "aged") }
        func renewed() throws -> Int { try users.filter { try self.assertion($0.token) != "aged" }.count }
        self.bench.eventLoop.run()
        #expect(try renewed() == 4)
        let late = try self.user()
        #expect(try self.assertion(late.token) == "aged")
        self.bench.eventLoop.run()
        #expect(try renewed() == 4, "the ends of other turns sign none meanwhile")
        for expected in [8, 10] {
            self.bench.eventLoop.advanceTime(by: .milliseconds(1))
            #expect(try renewed() == expected)
        }
        #expect(try self.assertion(late.token) != "aged")
    }

    @Test func anAssertionOfAnEndedSessionIsNotSent() throws {
        let user = try self.user()
        #expect(try self.assertion(user.token) == "aged")
        self.bench.resolver.cache.invalidate(.session(user.session.key))
        try self.bench.store.end(user.session.key.lineage, on: self.bench.eventLoop).wait()
        self.bench.eventLoop.run()
        self.bench.pool.kept = [ScriptedApp()]
        try self.bench.begin(ExchangeBench.request("GET", ["Authorization: Bearer \(user.token)"]))
        self.bench.eventLoop.run()
        #expect(self.bench.client.sent.contains("HTTP/1.1 401 "))
    }

    @Test("A session keeps assertions for 16 audiences, as a token may ask all names of a wildcard: the oldest goes")
    func bound() throws {
        let session = try self.user().session
        let now = Clock.system.now()
        let first = 1 << 62
        for number in 0..<100 {
            let made = CachedAssertion(
                line: ContiguousArray("X-Auth-Assertion: \(number)\r\n".utf8),
                audience: first + number,
                madeAt: now,
                renewAt: now.advanced(by: .seconds(30)),
                servesUntil: now.advanced(by: .seconds(45))
            )
            session.setAssertion(made, at: now, generation: 1)
            session.setAssertion(made, at: now, generation: 1)
        }
        let kept = (0..<100).filter { session.assertion(for: first + $0, at: now, generation: 1) != nil }
        #expect(kept == Array(84..<100))
    }
}
