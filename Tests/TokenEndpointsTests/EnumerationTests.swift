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
        let world = TokenWorld()
        let ended = try await world.code()
        try await world.store.end(subject: "alice", on: world.loop).get()
        let expired = try await world.code()
        world.clock.advance(by: .seconds(61))
        let used = try await world.code()
        #expect(await world.redeem(used).status == 200)
        let good = try await world.code()
        let unknown = world.authority.make(.code, in: world.authority.newLineage()).token
        let foreign = Self.other.make(.code, in: Self.other.newLineage()).token
        let answers: KeyValuePairs = [
            "unknown": await world.redeem(Self.text(unknown)),
            "of another secret": await world.redeem(Self.text(foreign)),
            "forged": await world.redeem(Self.forged(good)),
            "no code": await world.redeem("code"),
            "of a user who signed out": await world.redeem(ended),
            "expired": await world.redeem(expired),
            "used": await world.redeem(used),
            "of another client": await world.redeem(good, ["client_id": "plain"]),
            "of another redirect_uri": await world.redeem(good, ["redirect_uri": "myapp://auth/callback"]),
            "with another verifier": await world.redeem(good, ["code_verifier": String(repeating: "v", count: 43)]),
            "without a verifier": await world.redeem(good, ["code_verifier": nil]),
        ]
        try self.expectSame(answers)
        #expect(answers[0].value.error == "invalid_grant")
        #expect(answers[0].value.description == "Invalid authorization code.")
        #expect(await world.redeem(good).status == 200)
    }

    @Test("T33: whatever is wrong with a refresh token, the answer is the one that Auth0's SDKs know")
    func refreshTokens() async throws {
        let world = TokenWorld { $0.refreshToken.idleLifetime = .seconds(1000) }
        func family() async throws -> String { try await world.tokens().text("refresh_token") }
        let ended = try await family()
        try await world.store.end(subject: "alice", on: world.loop).get()
        let expired = try await family()
        world.clock.advance(by: .seconds(1001))
        let replayed = try await family()
        let successor = await world.refresh(replayed).text("refresh_token")
        world.clock.advance(by: .seconds(61))
        let good = try await family()
        func made(under secret: Secret) -> String {
            let token = RefreshToken(newFamilyIn: world.authority.newLineage())
            return Self.text(RefreshTokenAuthority(current: secret).make(token))
        }
        let answers: KeyValuePairs = [
            "unknown": await world.refresh(made(under: TokenWorld.secret)),
            "of another secret": await world.refresh(made(under: Self.otherSecret)),
            "forged": await world.refresh(Self.forged(good)),
            "no token": await world.refresh("token"),
            "of a user who signed out": await world.refresh(ended),
            "expired": await world.refresh(expired),
            "replayed": await world.refresh(replayed),
            "of a family that a replay ended": await world.refresh(successor),
            "of another client": await world.refresh(good, ["client_id": "plain"]),
            "a code": await world.refresh(try await world.code()),
        ]
        try self.expectSame(answers)
        #expect(answers[0].value.error == "invalid_grant")
        #expect(answers[0].value.description == "Unknown or invalid refresh token.")
        #expect(await world.refresh(good).status == 200)
    }

    @Test("T33: whatever is wrong with an access token, the answer of /userinfo is the same")
    func accessTokens() async throws {
        let world = TokenWorld()
        func tokens() async throws -> Answer {
            await world.redeem(try await world.code(["scope": "openid offline_access"]))
        }
        let expired = try await tokens().text("access_token")
        world.clock.advance(by: .seconds(7201))
        let revoked = try await tokens().text("access_token")
        _ = await world.form(["client_id": "native-app", "token": revoked], to: world.revocation.endpoint)
        let good = try await tokens()
        let unknown = world.authority.make(.access, in: world.authority.newLineage()).token
        let foreign = Self.other.make(.access, in: Self.other.newLineage()).token
        func ask(_ token: String) async -> Answer {
            await world.post([], fields: [("authorization", "Bearer \(token)")], to: world.userInfo.endpoint)
        }
        let answers: KeyValuePairs = [
            "unknown": await ask(Self.text(unknown)),
            "of another secret": await ask(Self.text(foreign)),
            "forged": await ask(Self.forged(good.text("access_token"))),
            "no token": await ask("token"),
            "expired": await ask(expired),
            "revoked": await ask(revoked),
            "a refresh token": await ask(good.text("refresh_token")),
            "a browser's session": await ask(try await world.signIn(kind: .web, origin: .browser)),
        ]
        try self.expectSame(answers)
        #expect(answers[0].value.status == 401)
        #expect(await ask(good.text("access_token")).status == 200)
    }
}
