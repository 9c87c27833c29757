import Cryptography
package import Vocabulary

extension TokenAuthority {
    private static let markBytes = 12
    /// The length of a mark in bytes.
    package static let markLength = Self.markBytes / 3 * 4

    /// The mark that a browser sends to show that this value of a handoff cookie was dealt with: 96 bits of a keyed
    /// hash in base64url. It does not reveal the value, and no mark for another value can be made without the secret.
    ///
    /// It is made under the current secret. If a browser sends a mark made under a former secret, the cookie is judged
    /// once more.
    package func mark(of cookie: some Collection<UInt8>) -> [UInt8] {
        Self.mark("handled 1 ", cookie, under: self.current)
    }

    /// The mark of a session's account, by which a browser shows which account it used last: 96 bits of a keyed hash in
    /// base64url, which does not tell whose account it is. nil for a session in which somebody acts for the user: the
    /// account is not that of whoever uses the browser.
    package func accountMark(of session: Session) -> Secret? {
        guard session.actor == nil else { return nil }
        return Secret(Self.mark(Self.accountLabel, session.subject.utf8, under: self.current))
    }

    /// Whether `mark` is that of this user's account, made under any accepted secret.
    package func isMark(_ mark: Secret, ofAccountOf subject: String) -> Bool {
        self.keys.contains { Self.mark(Self.accountLabel, subject.utf8, under: $0) == mark.bytes }
    }

    private static let accountLabel = "account 1 "

    /// The mark that the user of this browser was asked about a transfer token on a host, made at that time. Nobody else
    /// can make one, so a planted cookie does not say that the user has confirmed its token.
    ///
    /// - Parameters:
    ///   - attempt: The browser's own try.
    ///   - authority: `host[:port]` of the host.
    package func confirmationMark(of token: some Collection<UInt8>, attempt: Secret, on authority: String) -> [UInt8] {
        Self.mark(Self.confirmationLabel, Self.confirmed(token, attempt, authority), under: self.current)
    }

    /// Whether `mark` is that mark, made under any accepted secret.
    package func isConfirmationMark(
        _ mark: [UInt8],
        of token: some Collection<UInt8>,
        attempt: Secret,
        on authority: String
    ) -> Bool {
        let confirmed = Self.confirmed(token, attempt, authority)
        return self.keys.contains {
            constantTimeEqual(Self.mark(Self.confirmationLabel, confirmed, under: $0), mark)
        }
    }

    private static let confirmationLabel = "confirmed 1 "

    /// Neither a token nor an attempt contains a space.
    private static func confirmed(_ token: some Collection<UInt8>, _ attempt: Secret, _ authority: String) -> [UInt8] {
        Array(token) + [0x20] + attempt.bytes + [0x20] + authority.utf8
    }

    /// - Parameter label: No token and no attempt begins with it, so no mark equals the key of a record or the seed of an
    ///   attempt.
    private static func mark(_ label: String, _ value: some Collection<UInt8>, under key: Key) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(128)
        message.append(utf8: label)
        message.append(contentsOf: value)
        let digest = key.pepper.sha256(message)
        return Base64URL.encoded(Array(digest.bytes.prefix(Self.markBytes)))
    }

    /// Whether the text has the form of a mark.
    package static func isMark(_ text: some Collection<UInt8>) -> Bool {
        text.count == Self.markLength && Base64URL.decoded(ArraySlice(text)) != nil
    }
}
