import Cryptography
package import NIOCore
package import Vocabulary

/// A token that replaces the previous token of a browser's session. The record only names the session, which keeps its
/// key.
///
/// A browser that keeps its session at a handoff gets a new token, so a stolen copy of the old cookie becomes useless.
/// Each token is derived from its predecessor and the gateway's secret. So after a lost answer, every gateway makes the
/// same token again.
package struct SuccessorToken: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "z")) }
    /// More than the longest configurable lifetime of a session.
    package static var longestLife: Duration { .seconds(366 * 86_400) }

    /// The time for which the former token remains valid. The browser may have sent requests with the former token
    /// already, or may miss the answer with the new token.
    package static let overlap = Duration.seconds(30)

    /// The key of the session.
    package let session: RecordKey
    /// The number of tokens that the session had before this one; at least 1.
    package let number: UInt32
    package let terms: RecordTerms

    package init(session: RecordKey, number: UInt32, issuedAt: UnixTime, expiresAt: UnixTime) {
        self.session = session
        self.number = number
        self.terms = RecordTerms(since: issuedAt, expiresAt: expiresAt)
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.session)
        writer.write(UInt64(self.number))
        writer.write(self.terms.since)
        writer.write(self.terms.expiresAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> SuccessorToken {
        SuccessorToken(
            session: try reader.key(of: .session),
            number: try reader.tokenNumber(),
            issuedAt: try reader.time(),
            expiresAt: try reader.time()
        )
    }

    /// Returns the key of the record of the successor token `token`.
    private static func place(_ token: RecordKey) -> RecordKey {
        RecordKey(kind: Self.kind, lineage: token.lineage, digest: token.digest)
    }
}

/// A token that presents a session.
package struct PresentedToken: Sendable, Hashable {
    /// The key of the token. The session's first token has the key of the session.
    package let key: RecordKey
    /// The number of tokens that the session had before this one.
    package let number: UInt32

    package init(key: RecordKey, number: UInt32) {
        self.key = key
        self.number = number
    }

    /// Returns the first token of the session under `key`.
    package static func first(_ key: RecordKey) -> PresentedToken { PresentedToken(key: key, number: 0) }
}

/// The number of a session's current token, and the time when the token came into use.
package struct TokenSuccession: Sendable, Hashable {
    /// The number of tokens that the session had before the current one; at least 1.
    package let number: UInt32
    /// The time when the current token replaced its predecessor.
    package let since: UnixTime

    package init(number: UInt32, since: UnixTime) {
        self.number = number
        self.since = since
    }
}

extension CompactReader {
    /// Reads the number of a successor token.
    mutating func tokenNumber() throws(CompactFormatError) -> UInt32 {
        let number = try self.number()
        guard number > 0 else { throw CompactFormatError() }
        return number
    }
}

extension Session {
    /// Returns the time until which the token with this number is valid. A number above the session's own is valid: a
    /// failover has undone the session's change, but not the token's record.
    package func end(ofToken number: UInt32) -> UnixTime {
        guard let succession = self.succession, number < succession.number else { return self.expiresAt }
        guard number == succession.number - 1 else { return UnixTime(milliseconds: 0) }
        return min(self.expiresAt, succession.since.advanced(by: SuccessorToken.overlap))
    }

    /// Reports whether the token with this number is valid at `now`.
    package func accepts(tokenNumber number: UInt32, at now: UnixTime) -> Bool {
        self.succession == nil || now < self.end(ofToken: number)
    }
}

/// The session of a presented token.
package struct SessionPresentation: Sendable {
    /// The key of the session.
    package let key: RecordKey
    package let token: PresentedToken
    /// The session; `nil` if the session is not live.
    package let session: Stored<Session>?

    /// Returns the live session if the token is still valid at `now`; otherwise `nil`.
    package func accepted(at now: UnixTime) -> Stored<Session>? {
        self.session.flatMap { $0.record.accepts(tokenNumber: self.token.number, at: now) ? $0 : nil }
    }
}

