import Cryptography
import Sessions
import Testing
import Vocabulary

@Suite struct SessionAttemptTests {
    private let transfer = testAuthority.make(.transfer, in: testAuthority.newLineage())

    /// The attempt that `authority` derives for this transfer token.
    private func attempt(
        _ secret: AttemptSecret,
        by authority: TokenAuthority = testAuthority,
        with transfer: (token: Secret, key: RecordKey)? = nil,
        on host: String = "app.example.com"
    ) -> SessionAttempt {
        let transfer = transfer ?? self.transfer
        return authority.attempt(secret, with: transfer.key, of: transfer.token.bytes, on: host)
    }

    @Test("The same secret, token and host make the same attempt on every gateway with the same secret")
    func isDeterministic() throws {
        let secret = AttemptSecret()
        let again = try #require(AttemptSecret(secret.value.bytes))
        let twin = TokenAuthority(secret: Secret("a secret of the tests"))
        let first = self.attempt(secret)
        let second = self.attempt(again, by: twin)
        #expect(first.id == second.id && first.token == second.token)
        #expect(first.sessionKey == second.sessionKey && first.sessionID == second.sessionID)
    }

    @Test("An attempt that is repeated after a rotation of the gateway's secret is the same attempt")
    func outlivesRotation() {
        let secret = AttemptSecret()
        let rotated = TokenAuthority(current: Secret("its successor"), accepted: [Secret("a secret of the tests")])
        let (before, after) = (self.attempt(secret), self.attempt(secret, by: rotated))
        #expect(before.id == after.id && before.token == after.token && before.sessionKey == after.sessionKey)
        #expect(rotated.key(.session, of: after.token.bytes) == before.sessionKey)
    }

    @Test("Attempts with another secret, token, host or gateway secret have no value in common")
    func isIndependent() {
        let secret = AttemptSecret()
        let other = testAuthority.make(.transfer, in: self.transfer.key.lineage)
        let stranger = TokenAuthority(secret: Secret("another secret"))
        let attempts = [
            self.attempt(secret),
            self.attempt(AttemptSecret()),
            self.attempt(secret, with: other),
            self.attempt(secret, on: "app.example.com:8443"),
            self.attempt(secret, by: stranger),
        ]
        #expect(Set(attempts.map(\.id)).count == attempts.count)
        #expect(Set(attempts.map(\.token)).count == attempts.count)
        #expect(Set(attempts.map(\.sessionKey)).count == attempts.count)
        #expect(Set(attempts.map(\.sessionID)).count == attempts.count)
    }

    @Test("An attempt's token is a session token of the transfer's family, and its ids have the usual form")
    func hasTheUsualForm() {
        let attempt = self.attempt(AttemptSecret())
        #expect(attempt.token.bytes.count == TokenAuthority.tokenLength)
        #expect(testAuthority.key(.session, of: attempt.token.bytes) == attempt.sessionKey)
        #expect(attempt.sessionKey.lineage == self.transfer.key.lineage)
        #expect(attempt.sessionID.hasPrefix("ses_"))
        #expect(attempt.sessionID.utf8.count == testAuthority.newSessionID().utf8.count)
        #expect(attempt.id.value.utf8.count == testAuthority.newAttempt().value.utf8.count)
        #expect(attempt.success == .used(attempt.id, session: attempt.sessionKey))
    }

    @Test("No stored or shown value of an attempt contains the browser's secret or the session's token")
    func tellsNothing() {
        let secret = AttemptSecret()
        let attempt = self.attempt(secret)
        let shown =
            "\(attempt) \(secret) \(attempt.id.value) \(attempt.sessionKey.digest.base64URL) \(attempt.sessionID)"
        #expect(!shown.contains(String(decoding: secret.value.bytes, as: UTF8.self)))
        #expect(!shown.contains(String(decoding: attempt.token.bytes.suffix(43), as: UTF8.self)))
    }

    @Test(
        "A cookie value that was never issued is not a secret",
        arguments: [
            "", "A", String(repeating: "A", count: 42), String(repeating: "A", count: 44),
            String(repeating: "+", count: 43),
            String(repeating: "A", count: 42) + "B", "\"" + String(repeating: "A", count: 41) + "\"",
            String(repeating: "%41", count: 14) + "A", String(repeating: "\0", count: 43),
        ]
    )
    func oddCookies(text: String) {
        #expect(AttemptSecret(text.utf8) == nil)
    }

    @Test("All secrets are different, and each can be read back from its cookie")
    func unique() {
        let secrets = (0..<100).map { _ in AttemptSecret() }
        #expect(Set(secrets).count == 100)
        #expect(secrets.allSatisfy { AttemptSecret($0.value.bytes) == $0 && $0.value.bytes.count == 43 })
    }
}
