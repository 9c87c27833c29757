package import NIOCore
package import Vocabulary

/// Looks up, binds and revokes the tokens that a provider issued.
package protocol ForeignTokens: Sendable {
    /// Returns the key of the token's record; `nil` if the token's syntax is not the provider's. Called on an event
    /// loop, for tokens without the gateway's own syntax.
    ///
    /// - Parameter kind: `web` for a cookie of the provider, `native` for a token. The two have different keys, so a
    ///   cookie is not accepted as a token.
    func key(of token: UnsafeRawBufferPointer, as kind: Session.Kind) -> RecordKey?

    /// Finds the session of a token.
    ///
    /// - Parameters:
    ///   - kind: How the token is presented.
    ///   - key: The token's key, from `key(of:as:)`.
    ///   - known: The session in this loop's cache; `nil` if there is none. It is returned while its verdict is valid.
    ///   - caller: The presenter of the token.
    /// - Returns: The answer, at once if nobody must be asked. It fails with `ForeignTokenError`.
    func eventualSession(
        _ token: Secret,
        as kind: Session.Kind,
        key: RecordKey,
        known: ForeignSession?,
        for caller: ProviderCaller,
        on loop: any EventLoop
    ) -> Eventual<ForeignAnswer>

    /// Returns the session of a token as the provider last reported it, without asking the provider.
    ///
    /// - Parameter key: The token's key, from `key(of:as:)`.
    /// - Returns: A future of `loop`: `nil` if the token is unknown or has ended. It fails with
    ///   `ForeignTokenError`.
    func kept(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<ForeignSession?>

    /// Asks the provider about a known token even if its verdict is fresh. If the provider's session has ended,
    /// everything made from the token has ended when the future succeeds. Does nothing for an unknown token.
    ///
    /// - Parameter key: The token's key, from `key(of:as:)`.
    /// - Returns: A future of `loop`. It fails with `ForeignTokenError`.
    func recheck(_ token: Secret, as kind: Session.Kind, key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<
        Void
    >

    /// Binds a live token to a key of its user (RFC 9449 6), unless it is bound to another key. A bound token is valid
    /// only with a proof. Every loop applies the binding within `SessionCache.hardAge`.
    ///
    /// - Parameter key: The token's key, from `key(of:as:)`.
    /// - Returns: A future of `loop`. It fails with `StoreError`.
    func bind(_ key: RecordKey, to thumbprint: String, on loop: any EventLoop) -> EventLoopFuture<KeyBinding>

    /// Notifies the provider that the user has signed out of a token's session.
    ///
    /// - Parameter sessionID: The provider's id of the session; `nil` if it is not known.
    /// - Returns: True if the provider has ended the session, or offers no way to end sessions.
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

/// A provider whose tokens have the syntax of a presented token.
package struct ForeignCandidate: Sendable {
    /// The key of the token's record.
    package let key: RecordKey
    package let tokens: any ForeignTokens
}

extension Sequence<any ForeignTokens> {
    /// Returns the providers that may know a token, in the order in which they are asked until one knows it.
    package func candidates(for token: Secret, as kind: Session.Kind = .native) -> [ForeignCandidate] {
        self.compactMap { tokens in
            token.bytes.withUnsafeBytes { tokens.key(of: $0, as: kind) }.map {
                ForeignCandidate(key: $0, tokens: tokens)
            }
        }
    }
}

extension ForeignTokens {
    /// Finds the session of a token, as a future of `loop`.
    package func session(
        _ token: Secret,
        as kind: Session.Kind,
        key: RecordKey,
        known: ForeignSession?,
        on loop: any EventLoop
    ) -> EventLoopFuture<ForeignAnswer> {
        self.eventualSession(token, as: kind, key: key, known: known, for: .current, on: loop).future(on: loop)
    }

    /// Finds the session of an app's token for an action that needs a current verdict. A stale verdict
    /// (`ForeignVerdict.isStale`) fails with `providerUnavailable`.
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
    /// The token is already bound to another key.
    case otherKey
    /// The token has ended.
    case ended
}

/// The result of looking for the session of a foreign token.
package enum ForeignAnswer: Sendable, Equatable {
    case live(ForeignSession)
    /// The token is rejected for this reason.
    case none(Reason)
    /// The provider knows the session, but demands another factor before it reports the user.
    indirect case insufficient(ProviderDemand)
}

/// What a provider demands of a user whose session does not suffice, in the provider's words.
package struct ProviderDemand: Sendable, Hashable {
    /// The absolute URL of the page on which the user meets the demand; `nil` if the provider names none.
    package var page: String?
    /// The JSON document of the provider, which clients receive unchanged.
    package var document: [UInt8]

    package init(page: String?, document: [UInt8]) {
        self.page = page
        self.document = document
    }

    /// Returns the page with `target` as its `return_to`, unless it already has one; `nil` if there is no page.
    ///
    /// - Parameter target: An absolute URL.
    package func page(leadingTo target: String) -> String? {
        guard let page = self.page, !page.utf8.contains("return_to=".utf8) else { return self.page }
        return page + (page.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + FormText.encoded([("return_to", target)])
    }
}

/// The reason why a foreign token could not be judged. The token may be valid.
package enum ForeignTokenError: Error, Sendable, Equatable {
    case providerUnavailable
    case store(StoreError)
}

/// A session as a provider reported it.
package struct ForeignSession: Sendable, Hashable {
    /// An object, because copying a session would retain each of its parts.
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

    /// The session, in the token's own lineage. Its kind is `web` for a cookie of the provider, otherwise `native`.
    package var session: Session { self.content.session }

    /// Returns the foreign session with another verdict.
    package func with(_ verdict: ForeignVerdict) -> ForeignSession {
        var session = self
        session.verdict = verdict
        return session
    }

    /// Returns the foreign session with a changed session.
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

/// A provider's confirmation that a token is valid, and how long the gateway relies on it.
package struct ForeignVerdict: Sendable, Hashable {
    package let givenAt: UnixTime
    /// The time from which the session may be used only after the provider has confirmed it again.
    package let usableUntil: UnixTime
    /// True if the verdict has expired and only bridges an outage of the provider. Only idempotent requests may use it.
    package let isStale: Bool
    /// True if the user may sign in. Otherwise, the token is valid for requests, but not for an exchange.
    package let isAdmitted: Bool

    package init(givenAt: UnixTime, usableUntil: UnixTime, isStale: Bool = false, isAdmitted: Bool = true) {
        self.givenAt = givenAt
        self.usableUntil = max(givenAt, usableUntil)
        self.isStale = isStale
        self.isAdmitted = isAdmitted
    }

    /// The time from which a use asks the provider in the background, so that active sessions never wait for it.
    package var askAgainAt: UnixTime {
        let lifetime = self.usableUntil.milliseconds - self.givenAt.milliseconds
        return UnixTime(milliseconds: self.givenAt.milliseconds + lifetime / 5 * 4)
    }

    /// Reports whether the verdict is used without asking the provider. False after the clock was set back.
    package func isFresh(at now: UnixTime) -> Bool { now >= self.givenAt && now < self.askAgainAt }

    /// Reports whether the session may be used now.
    package func isUsable(at now: UnixTime) -> Bool { now >= self.givenAt && now < self.usableUntil }
}

extension RecordKind {
    /// The session of a foreign token (`ForeignSessionRecord`).
    package static var foreignSession: RecordKind { RecordKind(letter: UInt8(ascii: "b")) }
}

extension ProviderSession {
    /// The name under which a store ends all tokens of this provider session, as if it were a subject
    /// (`SessionStore.end(subject:)`); `nil` if the provider reports no session id.
    package var endName: String? { self.sessionID.map { Self.endName(of: $0, at: self.name) } }

    /// Returns the name under which a store ends all tokens of the provider session `sessionID` (`sid`). No subject has
    /// this name, because subjects of providers contain no control characters.
    package static func endName(of sessionID: String, at provider: String) -> String {
        "\u{0}sid\u{0}\(provider)\u{0}\(sessionID)"
    }

    /// Returns the name under which a store ends a subject's sessions at a provider that reports no session id.
    package static func endName(ofUnnamed subject: String, at provider: String) -> String {
        "\u{0}no sid\u{0}\(provider)\u{0}\(subject)"
    }
}
