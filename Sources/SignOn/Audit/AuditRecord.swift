package import AddressIntelligence
package import Rules
package import Sessions
package import Vocabulary

/// One act of signing users on, for the audit stream and the metrics. It contains no tokens or keys, and nothing that
/// users type, because users may type passwords into the wrong field.
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
    /// The account that was tried (`AccountNames`), whether or not it exists. The record of a successful sign-in
    /// contains both the account and the subject.
    package var account: String?
    /// The subject of the actor who acts for the user. `nil` if nobody acts for the user.
    package var actor: String?
    /// The public id of the session that began, ended, or was used.
    package var sessionID: String?
    /// The name of the session's token in the logs.
    package var fingerprint: Fingerprint?
    /// The name in the logs of the transfer token, ticket or code, or of the refresh token's family.
    package var tokenFingerprint: Fingerprint?
    /// The public id of the session from which the transfer token or ticket was made.
    package var parentSessionID: String?
    /// The public id of the browser's previous session, if the act ended it.
    package var endedSessionID: String?
    /// The number of other sessions that ended with the session.
    package var cascaded = 0
    /// The absolute expiry of the session that began.
    package var expiresAt: UnixTime?
    /// The idle timeout of the session that began.
    package var idleLifetime: Duration?

    // MARK: Why and how

    /// The results of the operator's rules.
    package var rules: [RuleFinding] = []
    /// An error code of the provider, or the check that failed.
    package var detail: String?
    /// The name of the provider at which the user signed in with the browser.
    package var provider: String?
    /// The name of the user's provider in the settings, also for a failed sign-in. `nil` if the subject has it.
    package var realm: String?
    /// The reason why the session ended, if the act is a sign-out.
    package var cause = Reason.sessionSignedOut

    // MARK: Tokens

    /// The audience of the issued or presented token.
    package var audience: String?
    /// The audience that the OAuth client requested.
    package var wantedAudience: String?
    package var scopes: [String] = []
    /// True if the access token is only used to mint a session-transfer token, not handed out. Rules at `mint` apply.
    var isForTransfer = false

    // MARK: Transfer tokens and tickets

    /// The public authority of the only host on which the transfer token or ticket is valid.
    package var validHost: String?
    package var transport: HandoffTransport?
    /// The native client for which the token was minted, and the device of this client.
    package var mintedClientID: String?
    package var mintedDevice: DeviceFacts?
    /// The age of the token when it was judged.
    package var age: Duration?
    /// The countries (ISO 3166-1) of the requesting device and of the device for which the token was minted. `nil` if
    /// unknown. The journal looks up the countries.
    package var country: String?
    package var mintedCountry: String?
    /// The device that used the token first, if the act is a replay or completes an attempt whose answer was lost.
    package var firstDevice: DeviceFacts?
    /// The binding that was checked. `nil` if an earlier check decided.
    package var binding: BindingMode?
    /// The mismatch that a dry run let pass.
    package var passedInDryRun: Reason?
    /// The binding check for the access log and the metrics. `nil` if no binding was checked.
    var judgedBinding: JudgedBinding? {
        guard let mode = self.binding, mode != .none else { return nil }
        let mismatch = JudgedBinding.Outcome(self.passedInDryRun ?? self.reason)
        let isAccepted = self.passedInDryRun != nil && mismatch == .mismatch
        return JudgedBinding(mode: mode, outcome: isAccepted ? .dryRun : mismatch ?? .match)
    }
    /// The reason of the earlier refusal that burned the token.
    package var burnedFor: Reason?
    /// True if this refusal burned the token.
    package var burns = false
    /// True if the user was asked about the token and confirmed it.
    package var isConfirmed = false
    /// True if the browser already had a session, so that the sign-in was silent or changed the user.
    package var hadSession = false
    /// True if the web session that was made from the token was also ended (`on_replay: revoke_derived`).
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

    /// Records the session of an OAuth client's token.
    mutating func note(_ session: Session, audience: String?) {
        self.subject = session.subject
        self.realm = session.identity.realm.name
        self.sessionID = session.id
        self.actor = session.actor
        self.audience = audience
    }

    /// Records the session of an OAuth client's token, with the fingerprint of the stored session.
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

    /// The reason of a refusal, of a sign-out, or of a question to the user. `nil` for any other act.
    package var reason: Reason? {
        if case .session(.signedOut, _) = self.act { return self.cause }
        return self.act.reason
    }

    /// Returns this record with the countries of its devices, from the database that rules also use.
    ///
    /// - Parameter places: The database. `nil` if nothing is looked up.
    package func locating(_ places: GeoDirectory?) -> AuditRecord {
        guard let places else { return self }
        var record = self
        record.country = places.place(of: self.device.address)?.countryCode
        record.mintedCountry = self.mintedDevice.flatMap { places.place(of: $0.address)?.countryCode }
        return record
    }
}