extension SuccessorToken {
    /// Finds the successor token with this key; `nil` if it does not exist.
    package static func find(
        _ token: RecordKey,
        in store: any ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<SuccessorToken?> {
        store.replaceable(Self.place(token), as: Self.self, on: loop).map { $0?.record }
    }

    /// Finds the session of the token with this key.
    package static func presentation(
        by token: RecordKey,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<SessionPresentation> {
        store.session(token, on: loop).flatMap { session in
            let first = SessionPresentation(key: token, token: .first(token), session: session)
            guard session == nil else { return loop.makeSucceededFuture(first) }
            return Self.find(token, in: store, on: loop).flatMap { successor in
                guard let successor else { return loop.makeSucceededFuture(first) }
                return store.session(successor.session, on: loop).map { session in
                    SessionPresentation(
                        key: successor.session,
                        token: PresentedToken(key: token, number: successor.number),
                        session: session
                    )
                }
            }
        }
    }
}

extension SuccessorToken {
    /// The maximum number of tries to replace a session's record while other requests replace it.
    private static let maxTries = 8

    /// A new token and its session.
    package struct Issued: Sendable {
        package let token: Secret
        package let session: Session
    }

    /// Gives the session under `key` the successor of the presented token. Until the former token expires, a repeated
    /// call returns the same successor.
    ///
    /// - Parameter onlyAgain: True to return a successor only if an earlier call has issued it.
    /// - Returns: The token; `nil` if the session or the presented token has ended, or if `onlyIfIssuedBefore` allows
    ///   no new token.
    package static func issue(
        for key: RecordKey,
        after presented: PresentedToken,
        by authority: TokenAuthority,
        onlyIfIssuedBefore: Bool,
        now: UnixTime,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop,
        try number: Int = 1
    ) -> EventLoopFuture<Issued?> {
        store.session(key, on: loop).flatMap { standing in
            guard let standing, standing.record.accepts(tokenNumber: presented.number, at: now),
                presented.number < .max
            else { return loop.makeSucceededFuture(nil) }
            let isAgain = presented.number < standing.record.succession?.number ?? 0
            guard isAgain || !onlyIfIssuedBefore else { return loop.makeSucceededFuture(nil) }
            let (token, tokenKey) = authority.successor(of: presented.key)
            let successor = SuccessorToken(
                session: key,
                number: presented.number + 1,
                issuedAt: now,
                expiresAt: standing.record.expiresAt
            )
            let attempt = AttemptID(value: tokenKey.digest.base64URL)
            return store.create(successor, key: Self.place(tokenKey), attempt: attempt, on: loop).flatMap { creation in
                // `.changed`: another request has written the same token.
                guard creation == .done || creation == .changed else { return loop.makeSucceededFuture(nil) }
                var session = standing.record
                if isAgain {
                    return loop.makeSucceededFuture(Issued(token: token, session: session))
                }
                session.succession = TokenSuccession(number: successor.number, since: now)
                return store.replace(key, judged: standing.version, with: session, on: loop).flatMap { [session] in
                    switch $0 {
                    case .done:
                        return loop.makeSucceededFuture(Issued(token: token, session: session))
                    case .absent, .quarantined: return loop.makeSucceededFuture(nil)
                    // Another tab's handoff or a renewal of the provider's tokens may have changed the session.
                    case .changed where number < Self.maxTries:
                        return Self.issue(
                            for: key,
                            after: presented,
                            by: authority,
                            onlyIfIssuedBefore: onlyIfIssuedBefore,
                            now: now,
                            in: store,
                            on: loop,
                            try: number + 1
                        )
                    case .changed: return loop.makeFailedFuture(StoreError.unavailable)
                    }
                }
            }
        }
    }
}

extension TokenAuthority {
    /// Returns the successor of the token with this key, and the successor's key. Computing the successor takes the
    /// gateway's secret, so the former token does not reveal it.
    package func successor(of token: RecordKey) -> (token: Secret, key: RecordKey) {
        // No token and no other hashed message begins with this label.
        var message: [UInt8] = []
        message.append(utf8: "successor 1 ")
        message.append(contentsOf: token.digest.bytes)
        let keys = HKDF(secret: self.current.pepper.sha256(message).bytes)
        let random = keys.bytes(for: "sallyport successor session token 1", count: Self.randomBytes)
        return self.make(.session, in: token.lineage, random: random, under: self.current)
    }
}
