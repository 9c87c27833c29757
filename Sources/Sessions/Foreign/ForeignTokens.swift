package import NIOCore
package import Vocabulary

/// Tokens that a provider made and knows, not this gateway, as a resolver uses them.
package protocol ForeignTokens: Sendable {
    /// The key under which the session of these bytes is kept if a provider may know them, by their syntax alone; nil if
    /// none does. Called on an event loop, for tokens that are not of the gateway's own syntax.
    ///
    /// - Parameter kind: How they are presented: `web` in a cookie of the provider, `native` as a token. The same bytes
    ///   have another key as the other, so that neither passes as the other.
    func key(of token: UnsafeRawBufferPointer, as kind: Session.Kind) -> RecordKey?

    /// Finds the session of a token.
    ///
    /// - Parameters:
    ///   - kind: How it is presented.
    ///   - key: The token's, from `key(of:as:)`.
    ///   - known: What this loop knows of the token; its verdict is used for as long as it may be.
    ///   - caller: Who presents it.
    /// - Returns: The answer, at once if neither provider nor store has to be waited for. It fails with
    ///   `ForeignTokenError`.
    func eventualSession(
        _ token: Secret,
        as kind: Session.Kind,
        key: RecordKey,
        known: ForeignSession?,
        for caller: ProviderCaller,
        on loop: any EventLoop
    ) -> Eventual<ForeignAnswer>

    /// Binds a live token to a key of its user (RFC 9449 6), unless it is bound to another one. From then on it is good
    /// only with a proof. An event loop that knows the token as unbound learns of it within `SessionCache.hardAge`.
    ///
    /// - Parameter key: The token's, from `key(of:as:)`.
    /// - Returns: A future of `loop`. It fails with `StoreError`.
    func bind(_ key: RecordKey, to thumbprint: String, on loop: any EventLoop) -> EventLoopFuture<KeyBinding>

    /// Tells the provider that the user has signed out of the session of a token, so that it refuses the token as well.
    ///
    /// - Parameter sessionID: The provider's id of the session; nil if it is not known.
    /// - Returns: Whether the provider has ended the session, or cannot end any: then the gateway alone does.
    func revoke(_ token: Secret, as kind: Session.Kind, sessionID: String?) async -> Bool
}

/// The tokens that the provider of a realm knows.
package struct RealmTokens: Sendable {
    package let realm: Realm
    package let tokens: any ForeignTokens

    package init(_ realm: Realm, _ tokens: any ForeignTokens) {
        self.realm = realm
        self.tokens = tokens
    }
}

/// A provider that may know a token, by its syntax.
package struct ForeignCandidate: Sendable {
    /// That of the token's record.
    package let key: RecordKey
    package let tokens: any ForeignTokens
}

extension Sequence<any ForeignTokens> {
    /// Those that may know a token, in their order. The first that knows it counts; those after it are not asked.
    package func candidates(for token: Secret, as kind: Session.Kind = .native) -> [ForeignCandidate] {
        self.compactMap { tokens in
            token.bytes.withUnsafeBytes { tokens.key(of: $0, as: kind) }.map {
                ForeignCandidate(key: $0, tokens: tokens)
            }
        }
    }
}

extension ForeignTokens {
    /// The same as a future of `loop`.
    package func session(
        _ token: Secret,
        as kind: Session.Kind,
        key: RecordKey,
        known: ForeignSession?,
        on loop: any EventLoop
    ) -> EventLoopFuture<ForeignAnswer> {
        self.eventualSession(token, as: kind, key: key, known: known, for: .current, on: loop).future(on: loop)
    }

