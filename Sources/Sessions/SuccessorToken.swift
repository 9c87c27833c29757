import Cryptography
package import NIOCore
package import Vocabulary

/// A token that takes the place of another one, by which a browser presented its session until then. The session stays
/// the same, under the same key, for apps, for its user and for all that was made from it; so the record says whose token
/// it is, and never changes.
///
/// A handoff that leaves a browser its better session gives it a new token, so that a copy of the cookie that somebody took
/// before is of no more use (session theft). Each token follows from the one before it and the gateway's secret: whatever
/// was lost of the answer, the next try gives the same token again, on every gateway.
package struct SuccessorToken: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "z")) }
    /// The longest that a session lives.
    package static var longestLife: Duration { .seconds(366 * 86_400) }

    /// How long the former token serves: what the browser had sent with it must not be refused, and an answer with the new
    /// one may be lost.
    package static let overlap = Duration.seconds(30)

    /// The key of the session.
    package let session: RecordKey
    /// How many tokens of the session came before it; at least 1.
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

    /// The key of the record of the token with this key.
    private static func place(_ token: RecordKey) -> RecordKey {
        RecordKey(kind: Self.kind, lineage: token.lineage, digest: token.digest)
    }
}

/// A token of a session.
package struct PresentedToken: Sendable, Hashable {
    /// That of the token: only the first token of a session has the session's own.
    package let key: RecordKey
    /// How many tokens of the session came before it.
    package let number: UInt32

    package init(key: RecordKey, number: UInt32) {
        self.key = key
        self.number = number
    }

    /// The token with which the session under `key` began.
    package static func first(_ key: RecordKey) -> PresentedToken { PresentedToken(key: key, number: 0) }
}

/// Which of its tokens a session has now.
package struct TokenSuccession: Sendable, Hashable {
    /// How many tokens came before it; at least 1.
    package let number: UInt32
    /// When it took the place of the one before it.
    package let since: UnixTime

    package init(number: UInt32, since: UnixTime) {
        self.number = number
        self.since = since
    }
}

extension CompactReader {
    /// How many tokens came before one that is not the first.
    mutating func tokenNumber() throws(CompactFormatError) -> UInt32 {
        let number = try self.number()
        guard number > 0 else { throw CompactFormatError() }
        return number
    }
}

extension Session {
    /// Until when the token with this number presents the session, if it does not end before. A number that the session
    /// does not know yet is good: the token proves by itself that it was issued, and a failover has undone the rest.
    package func end(ofToken number: UInt32) -> UnixTime {
        guard let succession = self.succession, number < succession.number else { return self.expiresAt }
        guard number == succession.number - 1 else { return UnixTime(milliseconds: 0) }
        return min(self.expiresAt, succession.since.advanced(by: SuccessorToken.overlap))
    }

    /// Whether the token with this number presents the session at `now`.
    package func accepts(tokenNumber number: UInt32, at now: UnixTime) -> Bool {
        self.succession == nil || now < self.end(ofToken: number)
    }
}

/// What a token names.
package struct SessionPresentation: Sendable {
    /// The key of the session.
    package let key: RecordKey
    package let token: PresentedToken
    /// The session; nil if it does not live.
    package let session: Stored<Session>?

    /// The live session, if the token still presents it at `now`.
    package func accepted(at now: UnixTime) -> Stored<Session>? {
        self.session.flatMap { $0.record.accepts(tokenNumber: self.token.number, at: now) ? $0 : nil }
    }
}

extension SuccessorToken {
    /// The successor with this key; nil if there is none.
    package static func find(
        _ token: RecordKey,
        in store: any ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<SuccessorToken?> {
        store.replaceable(Self.place(token), as: Self.self, on: loop).map { $0?.record }
    }

    /// What the token with this key names.
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
    /// How often a session's record that others replace at the same time is read and judged again.
    private static let mostTries = 8

    /// A new token of a session.
    package struct Issued: Sendable {
        package let token: Secret
        package let session: Session
    }

    /// Lets the session under `key` go on under the token after the one that its browser presents. May be repeated: the
    /// token whose place was taken gives the same successor again while it serves.
    ///
    /// The new token is written first, and is worth nothing if the session ends before it has taken the place.
    ///
    /// - Parameter onlyAgain: Whether only a token is given that the browser should have by now.
    /// - Returns: nil if the session has ended meanwhile, or the browser has its latest token (`onlyAgain`).
    package static func issue(
        for key: RecordKey,
        after presented: PresentedToken,
        by authority: TokenAuthority,
        onlyAgain: Bool,
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
            guard isAgain || !onlyAgain else { return loop.makeSucceededFuture(nil) }
            let (token, tokenKey) = authority.successor(of: presented.key)
            let successor = SuccessorToken(
                session: key,
                number: presented.number + 1,
                issuedAt: now,
                expiresAt: standing.record.expiresAt
            )
            let attempt = AttemptID(value: tokenKey.digest.base64URL)
            return store.create(successor, key: Self.place(tokenKey), attempt: attempt, on: loop).flatMap { creation in
                // `.changed`: another request has made the same one.
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
                    // By another tab's handoff, for example, or because the provider's tokens were renewed.
                    case .changed where number < Self.mostTries:
                        return Self.issue(
                            for: key,
                            after: presented,
                            by: authority,
                            onlyAgain: onlyAgain,
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
    /// The token that takes the place of the one with this key, and its key. Nobody can compute it without the gateway's
    /// secret, also not from the former token.
    package func successor(of token: RecordKey) -> (token: Secret, key: RecordKey) {
        // No token begins with this label, and no other message under the pepper does.
        var message: [UInt8] = []
        message.append(utf8: "successor 1 ")
        message.append(contentsOf: token.digest.bytes)
        let keys = HKDF(secret: self.current.pepper.sha256(message).bytes)
        let random = keys.bytes(for: "sallyport successor session token 1", count: Self.randomBytes)
        return self.make(.session, in: token.lineage, random: random, under: self.current)
    }
}
