import JOSE
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("Assertions: what they say, and when a new one is made")
struct AssertionStepTests {
    private static let app = "/app/**"
    private static let other = "/other/**"

    /// Two routes with one audience, and one route with another. `claims` is YAML's mapping of names to paths.
    private func bench(
        generation: UInt64 = 1,
        claims: [(String, String)] = [],
        _ change: (inout Settings) -> Void = { _ in }
    ) throws -> JudgeBench {
        let routes = [
            route(Self.app, .required), route("/app/more", .optional),
            route(Self.other, .required) { $0.audience = "urn:other" }, route("/open/**", .public),
        ]
        return try JudgeBench(routes, generation: generation) { settings in
            settings.identity.assertion = IdentitySettings.Assertion(
                claims: claims.map { IdentitySettings.Claim(name: $0.0, path: $0.1) }
            )
            change(&settings)
        }
    }

    /// A request of a session, or of none, and whether its assertion is to be renewed.
    private func judged(
        _ bench: JudgeBench,
        _ session: CachedSession?,
        path: String = "/app/x",
        after age: Duration = .zero,
        skew: Duration = .zero
    ) throws -> (line: String?, isDue: Bool) {
        let fields = session == nil ? [] : ["Authorization: Bearer a"]
        let request = JudgedRequest(bench, "GET", path, fields, after: age, skew: skew)
        if case .ask = try request.begin() { _ = try request.found(session) }
        let line = request.identity?.assertion.map { String(decoding: $0, as: UTF8.self) }
        return (line, request.judge.findings.isAssertionDue)
    }

    /// The verified content of a line.
    private func content(_ line: String?, _ bench: JudgeBench) throws -> (jws: JWS, claims: JSONValue) {
        let line = try #require(line)
        #expect(line.hasPrefix("X-Auth-Assertion: ") && line.hasSuffix("\r\n"))
        let token = Array(line.dropFirst(18).dropLast(1).utf8)
        let jws = try JWS.verify(token, with: bench.keys.published, allowing: [.es256])
        return (jws, try #require(JSONText.decode(jws.payload)))
    }

    @Test("An assertion names issuer, audience, user, session and its minute, and is signed with the published key")
    func claims() throws {
        let bench = try self.bench()
        let session = try bench.live(.native).session
        let (jws, claims) = try self.content(self.judged(bench, session).line, bench)
        #expect(jws.type == "JWT" && jws.keyID == bench.keys.current.publicKey.thumbprint)
        let seconds = JudgeBench.now.seconds
        #expect(
            claims == [
                "iss": "https://app.example.com", "aud": "https://app.example.com", "sub": "ada",
                "sid": .string(session.session.id), "iat": .integer(seconds), "exp": .integer(seconds + 60),
            ]
        )
    }

    @Test("Chosen claims keep their JSON types, lists are always arrays, and a missing value is left out")
    func chosenClaims() throws {
        let paths = [
            ("email", "identity.traits.email"), ("groups", "identity.traits.groups"),
            ("roles", "identity.traits.roles"),
            ("amr", "methods"), ("age", "identity.traits.age"), ("address", "identity.traits.address"),
            ("none", "identity.traits.none"), ("null", "identity.traits.null"), ("https://e.example/aal", "aal"),
        ]
        // Fields cannot hold these values.
        let bench = try self.bench(claims: paths) { $0.identity.fields = [.init(name: "X-User", path: "subject")] }
        let session = try bench.live(.native) { session in
            session.identity.traits = [
                "email": "a\"\r\n\u{E9}", "groups": "a,admin", "roles": ["x", "y"], "age": 36, "null": .null,
                "address": ["city": "London"],
            ]
        }.session
        let claims = try self.content(self.judged(bench, session).line, bench).claims
        guard case .object(var members) = claims else { throw JudgeBench.Unexpected("\(claims)") }
        for name in ["iss", "aud", "sub", "sid", "iat", "exp"] { #expect(members.removeValue(forKey: name) != nil) }
        #expect(
            JSONValue.object(members) == [
                "email": "a\"\r\n\u{E9}", "groups": ["a,admin"], "roles": ["x", "y"], "amr": ["password"], "age": 36,
                "address": ["city": "London"], "https://e.example/aal": "aal1",
            ]
        )
    }

