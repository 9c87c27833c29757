package import AddressIntelligence
package import Rules
package import Sessions
package import Vocabulary

/// One act of sign-on for the audit stream and the metrics. It contains no tokens, no keys, and no text that a user
/// typed, because users may type passwords into the wrong field.
package struct AuditRecord: Sendable, Equatable {
    package var act: AuditAct

    // MARK: Who and where

    package var requestID: String
    /// The device that made the request.
    package var device: DeviceFacts
    /// The public authority (`host[:port]`) that received the request.
    package var host: String?
    /// The client that made the request.
    package var clientID: String?

    // MARK: Whose session

    package var subject: String?
    /// The keyed hash of the identifier that the user tried (`AccountNames`), whether or not the account exists.
    package var account: String?
    /// The subject of the person who acts for the user. `nil` if nobody acts for the user.
    package var actor: String?
    /// The public id of the session that began, ended, or was used.
    package var sessionID: String?
    /// The session's fingerprint in logs.
    package var fingerprint: Fingerprint?
    /// The fingerprint in logs of the transfer token, ticket or code, or of the refresh token's family.
    package var tokenFingerprint: Fingerprint?
    /// The public id of the session from which the transfer token or ticket was issued.
    package var parentSessionID: String?
    /// The public id of the browser's previous session. `nil` unless the act ended that session.
    package var endedSessionID: String?
    /// The number of other sessions that ended together with the session.
    package var cascaded = 0
    /// The absolute expiry of the new session.
    package var expiresAt: UnixTime?
    /// The idle timeout of the new session.
    package var idleLifetime: Duration?

    // MARK: Why and how

    /// The results of the operator's rules.
    package var rules: [RuleFinding] = []
    /// The provider's error code, or the name of the check that failed.
    package var detail: String?
    /// The provider's own name (the issuer for OpenID Connect).
    package var provider: String?
    /// The name of the user's realm. `nil` if only the subject is known, which contains it.
    package var realm: String?
    /// The reason for a sign-out.
    package var cause = Reason.sessionSignedOut

    // MARK: Tokens

    /// The audience of the issued or presented token.
    package var audience: String?
    /// The audience that the OAuth client requested.
    package var wantedAudience: String?
    package var scopes: [String] = []
    /// True if the access token only serves to mint a session-transfer token. Rules at `mint` apply, not at `exchange`.
    var isForTransfer = false

    // MARK: Transfer tokens and tickets

    /// The only host (`host[:port]`) on which the transfer token or ticket is valid. `nil` if it is valid on every
    /// host.
    package var validHost: String?
    package var transport: HandoffTransport?
    /// The native client that minted the token, and its device.
    package var mintedClientID: String?
    package var mintedDevice: DeviceFacts?
    /// The age of the token when it was presented.
    package var age: Duration?
    /// The countries (ISO 3166-1) of the requesting device and of the minting device. Set by `locating`. `nil` if
    /// unknown.
    package var country: String?
    package var mintedCountry: String?
    /// The device that used the token first. Set for a replay, and for an attempt that is repeated after a lost answer.
    package var firstDevice: DeviceFacts?
    /// The binding mode that was checked. `nil` if an earlier check failed.
    package var binding: BindingMode?
    /// The binding mismatch that a dry run ignored.
    package var passedInDryRun: Reason?
    /// The binding check for metrics and access log. `nil` if no binding was checked.
    var judgedBinding: JudgedBinding? {
        guard let mode = self.binding, mode != .none else { return nil }
        let mismatch = JudgedBinding.Outcome(self.passedInDryRun ?? self.reason)
        let isAccepted = self.passedInDryRun != nil && mismatch == .mismatch
        return JudgedBinding(mode: mode, outcome: isAccepted ? .dryRun : mismatch ?? .match)
    }
    /// The reason why an earlier attempt burned the token.
    package var burnedFor: Reason?
    /// True if this attempt burned the token.
    package var burns = false
    /// True if the user confirmed the token.
    package var isConfirmed = false
    /// True if the browser already had a session.
    package var hadSession = false
    /// True if the replay ended the web session that was made from the token (`on_replay: revoke_derived`).
    package var revokedDerived = false

    /// Records the session of the act.
    mutating func note(_ session: Session, _ key: RecordKey) {
        self.subject = session.subject
        self.realm = session.identity.realm.name
        self.sessionID = session.id
        self.fingerprint = key.fingerprint
        guard case .session(.signedIn, _) = self.act else { return }
        self.expiresAt = session.expiresAt
        self.idleLifetime = session.idleLifetime
    }

    /// Records the session to which an OAuth client's token belongs.
    mutating func note(_ session: Session, audience: String?) {
        self.subject = session.subject
        self.realm = session.identity.realm.name
        self.sessionID = session.id
        self.actor = session.actor
        self.audience = audience
    }

    /// Records the session to which an OAuth client's token belongs, with its fingerprint.
    mutating func note(_ stored: NewSession, audience: String?) {
        self.note(stored.session, audience: audience)
        self.fingerprint = stored.key.fingerprint
    }

    /// Records the native session from which a client mints a transfer token.
    mutating func note(mintedFrom parent: Session) {
        self.subject = parent.subject
        self.realm = parent.identity.realm.name
        self.sessionID = parent.id
        self.parentSessionID = parent.id
        self.actor = parent.actor
    }

    /// Records the user, the client and the device of a transfer token.
    mutating func note(_ token: TransferToken) {
        self.subject = token.parent.subject
        self.realm = token.parent.identity.realm.name
        self.parentSessionID = token.parent.id
        self.validHost = token.host
        self.mintedClientID = token.clientID
        self.mintedDevice = token.device
        self.actor = token.actor
    }

    /// Records why an OAuth client got no token.
    mutating func refuse(_ reason: Reason) {
        if case .token(let act, _) = self.act { self.act = .token(act, refusal: reason) }
    }

    /// The reason for a refusal, for a sign-out, or for asking the user to confirm. `nil` for other acts.
    package var reason: Reason? {
        if case .session(.signedOut, _) = self.act { return self.cause }
        return self.act.reason
    }

    /// Returns this record with the countries of its devices.
    ///
    /// - Parameter places: The database. `nil` to look up nothing.
    package func locating(_ places: GeoDirectory?) -> AuditRecord {
        guard let places else { return self }
        var record = self
        record.country = places.place(of: self.device.address)?.countryCode
        record.mintedCountry = self.mintedDevice.flatMap { places.place(of: $0.address)?.countryCode }
        return record
    }
}
