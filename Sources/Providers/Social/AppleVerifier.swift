package import Calls
import JOSE
import Sessions
package import Settings
package import Vocabulary

/// Redeems Apple's authorization codes at Apple, and verifies the id_token of the answer.
package struct AppleVerifier: SocialVerifier {
    /// The maximum length of a code in bytes.
    private static let longestCode = 2048
    /// The time for which a code is remembered. Apple redeems a code once, within five minutes.
    private static let codeLifetime: Duration = .seconds(600)

    private let settings: AppleSettings
    private let tokenURL: EndpointURL
    private let secret: AppleClientSecret
    private let keys: SocialKeys
    private let transport: any CallTransport
    private let clock: Clock
    private let calls = SharedCallLimit()
    private let account = SocialAccount(kind: .apple)

    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: AppleSettings,
        transport: any CallTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        self.settings = settings
        self.tokenURL = try EndpointURL(settings.tokenURL, of: "apple.token_url")
        self.secret = try AppleClientSecret(settings)
        let keysURL = try EndpointURL(settings.keysURL, of: "apple.jwks_url")
        self.keys = SocialKeys(keysURL, transport: transport, clock: clock)
        self.transport = transport
        self.clock = clock
    }

    package func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
        func refusal(_ detail: String) -> NotDone { NotDone(.socialRefused, detail: detail) }
        let code = signIn.artefact.bytes
        guard (1...Self.longestCode).contains(code.count), code.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw refusal("the code is empty or too long, or has characters that no code has")
        }
        let bundleIDs = self.settings.bundleIDs
        guard let bundleID = signIn.bundleID ?? (bundleIDs.count == 1 ? bundleIDs.first : nil) else {
            throw refusal("the client has no bundle id, and native_social.apple.bundle_ids has several")
        }
        guard bundleID.isExactlyOne(of: bundleIDs) else {
            throw refusal("the client's bundle id is not in native_social.apple.bundle_ids")
        }
        let caller = ProviderCaller.current
        guard self.calls.begin(caller) else {
            self.transport.withhold(.token)
            throw NotDone(.providerUnavailable, detail: "too many calls to Apple are under way")
        }
        defer { self.calls.end(caller) }
        let tokens: ProviderTokenAnswer
        do throws(TokenFault) {
            tokens = try await self.redeem(signIn.artefact, for: bundleID)
        } catch {
            // Other errors concern the gateway's own credentials, or are not from Apple.
            let isRefused = error.cause == .refused(error: "invalid_grant")
            throw NotDone(isRefused ? .socialRefused : .providerUnavailable, detail: "Apple: \(error.detail)")
        }
        guard let idToken = tokens.idToken else {
            let detail = "Apple: the answer of the token endpoint has no usable id_token"
            throw NotDone(.providerUnavailable, detail: detail)
        }
        do throws(ProviderFault) {
            return try self.proof(try await self.keys.verify(idToken), tokens.accessToken, signIn, bundleID)
        } catch {
            throw error.notDone(.socialRefused, of: "Apple's id_token", at: "Apple")
        }
    }

    /// Redeems the code of a native app. The bundle id of the app is the client, and there is no `redirect_uri`.
    private func redeem(_ code: Secret, for bundleID: String) async throws(TokenFault) -> ProviderTokenAnswer {
        let form: [URLQuery.Parameter] = [
            ("client_id", bundleID), ("client_secret", self.secret.make(for: bundleID, now: self.clock.now())),
            ("code", String(decoding: code.bytes, as: UTF8.self)), ("grant_type", "authorization_code"),
        ]
        let call = OutgoingCall(
            "POST",
            self.tokenURL.text,
            for: .token,
            fields: [("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json")],
            body: Array(FormText.encoded(form).utf8)
        )
        let answer: CallAnswer
        do throws(CallError) {
            answer = try await self.transport.send(call)
        } catch {
            throw TokenFault(error)
        }
        return try ProviderTokenAnswer(answer)
    }

    private func proof(
        _ idToken: JWS,
        _ accessToken: Secret,
        _ signIn: SocialSignIn,
        _ bundleID: String
    ) throws(ProviderFault) -> SocialProof {
        let now = self.clock.now()
        let check = IDTokenCheck(
            issuer: self.settings.issuer,
            clientID: bundleID,
            now: now,
            nonce: signIn.nonce,
            accessToken: accessToken
        )
        let (subject, claims) = try check.claims(of: idToken)
        // If the app does not send its nonce to the gateway, the nonce cannot be checked.
        guard signIn.nonce != nil || claims["nonce"] == nil else {
            throw ProviderFault("it has a nonce: the app must not send one to Apple")
        }
        return SocialProof(
            try self.account.user(subject, claims.value, signIn.profile, now: now),
            self.account.artefact(
                signIn.artefact.bytes,
                of: bundleID,
                // Apple does not report when it issued the code.
                from: nil,
                until: now.advanced(by: Self.codeLifetime),
                now: now
            ),
            stated: SocialClaims(issuer: self.settings.issuer, subject: subject, claims: claims.value)
        )
    }
}
