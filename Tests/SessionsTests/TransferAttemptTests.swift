import Sessions
import Testing
import Vocabulary

@Suite struct TransferAttemptTests {
    private let transfer = testAuthority.make(.transfer, in: testAuthority.newLineage()).key

    @Test("The same secret, token and host make the same attempt on every gateway of the secret")
    func isDeterministic() throws {
        let secret = AttemptSecret()
        let again = try #require(AttemptSecret(secret.value.bytes))
        let twin = TokenAuthority(secret: Secret("a secret of the tests"))
        let first = testAuthority.attempt(secret, with: self.transfer, on: "app.example.com")
        let second = twin.attempt(again, with: self.transfer, on: "app.example.com")
        #expect(first.id == second.id && first.token == second.token)
        #expect(first.sessionKey == second.sessionKey && first.sessionID == second.sessionID)
    }

    @Test("Another secret, token, host or gateway secret shares nothing with it")
    func isIndependent() {
        let secret = AttemptSecret()
        let host = "app.example.com"
        let other = testAuthority.make(.transfer, in: self.transfer.lineage).key
        let stranger = TokenAuthority(secret: Secret("another secret"))
        let attempts = [
            testAuthority.attempt(secret, with: self.transfer, on: host),
            testAuthority.attempt(AttemptSecret(), with: self.transfer, on: host),
            testAuthority.attempt(secret, with: other, on: host),
            testAuthority.attempt(secret, with: self.transfer, on: host + ":8443"),
            stranger.attempt(secret, with: self.transfer, on: host),
        ]
        #expect(Set(attempts.map(\.id)).count == attempts.count)
        #expect(Set(attempts.map(\.token)).count == attempts.count)
        #expect(Set(attempts.map(\.sessionKey)).count == attempts.count)
        #expect(Set(attempts.map(\.sessionID)).count == attempts.count)
    }

    @Test("Its token is a session token of the transfer's family, and its ids have the form of all others")
    func hasTheUsualForm() {
        let attempt = testAuthority.attempt(AttemptSecret(), with: self.transfer, on: "app.example.com")
        #expect(attempt.token.bytes.count == TokenAuthority.tokenLength)
        #expect(testAuthority.key(.session, of: attempt.token.bytes) == attempt.sessionKey)
        #expect(attempt.sessionKey.lineage == self.transfer.lineage)
        #expect(attempt.sessionID.hasPrefix("ses_"))
        #expect(attempt.sessionID.utf8.count == testAuthority.newSessionID().utf8.count)
        #expect(attempt.id.value.utf8.count == testAuthority.newAttempt().value.utf8.count)
        #expect(attempt.success == .used(attempt.id, session: attempt.sessionKey))
    }

    @Test("Nothing that is kept or shown of an attempt holds the browser's secret or the session's token")
    func tellsNothing() {
        let secret = AttemptSecret()
        let attempt = testAuthority.attempt(secret, with: self.transfer, on: "app.example.com")
        let shown = "\(attempt) \(secret) \(attempt.id.value) \(attempt.sessionKey.digest) \(attempt.sessionID)"
        #expect(!shown.contains(String(decoding: secret.value.bytes, as: UTF8.self)))
        #expect(!shown.contains(String(decoding: attempt.token.bytes.suffix(43), as: UTF8.self)))
    }

    @Test(
        "A cookie that was never given out is no secret",
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

    @Test("No two secrets are alike, and each comes back from its cookie")
    func unique() {
        let secrets = (0..<100).map { _ in AttemptSecret() }
        #expect(Set(secrets).count == 100)
        #expect(secrets.allSatisfy { AttemptSecret($0.value.bytes) == $0 && $0.value.bytes.count == 43 })
    }
}
