import Endpoints
import NIOCore
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// Whoever presents a credential that is not accepted learns nothing of it.
@Suite("Enumeration")
struct EnumerationTests {
    private static let otherSecret = Secret("a secret that is no longer accepted here")
    private static let other = TokenAuthority(secret: Self.otherSecret)

    private static func text(_ token: Secret) -> String { String(decoding: token.bytes, as: UTF8.self) }

    /// The same text with another character near its end.
    private static func forged(_ token: String) -> String {
        var bytes = Array(token.utf8)
        let index = bytes.count - 3
        bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Expects answers that differ in nothing that a client sees.
    private func expectSame(_ answers: KeyValuePairs<String, Answer>) throws {
        func lines(_ answer: Answer) -> [String] { answer.response.fields.map { "\($0.name): \($0.value)" } }
        let first = try #require(answers.first).value
        for (what, answer) in answers {
            #expect(answer.status == first.status, "\(what)")
            #expect(answer.response.body == first.response.body, "\(what)")
            #expect(lines(answer) == lines(first), "\(what)")
        }
    }

    @Test(
        "T33: whatever is wrong with a code, its client or its verifier, the answer is the same, and nothing is used up"
    )
    func codes() async throws {
        let bench = TokenBench()
        let ended = try await bench.code()
        try await bench.store.end(subject: "alice", on: bench.loop).get()
        let expired = try await bench.code()
        bench.clock.advance(by: .seconds(61))
        let used = try await bench.code()
        #expect(await bench.redeem(used).status == 200)
        let good = try await bench.code()
        let unknown = bench.authority.make(.code, in: bench.authority.newLineage()).token
        let foreign = Self.other.make(.code, in: Self.other.newLineage()).token
        let answers: KeyValuePairs = [
            "unknown": await bench.redeem(Self.text(unknown)),
            "of another secret": await bench.redeem(Self.text(foreign)),
            "forged": await bench.redeem(Self.forged(good)),
            "no code": await bench.redeem("code"),
            "of a user who signed out": await bench.redeem(ended),
            "expired": await bench.redeem(expired),
            "used": await bench.redeem(used),
            "of another client": await bench.redeem(good, ["client_id": "plain"]),
            "of another redirect_uri": await bench.redeem(good, ["redirect_uri": "myapp://auth/callback"]),
            "with another verifier": await bench.redeem(good, ["code_verifier": String(repeating: "v", count: 43)]),
            "without a verifier": await bench.redeem(good, ["code_verifier": nil]),
        ]
        try self.expectSame(answers)
        #expect(answers[0].value.error == "invalid_grant")
        #expect(answers[0].value.description == "Invalid authorization code.")
        #expect(await bench.redeem(good).status == 200)
    }

    @Test("T33: whatever is wrong with a refresh token, the answer is the one that Auth0's SDKs know")
    func refreshTokens() async throws {
        let bench = TokenBench { $0.refreshToken.idleLifetime = .seconds(1000) }
        func family() async throws -> String { try await bench.tokens().text("refresh_token") }
        let ended = try await family()
        try await bench.store.end(subject: "alice", on: bench.loop).get()
        let expired = try await family()
        bench.clock.advance(by: .seconds(1001))
        let replayed = try await family()
        let successor = await bench.refresh(replayed).text("refresh_token")
        bench.clock.advance(by: .seconds(61))
        let good = try await family()
        func made(under secret: Secret) -> String {
            let token = RefreshToken(newFamilyIn: bench.authority.newLineage())
            return Self.text(RefreshTokenAuthority(current: secret).make(token))
        }
        let answers: KeyValuePairs = [
            "unknown": await bench.refresh(made(under: TokenBench.secret)),
            "of another secret": await bench.refresh(made(under: Self.otherSecret)),
            "forged": await bench.refresh(Self.forged(good)),
            "no token": await bench.refresh("token"),
            "of a user who signed out": await bench.refresh(ended),
            "expired": await bench.refresh(expired),
            "replayed": await bench.refresh(replayed),
            "of a family that a replay ended": await bench.refresh(successor),
            "of another client": await bench.refresh(good, ["client_id": "plain"]),
            "a code": await bench.refresh(try await bench.code()),
        ]
        try self.expectSame(answers)
        #expect(answers[0].value.error == "invalid_grant")
        #expect(answers[0].value.description == "Unknown or invalid refresh token.")
        #expect(await bench.refresh(good).status == 200)
    }

    @Test("T33: whatever is wrong with an access token, the answer of /userinfo is the same")
    func accessTokens() async throws {
        let bench = TokenBench()
        func tokens() async throws -> Answer {
            await bench.redeem(try await bench.code(["scope": "openid offline_access"]))
        }
        let expired = try await tokens().text("access_token")
        bench.clock.advance(by: .seconds(7201))
        let revoked = try await tokens().text("access_token")
        _ = await bench.form(["client_id": "native-app", "token": revoked], to: bench.revocation.endpoint)
        let good = try await tokens()
        let unknown = bench.authority.make(.access, in: bench.authority.newLineage()).token
        let foreign = Self.other.make(.access, in: Self.other.newLineage()).token
        func ask(_ token: String) async -> Answer {
            await bench.post([], fields: [("authorization", "Bearer \(token)")], to: bench.userInfo.endpoint)
        }
        let answers: KeyValuePairs = [
            "unknown": await ask(Self.text(unknown)),
            "of another secret": await ask(Self.text(foreign)),
            "forged": await ask(Self.forged(good.text("access_token"))),
            "no token": await ask("token"),
            "expired": await ask(expired),
            "revoked": await ask(revoked),
            "a refresh token": await ask(good.text("refresh_token")),
            "a browser's session": await ask(try await bench.signIn(kind: .web, origin: .browser)),
        ]
        try self.expectSame(answers)
        #expect(answers[0].value.status == 401)
        #expect(await ask(good.text("access_token")).status == 200)
    }
}
