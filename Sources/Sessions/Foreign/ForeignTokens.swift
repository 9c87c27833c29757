internal import Cryptography
package import NIOCore
package import Vocabulary

/// Tokens that a provider made and knows, not this gateway, as a resolver uses them.
package protocol ForeignTokens: Sendable {
    /// The key under which the session of these bytes is kept if a provider may know them, by their syntax alone; nil if
    /// none does. Called on an event loop, for tokens that are not of the gateway's own syntax.
    func key(of token: UnsafeRawBufferPointer) -> RecordKey?

    /// Finds the session of a token.
    ///
    /// - Parameters:
    ///   - key: The token's, from `key(of:)`.
    ///   - known: What this loop knows of the token; its verdict is used for as long as it may be.
    /// - Returns: A future of `loop`. It fails with `ForeignTokenError`.
    func session(
        _ token: Secret,
        key: RecordKey,
        known: ForeignSession?,
        on loop: any EventLoop
    ) -> EventLoopFuture<ForeignAnswer>
}

/// What was found for a foreign token.
package enum ForeignAnswer: Sendable, Equatable {
    case live(ForeignSession)
    /// The token is not accepted, for this reason.
    case none(Reason)
}

/// Why nothing is known about a foreign token. This says nothing about the token.
package enum ForeignTokenError: Error, Sendable, Equatable {
    case providerUnavailable
    case store(StoreError)
}

/// A session that a provider vouches for.
package struct ForeignSession: Sendable, Hashable {
    /// Native, of the token's own lineage.
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

    package init(givenAt: UnixTime, usableUntil: UnixTime) {
        self.givenAt = givenAt
        self.usableUntil = max(givenAt, usableUntil)
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
    /// - Parameter configuration: What decides whether and how the provider's tokens are accepted: after a change of it,
    ///   no earlier verdict is used. The lineage stays the same, so that a token that was signed out stays so.
    package func foreignKey(
        _ token: UnsafeRawBufferPointer,
        of provider: String,
        configuration: String
    ) -> RecordKey {
        // A token has hundreds of bytes, so it is hashed once, and its digest under each name.
        let digest = SHA256.digest(token)
        return RecordKey(
            kind: .foreignSession,
            lineage: self.foreignLineage(digest, of: provider, under: self.current),
            digest: Self.foreignHash("token", [provider, configuration], digest.bytes, under: self.current)
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
    private static func foreignHash(
        _ label: String,
        _ names: [String],
        _ bytes: [UInt8],
        under key: Key
    ) -> Digest256 {
        var input: [UInt8] = []
        input.reserveCapacity(bytes.count + 128)
        input.append(contentsOf: "foreign ".utf8)
        for name in [label] + names {
            input.append(contentsOf: "\(name.utf8.count) ".utf8)
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
