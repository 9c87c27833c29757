package import Observability
package import Rules
package import Sessions
package import Vocabulary

/// What happened to a session-transfer token, for the audit stream and the metrics. It holds no token and no key.
package struct HandoffRecord: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        case minted
        case mintRefused(Reason)
        /// The store could not keep the token; nothing was handed out.
        case mintUnavailable
        /// The user is asked to confirm it; the token is unchanged. The reason says why; nil: users always are.
        case asked(Reason?)
        case signedIn
        /// The token is used up, and the browser keeps its own session of the same user because it is better.
        case sessionStays
        /// The browser that the token signed in, or that used it up, repeats its navigation.
        case repeated
        case refused(Reason)
        /// The store could not answer; the token is unchanged.
        case unavailable
    }

    package var outcome: Outcome
    package var requestID: String
    /// The client that made the request: the native one at mint, the web one at consumption.
    package var clientID: String
    /// The device that made the request.
    package var device: DeviceFacts
    package var transport: HandoffTransport?
    /// The audience that was requested at mint.
    package var audience: String?
    /// The public authority of the one host on which the token is valid.
    package var mintedHost: String?
    /// The subject of whoever acts for the user, by a delegated token.
    package var actor: String?
    /// The public authority on which the token was presented.
    package var host: String?
    package var subject: String?
    /// The public id of the session concerned: the parent at mint, the web session at consumption.
    package var sessionID: String?
    /// The names of that session's token and of the transfer token in the logs.
    package var fingerprint: Fingerprint?
    package var tokenFingerprint: Fingerprint?
    /// The public id of the native session that the token was minted from.
    package var parentSessionID: String?
    /// The native client and the device that the token was minted for.
    package var mintedClientID: String?
    package var mintedDevice: DeviceFacts?
    /// How long ago the token was minted, when it was judged.
    package var age: Duration?
    /// The country of the device that made the request, and of the one that the token was minted for (ISO 3166-1); nil if
    /// unknown. The journal looks them up.
    package var country: String?
    package var mintedCountry: String?
    /// The device that used the token first, when this is a replay or completes a try whose answer was lost.
    package var firstDevice: DeviceFacts?
    /// The binding that was judged; nil when an earlier rule decided.
    package var binding: BindingMode?
    /// The mismatch that a dry run let pass.
    package var passedInDryRun: Reason?
    /// What the operator's rules said.
    package var rules: [RuleFinding] = []
    /// Why an earlier refusal burned the token.
    package var burnedFor: Reason?
    /// This refusal burned the token.
    package var burns = false
    /// The user was asked about the token, and has confirmed it.
    package var isConfirmed = false
    /// The browser already had a session, so the sign-in was silent or changed the user.
    package var hadSession = false
    /// The public id of the browser's former session, if it ended with this.
    package var endedSessionID: String?
    /// The web session that the token had made was ended as well (`on_replay: revoke_derived`).
    package var revokedDerived = false

    package init(outcome: Outcome, requestID: String, clientID: String, device: DeviceFacts) {
        self.outcome = outcome
        self.requestID = requestID
        self.clientID = clientID
        self.device = device
    }

    /// Auth0's event code: `sertft`/`fertft` for a mint, `s` for a sign-in, `ssa` for one in a browser that already had
    /// a session, `sdel` for one by a delegated token, `w` for a refused token. nil for what Auth0 has no event for: an unavailable store, a browser that
    /// repeats its navigation.
    package var code: AuditEvent.Code? {
        switch self.outcome {
        case .minted: .minted
        case .mintRefused: .mintFailed
        case .signedIn where self.actor != nil: .delegatedSignedIn
        case .signedIn: self.hadSession ? .silentlySignedIn : .signedIn
        case .sessionStays: .silentlySignedIn
        case .refused: .warning
        case .mintUnavailable, .asked, .repeated, .unavailable: nil
        }
    }

    /// The sentence in Auth0's log for a refused token, by which its filters find the event; nil where it has none.
    /// (auth0/docs-v2, native-to-web/configure-implement-native-to-web.mdx, "Session transfer validation warning logs".)
    package var description: String? {
        guard case .refused(let reason) = self.outcome else { return nil }
        switch reason {
        case .handoffUnknown, .handoffMalformed, .handoffExpired, .handoffReplayed, .handoffBurned,
            .handoffQuarantined:
            return "Single Sign-On failed: Session Transfer Token not found or expired. "
                + "This may indicate token reuse or expiration."
        case .bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown:
            return
                "Single Sign-On failed: Session Transfer Token device binding validation failed due to IP/ASN mismatch."
        case .handoffOtherOrganization:
            return "Single Sign-On failed: Session Transfer Token organization mismatch detected."
        case .handoffOtherUser:
            return "Single Sign-On failed: Session Transfer Token user mismatch detected."
        case .sessionRevoked:
            return "Single Sign-On failed: Parent refresh token not found. "
                + "Session Transfer Token won't be used for session establishment."
        default:
            return nil
        }
    }

    /// The result under which the record is counted.
    package var result: TransferTokenResult {
        switch self.outcome {
        case .minted: .minted
        case .asked: .asked
        case .signedIn, .sessionStays: .consumed
        case .repeated: .repeated
        case .mintUnavailable, .unavailable: .storeError
        case .refused(.handoffReplayed): .replayed
        case .refused(.handoffExpired): .expired
        case .refused(.handoffQuarantined): .quarantined
        case .refused(.handoffMalformed), .refused(.handoffUnknown), .refused(.handoffBurned),
            .refused(.credentialOtherKey):
            .invalid
        case .refused(.bindingIPMismatch), .refused(.bindingASNMismatch), .refused(.bindingASNUnknown):
            .bindingMismatch
        case .mintRefused(.handoffThrottled): .throttled
        case .refused, .mintRefused: .refused
        }
    }

    /// The reason of a refusal, or of a question; nil if it was neither.
    package var reason: Reason? {
        switch self.outcome {
        case .mintRefused(let reason), .refused(let reason): reason
        case .asked(let reason): reason
        case .minted, .mintUnavailable, .signedIn, .sessionStays, .repeated, .unavailable: nil
        }
    }
}
