import Cryptography
package import Vocabulary

extension TokenAuthority {
    private static let markBytes = 12
    /// The length of a mark in bytes.
    package static let markLength = Self.markBytes / 3 * 4

    /// Returns the mark that a browser sends to show that this value of a handoff cookie was handled: 96 bits of a
    /// keyed hash in base64url. It does not reveal the value, and nobody without the secret can make a mark for another
    /// value.
    ///
    /// The mark is made under the current secret. A cookie with a mark under an older secret is judged again.
    package func mark(of cookie: some Collection<UInt8>) -> [UInt8] {
        Self.mark("handled 1 ", cookie, under: self.current)
    }

    /// Returns the mark of a session's account, with which a browser shows which account it used last. It is 96 bits of
    /// a keyed hash in base64url, and does not reveal the account. `nil` for a session in which somebody acts for the
    /// user, because the account does not belong to the person at the browser.
    package func accountMark(of session: Session) -> Secret? {
        guard session.actor == nil else { return nil }
        return Secret(Self.mark(Self.accountLabel, session.subject.utf8, under: self.current))
    }

    /// Reports whether `mark` is the mark of this user's account, made under any accepted secret.
    package func isMark(_ mark: Secret, ofAccountOf subject: String) -> Bool {
        self.keys.contains { Self.mark(Self.accountLabel, subject.utf8, under: $0) == mark.bytes }
    }

    private static let accountLabel = "account 1 "

    /// Returns the mark that is made when the user of this browser is asked about a transfer token on a host. Only the
    /// gateway can make the mark, so a planted cookie cannot claim that the user has confirmed its token.
    ///
    /// - Parameters:
    ///   - attempt: The browser's own attempt.
    ///   - authority: The `host[:port]` on which the user is asked.
    package func confirmationMark(of token: some Collection<UInt8>, attempt: Secret, on authority: String) -> [UInt8] {
        Self.mark(Self.confirmationLabel, Self.confirmed(token, attempt, authority), under: self.current)
    }

    /// Reports whether `mark` is the confirmation mark of this token, attempt and host, made under any accepted secret.
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

    /// Returns the message of a confirmation mark. Neither a token nor an attempt contains a space.
    private static func confirmed(_ token: some Collection<UInt8>, _ attempt: Secret, _ authority: String) -> [UInt8] {
        Array(token) + [0x20] + attempt.bytes + [0x20] + authority.utf8
    }

    /// - Parameter label: The beginning of the message. No token or attempt begins with it, so that no mark equals the
    ///   key of a record or the seed of an attempt.
    private static func mark(_ label: String, _ value: some Collection<UInt8>, under key: Key) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(128)
        message.append(utf8: label)
        message.append(contentsOf: value)
        let digest = key.pepper.sha256(message)
        return Base64URL.encoded(Array(digest.bytes.prefix(Self.markBytes)))
    }

    /// Reports whether the text has the form of a mark.
    package static func isMark(_ text: some Collection<UInt8>) -> Bool {
        text.count == Self.markLength && Base64URL.decoded(ArraySlice(text)) != nil
    }
}
