internal import Cryptography
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
    /// - Returns: The answer, at once if neither provider nor store has to be waited for. It fails with
    ///   `ForeignTokenError`.
    func eventualSession(
        _ token: Secret,
        as kind: Session.Kind,
        key: RecordKey,
        known: ForeignSession?,
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

extension ForeignTokens {
    /// The same as a future of `loop`.
    package func session(
        _ token: Secret,
        as kind: Session.Kind,
        key: RecordKey,
        known: ForeignSession?,
        on loop: any EventLoop
    ) -> EventLoopFuture<ForeignAnswer> {
        self.eventualSession(token, as: kind, key: key, known: known, on: loop).future(on: loop)
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
        guard let page = self.page, !page.contains("return_to=") else { return self.page }
        return page + (page.contains("?") ? "&" : "?") + FormText.encoded([("return_to", target)])
    }
}

/// Why nothing is known about a foreign token. This says nothing about the token.
package enum ForeignTokenError: Error, Sendable, Equatable {
    case providerUnavailable
    case store(StoreError)
}

/// A session that a provider vouches for.
package struct ForeignSession: Sendable, Hashable {
    /// Of the token's own lineage; `web` for a cookie of the provider, else `native`.
    package var session: Session
    package var verdict: ForeignVerdict

    package init(session: Session, verdict: ForeignVerdict) {
        self.session = session
        self.verdict = verdict
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

/// Names of foreign tokens and their sessions: HMACs under the pepper, like those of the gateway's own tokens. The
/// hashed input begins with a label and not with a token prefix, so that no foreign token has the key of one of the
/// gateway's tokens.
extension TokenAuthority {
    /// The lineage of a token: of this one alone, so that its record is found before the provider is asked. The tokens of
    /// one of the provider's sessions end together by `ProviderSession.endName`.
    package func foreignLineage(token: UnsafeRawBufferPointer, of provider: String) -> Lineage {
        self.foreignLineage(SHA256.digest(token), of: provider, under: self.current)
    }

    /// The lineages of a token under every accepted secret, the present one first. A token that is signed out ends in all
    /// of them, so that it stays so when another secret becomes the present one.
    package func foreignLineages(token: UnsafeRawBufferPointer, of provider: String) -> [Lineage] {
        let digest = SHA256.digest(token)
        return self.keys.map { self.foreignLineage(digest, of: provider, under: $0) }
    }

    private func foreignLineage(_ digest: Digest256, of provider: String, under key: Key) -> Lineage {
        let hash = Self.foreignHash("lineage", [provider], digest.bytes, under: key)
        return Lineage(tag: String(hash.base64URL.prefix(Self.tagLength)))
    }

    /// The key of the token's record.
    ///
    /// - Parameter kind: How it is presented.
    /// - Parameter configuration: What decides whether and how the provider's tokens are accepted: after a change of it,
    ///   no earlier verdict is used. The lineage stays the same, so that a token that was signed out stays so.
    package func foreignKey(
        _ token: UnsafeRawBufferPointer,
        as kind: Session.Kind = .native,
        of provider: String,
        configuration: String
    ) -> RecordKey {
        let label = kind == .native ? "token" : "cookie"
        // A token has hundreds of bytes, so it is hashed once, and its digest under each name.
        let digest = SHA256.digest(token)
        return RecordKey(
            kind: .foreignSession,
            lineage: self.foreignLineage(digest, of: provider, under: self.current),
            digest: Self.foreignHash(label, [provider, configuration], digest.bytes, under: self.current)
        )
    }

    /// The public id of the provider's session with this id: the same for all of its tokens.
    package func foreignSessionID(session id: String, of provider: String) -> String {
        self.foreignSessionID("session id", Array(id.utf8), of: provider)
    }

    /// The public id of the session of a token for which the provider names none.
    ///
    /// - Parameter lineage: The token's.
    package func foreignSessionID(token lineage: Lineage, of provider: String) -> String {
        self.foreignSessionID("token id", Array(lineage.tag.utf8), of: provider)
    }

    /// Whether the bytes have the form of a token that this gateway makes, of any kind and under any secret: no provider
    /// is shown such a token.
    package static func hasOwnForm(_ token: UnsafeRawBufferPointer) -> Bool {
        guard token.count == Self.tokenLength, token.starts(with: "sp".utf8) else { return false }
        return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(token[2]) && token[3] == UInt8(ascii: "_")
    }

    private func foreignSessionID(_ label: String, _ bytes: [UInt8], of provider: String) -> String {
        let hash = Self.foreignHash(label, [provider], bytes, under: self.current)
        return Self.sessionID(Array(hash.bytes.prefix(Self.idBytes)))
    }

    /// The label and each name are preceded by their length, so that no two inputs are the same bytes.
    static func foreignHash(
        _ label: String,
        _ names: [String],
        _ bytes: [UInt8],
        under key: Key
    ) -> Digest256 {
        var input: [UInt8] = []
        input.reserveCapacity(bytes.count + 128)
        input.append(contentsOf: "foreign ".utf8)
        for name in [label] + names {
            // Without interpolation, which costs more than the hash of a name.
            input.append(contentsOf: String(name.utf8.count).utf8)
            input.append(UInt8(ascii: " "))
            input.append(contentsOf: name.utf8)
        }
        input.append(contentsOf: bytes)
        return key.pepper.sha256(input)
    }
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
}
