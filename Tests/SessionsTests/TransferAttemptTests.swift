import Cryptography
import Sessions
import Testing
import Vocabulary

@Suite struct TransferAttemptTests {
    private let now = UnixTime(seconds: 1_800_000_000)
    private let transfer = testAuthority.make(.transfer, in: testAuthority.newLineage())

    /// The try that `authority` makes of it.
    private func attempt(
        _ secret: AttemptSecret,
        by authority: TokenAuthority = testAuthority,
        with transfer: (token: Secret, key: RecordKey)? = nil,
        on host: String = "app.example.com"
    ) -> TransferAttempt {
        let transfer = transfer ?? self.transfer
        return authority.attempt(secret, with: transfer.key, of: transfer.token.bytes, on: host)
    }

    @Test("The same secret, token and host make the same attempt on every gateway of the secret")
    func isDeterministic() throws {
        let secret = testAuthority.attemptSecret(at: self.now)
        let twin = TokenAuthority(secret: Secret("a secret of the tests"))
        let again = try #require(twin.attemptSecret(in: secret.value.bytes, at: self.now))
        let first = self.attempt(secret)
        let second = self.attempt(again, by: twin)
        #expect(first.id == second.id && first.token == second.token)
        #expect(first.sessionKey == second.sessionKey && first.sessionID == second.sessionID)
    }

    @Test("A try that is repeated after a rotation of the gateway's secret is the same try")
    func outlivesRotation() {
        let secret = testAuthority.attemptSecret(at: self.now)
        let rotated = TokenAuthority(current: Secret("its successor"), accepted: [Secret("a secret of the tests")])
        let (before, after) = (self.attempt(secret), self.attempt(secret, by: rotated))
        #expect(before.id == after.id && before.token == after.token && before.sessionKey == after.sessionKey)
        #expect(rotated.key(.session, of: after.token.bytes) == before.sessionKey)
    }

    @Test("Another secret, token, host or gateway secret shares nothing with it")
    func isIndependent() {
        let secret = testAuthority.attemptSecret(at: self.now)
        let other = testAuthority.make(.transfer, in: self.transfer.key.lineage)
        let stranger = TokenAuthority(secret: Secret("another secret"))
        let attempts = [
            self.attempt(secret),
            self.attempt(testAuthority.attemptSecret(at: self.now)),
            self.attempt(secret, with: other),
            self.attempt(secret, on: "app.example.com:8443"),
            self.attempt(secret, by: stranger),
        ]
        #expect(Set(attempts.map(\.id)).count == attempts.count)
        #expect(Set(attempts.map(\.token)).count == attempts.count)
        #expect(Set(attempts.map(\.sessionKey)).count == attempts.count)
        #expect(Set(attempts.map(\.sessionID)).count == attempts.count)
    }

    @Test("Its token is a session token of the transfer's family, and its ids have the form of all others")
    func hasTheUsualForm() {
        let attempt = self.attempt(testAuthority.attemptSecret(at: self.now))
        #expect(attempt.token.bytes.count == TokenAuthority.tokenLength)
        #expect(testAuthority.key(.session, of: attempt.token.bytes) == attempt.sessionKey)
        #expect(attempt.sessionKey.lineage == self.transfer.key.lineage)
        #expect(attempt.sessionID.hasPrefix("ses_"))
        #expect(attempt.sessionID.utf8.count == testAuthority.newSessionID().utf8.count)
        #expect(attempt.id.value.utf8.count == testAuthority.newAttempt().value.utf8.count)
        #expect(attempt.success == .used(attempt.id, session: attempt.sessionKey))
    }

    @Test("Nothing that is kept or shown of an attempt holds the browser's secret or the session's token")
    func tellsNothing() {
        let secret = testAuthority.attemptSecret(at: self.now)
        let attempt = self.attempt(secret)
        let shown =
            "\(attempt) \(secret) \(attempt.id.value) \(attempt.sessionKey.digest.base64URL) \(attempt.sessionID)"
        #expect(!shown.contains(String(decoding: secret.value.bytes, as: UTF8.self)))
        #expect(!shown.contains(String(decoding: attempt.token.bytes.suffix(43), as: UTF8.self)))
    }

    @Test(
        "A cookie that was never given out is no secret",
        arguments: [
            "", "A", String(repeating: "A", count: 42), String(repeating: "A", count: 43),
            String(repeating: "A", count: 44),
            String(repeating: "+", count: 43),
            String(repeating: "A", count: 42) + "B", "\"" + String(repeating: "A", count: 41) + "\"",
            String(repeating: "%41", count: 14) + "A", String(repeating: "\0", count: 43),
        ]
    )
    func oddCookies(text: String) {
        #expect(testAuthority.attemptSecret(in: text.utf8, at: self.now) == nil)
    }

    @Test("No two secrets are alike, and each comes back from its cookie")
    func unique() {
        let secrets = (0..<100).map { _ in testAuthority.attemptSecret(at: self.now) }
        #expect(Set(secrets).count == 100)
        #expect(
            secrets.allSatisfy {
                testAuthority.attemptSecret(in: $0.value.bytes, at: self.now) == $0 && $0.value.bytes.count == 43
            }
        )
    }

    @Test(
        "A secret is good for a minute, by any gateway's clock, and only as it was given out by one of the same secret"
    )
    func isGoodForAMinute() {
        let secret = testAuthority.attemptSecret(at: self.now)
        func comesBack(_ cookie: [UInt8], after milliseconds: Int, by authority: TokenAuthority = testAuthority) -> Bool
        {
            authority.attemptSecret(in: cookie, at: self.now.advanced(by: .milliseconds(milliseconds))) == secret
        }
        let cookie = secret.value.bytes
        #expect([-59_999, -1, 0, 1, 59_999].allSatisfy { comesBack(cookie, after: $0) })
        #expect(![-60_000, 60_000, 86_400_000].contains { comesBack(cookie, after: $0) })
        let rotated = TokenAuthority(current: Secret("its successor"), accepted: [Secret("a secret of the tests")])
        #expect(comesBack(cookie, after: 0, by: rotated))
        #expect(!comesBack(cookie, after: 0, by: TokenAuthority(secret: Secret("another secret"))))
        for index in cookie.indices {
            var altered = cookie
            altered[index] = altered[index] == UInt8(ascii: "Q") ? UInt8(ascii: "g") : UInt8(ascii: "Q")
            #expect(testAuthority.attemptSecret(in: altered, at: self.now) == nil)
        }
    }
}
