import Cryptography
package import Vocabulary

extension TokenAuthority {
    private static let markBytes = 12
    /// The length of a mark in bytes.
    package static let markLength = Self.markBytes / 3 * 4

    /// Returns the mark of a handoff cookie's value: 96 bits of a keyed hash in base64url. A browser that sends the
    /// mark shows that the gateway has handled the value.
    ///
    /// The mark is made under the current secret. After a rotation of the secret, the gateway judges the value again.
    package func mark(of cookie: some Collection<UInt8>) -> [UInt8] {
        Self.mark("handled 1 ", cookie, under: self.current)
    }

    /// Returns the mark with which a browser shows the user of its last session: 96 bits of a keyed hash in base64url.
    /// `nil` for a delegated session (`actor`), because its user is not the person at the browser.
    package func accountMark(of session: Session) -> Secret? {
        guard session.actor == nil else { return nil }
        return Secret(Self.mark(Self.accountLabel, session.subject.utf8, under: self.current))
    }

    /// Reports whether `mark` is the mark of this subject, under any accepted secret.
    package func isMark(_ mark: Secret, ofAccountOf subject: String) -> Bool {
        self.keys.contains { Self.mark(Self.accountLabel, subject.utf8, under: $0) == mark.bytes }
    }

    private static let accountLabel = "account 1 "

    /// Returns the proof that the user of this browser was asked to confirm the transfer token `token` on a host.
    /// Nobody without the gateway's secret can make the proof, so a planted cookie cannot fake a confirmation.
    ///
    /// - Parameters:
    ///   - attempt: The secret in the browser's attempt cookie.
    ///   - authority: The `host[:port]` on which the user is asked.
    package func confirmationMark(of token: some Collection<UInt8>, attempt: Secret, on authority: String) -> [UInt8] {
        Self.mark(Self.confirmationLabel, Self.confirmed(token, attempt, authority), under: self.current)
    }

    /// Reports whether `mark` is the confirmation mark of this token, attempt and host, under any accepted secret.
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

    /// Returns the hashed message of a confirmation mark. Neither a token nor an attempt contains a space.
    private static func confirmed(_ token: some Collection<UInt8>, _ attempt: Secret, _ authority: String) -> [UInt8] {
        Array(token) + [0x20] + attempt.bytes + [0x20] + authority.utf8
    }

    /// - Parameter label: The beginning of the hashed message. No token or attempt begins with a label, so a mark never
    ///   equals a record's digest or an attempt's seed.
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