    /// The session of an app's token for an act that a provider's doubtful word does not suffice for: an answer that only
    /// bridges an outage of the provider (`ForeignVerdict.isStale`) fails with `providerUnavailable`.
    package func freshSession(
        _ token: Secret,
        as kind: Session.Kind = .native,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<ForeignAnswer> {
        self.session(token, as: kind, key: key, known: nil, on: loop).flatMapThrowing { answer in
            if case .live(let found) = answer, found.verdict.isStale { throw ForeignTokenError.providerUnavailable }
            return answer
        }
    }
}

/// The result of binding a token to a key.
package enum KeyBinding: Sendable {
    case bound
    /// It is bound to another key, and stays so.
    case otherKey
    /// It has ended.
    case ended
}

/// What was found for a foreign token.
package enum ForeignAnswer: Sendable, Equatable {
    case live(ForeignSession)
    /// The token is not accepted, for this reason.
    case none(Reason)
    /// The provider knows the session, and demands more of its user before it tells who that is.
    indirect case insufficient(ProviderDemand)
}

/// What a provider demands of a user whose session does not suffice for it, in its own words.
package struct ProviderDemand: Sendable, Hashable {
    /// The absolute URL to which a browser goes for it; nil: the provider names none.
    package var page: String?
    /// The provider's own JSON document, for programs.
    package var document: [UInt8]

    package init(page: String?, document: [UInt8]) {
        self.page = page
        self.document = document
    }

    /// The page, from which the browser comes back to `target`; nil if there is none.
    ///
    /// - Parameter target: An absolute URL.
    package func page(leadingTo target: String) -> String? {
        guard let page = self.page, !page.utf8.contains("return_to=".utf8) else { return self.page }
        return page + (page.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + FormText.encoded([("return_to", target)])
    }
}

/// Why nothing is known about a foreign token. This says nothing about the token.
package enum ForeignTokenError: Error, Sendable, Equatable {
    case providerUnavailable
    case store(StoreError)
}

/// A session that a provider vouches for.
package struct ForeignSession: Sendable, Hashable {
    /// Shared by copies: a session has many parts, and each copy would count the references to all of them.
    private final class Content: Sendable {
        let session: Session

        init(_ session: Session) {
            self.session = session
        }
    }

    private let content: Content
    package private(set) var verdict: ForeignVerdict

    package init(session: Session, verdict: ForeignVerdict) {
        self.content = Content(session)
        self.verdict = verdict
    }

    /// Of the token's own lineage; `web` for a cookie of the provider, else `native`.
    package var session: Session { self.content.session }

    /// The same under another verdict.
    package func with(_ verdict: ForeignVerdict) -> ForeignSession {
        var session = self
        session.verdict = verdict
        return session
    }

    /// The same with a changed session.
    package func with(_ change: (inout Session) -> Void) -> ForeignSession {
        var session = self.session
        change(&session)
        return ForeignSession(session: session, verdict: self.verdict)
    }

    package static func == (left: ForeignSession, right: ForeignSession) -> Bool {
        left.verdict == right.verdict && (left.content === right.content || left.session == right.session)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.session)
        hasher.combine(self.verdict)
    }
}

/// When a provider vouched for a token, and for how long that is relied on.
package struct ForeignVerdict: Sendable, Hashable {
    package let givenAt: UnixTime
    /// From this time on, the provider must vouch again before the session is used.
    package let usableUntil: UnixTime
    /// Whether it had run out and only bridges an outage of the provider: it suffices for requests that may be repeated,
    /// and for no others.
    package let isStale: Bool
    /// Whether the user is one who may sign in. If not, the token is good for requests, and gives no other token.
    package let isAdmitted: Bool

    package init(givenAt: UnixTime, usableUntil: UnixTime, isStale: Bool = false, isAdmitted: Bool = true) {
        self.givenAt = givenAt
        self.usableUntil = max(givenAt, usableUntil)
        self.isStale = isStale
        self.isAdmitted = isAdmitted
    }

    /// A use from this time on asks the provider in the background, so that a session in use never waits for it.
    package var askAgainAt: UnixTime {
        let lifetime = self.usableUntil.milliseconds - self.givenAt.milliseconds
        return UnixTime(milliseconds: self.givenAt.milliseconds + lifetime / 5 * 4)
    }

    /// Whether the provider need not be asked now. False after the clock was set back.
    package func isFresh(at now: UnixTime) -> Bool { now >= self.givenAt && now < self.askAgainAt }

    /// Whether the session may be used now.
    package func isUsable(at now: UnixTime) -> Bool { now >= self.givenAt && now < self.usableUntil }
}

extension RecordKind {
    /// The session of a foreign token (`ForeignSessionRecord`).
    package static var foreignSession: RecordKind { RecordKind(letter: UInt8(ascii: "b")) }
}

extension ProviderSession {
    /// The name under which a store ends all tokens of this session of the provider, as it ends the sessions of a subject
    /// (`SessionStore.end(subject:)`); nil if the provider names no session.
    package var endName: String? { self.sessionID.map { Self.endName(of: $0, at: self.name) } }

    /// The same for the provider's id of its session (`sid`). No subject has such a name, because no provider's subject
    /// has a control character.
    package static func endName(of sessionID: String, at provider: String) -> String {
        "\u{0}sid\u{0}\(provider)\u{0}\(sessionID)"
    }

    /// The same for the sessions of a subject that the provider gives no id.
    package static func endName(ofUnnamed subject: String, at provider: String) -> String {
        "\u{0}no sid\u{0}\(provider)\u{0}\(subject)"
    }
}
