package import AddressIntelligence
package import Rules
package import Sessions
package import Vocabulary

/// One act of signing users on, for the audit stream and the metrics. It contains neither a token nor a key, nor what
/// users type: they type passwords into the wrong field.
package struct AuditRecord: Sendable, Equatable {
    package var act: AuditAct

    // MARK: Who and where

    package var requestID: String
    /// The device that made the request.
    package var device: DeviceFacts
    /// The public authority of the host of the request.
    package var host: String?
    /// The client that made the request.
    package var clientID: String?

    // MARK: Whose session

    package var subject: String?
    /// The account that was tried (`AccountNames`), whether or not it exists; in the record of a successful sign-in
    /// beside the subject.
    package var account: String?
    /// The subject of whoever acts for the user.
    package var actor: String?
    /// The public id of the session that began, ended, or was used.
    package var sessionID: String?
    /// The name of that session's token in the logs.
    package var fingerprint: Fingerprint?
    /// The name of the transfer token, ticket or code, or of the family of the refresh token, in the logs.
    package var tokenFingerprint: Fingerprint?
    /// The public id of the session from which the transfer token or ticket was made.
    package var parentSessionID: String?
    /// The public id of the browser's former session, if it ended with this.
    package var endedSessionID: String?
    /// How many other sessions ended with it.
    package var cascaded = 0
    /// When the session that began ends at the latest.
    package var expiresAt: UnixTime?
    /// How long the session that began may be unused before it ends.
    package var idleLifetime: Duration?

    // MARK: Why and how

    /// What the operator's rules said.
    package var rules: [RuleFinding] = []
    /// An error code of the provider, or the check that failed.
    package var detail: String?
    /// The name of the provider at which the user signed in with the browser.
    package var provider: String?
    /// What the settings call the provider of the user, or of whoever tried to sign in; nil: the subject tells it.
    package var realm: String?
    /// Why the session ended, if this is a sign-out.
    package var cause = Reason.sessionSignedOut

    // MARK: Tokens

    /// The audience of what was issued, or of what the client presented.
    package var audience: String?
    /// The audience that the OAuth client asked for.
    package var wantedAudience: String?
    package var scopes: [String] = []
    /// Whether an access token is only made for a session-transfer token, which has rules of its own, and is not handed
    /// out.
    var isForTransfer = false

    // MARK: Transfer tokens and tickets

    /// The public authority of the one host on which the transfer token or ticket is valid.
    package var validHost: String?
    package var transport: HandoffTransport?
    /// The native client and the device that the token was minted for.
    package var mintedClientID: String?
    package var mintedDevice: DeviceFacts?
    /// The age of the token when it was judged.
    package var age: Duration?
    /// The countries of the device that made the request, and of the one that the token was minted for (ISO 3166-1); nil
    /// if unknown. The journal looks them up.
    package var country: String?
    package var mintedCountry: String?
    /// The device that used the token first, when this is a replay or completes an attempt whose answer was lost.
    package var firstDevice: DeviceFacts?
    /// The binding that was judged; nil when an earlier rule decided.
    package var binding: BindingMode?
    /// The mismatch that a dry run let pass.
    package var passedInDryRun: Reason?
    /// Why an earlier refusal burned the token.
    package var burnedFor: Reason?
    /// This refusal burned the token.
    package var burns = false
    /// The user was asked about the token, and has confirmed it.
    package var isConfirmed = false
    /// The browser already had a session, so the sign-in was silent or changed the user.
    package var hadSession = false
    /// The web session that the token had made was ended as well (`on_replay: revoke_derived`).
    package var revokedDerived = false

    /// Records whose session it is about.
    mutating func note(_ session: Session, _ key: RecordKey) {
        self.subject = session.subject
        self.realm = session.identity.realm.name
        self.sessionID = session.id
        self.fingerprint = key.fingerprint
        guard case .session(.signedIn, _) = self.act else { return }
        self.expiresAt = session.expiresAt
        self.idleLifetime = session.idleLifetime
    }

    /// Records whose session an OAuth client's token is about.
    mutating func note(_ session: Session, audience: String?) {
        self.subject = session.subject
        self.realm = session.identity.realm.name
        self.sessionID = session.id
        self.actor = session.actor
        self.audience = audience
    }

    /// The same for a session that the store has.
    mutating func note(_ stored: NewSession, audience: String?) {
        self.note(stored.session, audience: audience)
        self.fingerprint = stored.key.fingerprint
    }

    /// Records the native session from which a transfer token is to be minted.
    mutating func note(mintedFrom parent: Session) {
        self.subject = parent.subject
        self.realm = parent.identity.realm.name
        self.sessionID = parent.id
        self.parentSessionID = parent.id
        self.actor = parent.actor
    }

    /// Records the user and the device for which the transfer token was minted.
    mutating func note(_ token: TransferToken) {
        self.subject = token.parent.subject
        self.realm = token.parent.identity.realm.name
        self.parentSessionID = token.parent.id
        self.validHost = token.host
        self.mintedClientID = token.clientID
        self.mintedDevice = token.device
        self.actor = token.actor
    }

    /// Records that an OAuth client got no token, and why.
    mutating func refuse(_ reason: Reason) {
        if case .token(let act, _) = self.act { self.act = .token(act, refusal: reason) }
    }

    /// The reason of a refusal, of an end, or of a question to the user; nil if it was none of these.
    package var reason: Reason? {
        if case .session(.signedOut, _) = self.act { return self.cause }
        return self.act.reason
    }

    /// This record with the countries of its devices. Both come from the same database as those that rules see.
    ///
    /// - Parameter places: nil: nothing is looked up.
    package func locating(_ places: GeoDirectory?) -> AuditRecord {
        guard let places else { return self }
        var record = self
        record.country = places.place(of: self.device.address)?.countryCode
        record.mintedCountry = self.mintedDevice.flatMap { places.place(of: $0.address)?.countryCode }
        return record
    }
}