    @Test("One assertion serves for half of its life, the next use asks once for a new one, and still gets the old one")
    func halfLife() throws {
        let bench = try self.bench()
        let session = try bench.live(.native).session
        let first = try self.judged(bench, session)
        for (age, isDue) in [(0, false), (29_999, false), (30_000, true), (30_001, false), (44_999, false)] {
            let later = try self.judged(bench, session, after: .milliseconds(age))
            #expect(later.line == first.line && later.isDue == isDue, "after \(age) ms")
        }
        let renewed = try self.judged(bench, session, after: .seconds(45))
        #expect(renewed.line != first.line && !renewed.isDue, "too little of its life is left for the app")
        let expiry = try self.content(renewed.line, bench).claims["exp"]
        #expect(expiry == .integer(JudgeBench.now.seconds + 105))
    }

    @Test("After the machine's clock was set back a new one is made")
    func clockSetBack() throws {
        let bench = try self.bench()
        let session = try bench.live(.native).session
        let first = try self.judged(bench, session, skew: .seconds(3600))
        let second = try self.judged(bench, session)
        #expect(second.line != first.line)
        #expect(try self.content(second.line, bench).claims["iat"] == .integer(JudgeBench.now.seconds))
    }

    @Test("Routes with one audience share an assertion, and each audience has its own")
    func audiences() throws {
        let bench = try self.bench()
        let session = try bench.live(.native).session
        let app = try self.judged(bench, session).line
        let other = try self.judged(bench, session, path: "/other/x").line
        #expect(try self.judged(bench, session, path: "/app/more").line == app)
        #expect(try self.judged(bench, session, path: "/other/y").line == other)
        #expect(try self.judged(bench, session).line == app)
        #expect(try self.content(other, bench).claims["aud"] == "urn:other")
        #expect(try self.content(other, bench).claims["iss"] == "https://app.example.com")
    }

    /// Milliseconds of the session that are left, how far the machine's clock is ahead, and the assertion's lifetime.
    @Test(
        "No assertion outlives its session, and the last one is not renewed",
        arguments: [
            (20_000, 0, 20), (59_900, 0, 59), (60_000, 0, 60), (60_999, 0, 60), (900, 0, 0), (20_000, 3600, 20),
            (20_000, -3600, 20), (3_600_000, -7200, 60),
        ]
    )
    func sessionEnds(left: Int, skew: Int, lifetime: Int64) throws {
        let bench = try self.bench()
        let session = try bench.live(.native) {
            $0.expiresAt = JudgeBench.now.advanced(by: .milliseconds(left))
        }.session
        let ahead = Duration.seconds(skew)
        let first = try self.judged(bench, session, skew: ahead)
        let issued = JudgeBench.now.advanced(by: ahead).seconds
        let claims = try self.content(first.line, bench).claims
        #expect(claims["iat"] == .integer(issued) && claims["exp"] == .integer(issued + lifetime))
        guard left < 60_000 else { return }
        let last = try self.judged(bench, session, after: .milliseconds(left - 1), skew: ahead)
        #expect(last.line == first.line && !last.isDue)
    }

    @Test("An assertion of another configuration is not used")
    func generations() throws {
        let first = try self.bench()
        let second = try self.bench(generation: 2, claims: [("aal", "aal")])
        let session = try first.live(.native).session
        let before = try self.judged(first, session)
        let after = try self.judged(second, session)
        #expect(before.line != after.line)
        #expect(try self.content(after.line, second).claims["aal"] == "aal1")
        #expect(try self.judged(first, session).line != before.line, "nor after a return to an equal one")
    }

    @Test("Without a session, and while assertions are off, there is none")
    func none() throws {
        let bench = try self.bench()
        #expect(try self.judged(bench, nil, path: "/app/more").line == nil)
        #expect(try self.judged(bench, nil, path: "/open/x").line == nil)
        let off = try self.bench { $0.identity.assertion = nil }
        let session = try off.live(.native).session
        let judged = try self.judged(off, session)
        #expect(judged.line == nil && !judged.isDue)
    }

    @Test("The assertion counts for identity.max_size")
    func size() throws {
        for (maximum, isTooLarge) in [(8192, false), (400, true)] {
            let bench = try self.bench { $0.identity.maxSize = maximum }
            let session = try bench.live(.native).session
            let request = JudgedRequest(bench, "GET", "/app/x", ["Authorization: Bearer a"])
            _ = try request.begin()
            let told = try request.found(session)
            #expect((told == .answer(403, .identityTooLarge)) == isTooLarge, "\(maximum): \(told)")
        }
    }
}
