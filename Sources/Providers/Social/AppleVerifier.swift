import JOSE
package import Settings
package import Vocabulary

/// Redeems Apple's authorization codes, and verifies the id_token of the answer.
package struct AppleVerifier: SocialVerifier {
    /// The longest code in bytes.
    private static let longestCode = 2048
    /// How long a code is remembered. It is good for five minutes and Apple redeems it once; this is for the time in which
    /// an answer of Apple may have been lost.
    private static let codeLifetime: Duration = .seconds(600)

    private let settings: AppleSettings
    private let tokenURL: ProviderURL
    private let secret: AppleClientSecret
    private let keys: SocialKeys
    private let transport: any ProviderTransport
    private let clock: Clock
    private let calls = CallLimit()
    private let account = SocialAccount(kind: .apple)

    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: AppleSettings,
        transport: any ProviderTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        self.settings = settings
        self.tokenURL = try ProviderURL(settings.tokenURL, of: "apple.token_url")
        self.secret = try AppleClientSecret(settings)
        let keysURL = try ProviderURL(settings.keysURL, of: "apple.jwks_url")
        self.keys = SocialKeys(keysURL, transport: transport, clock: clock)
        self.transport = transport
        self.clock = clock
    }

    package func verify(_ signIn: SocialSignIn) async -> SocialVerdict {
        let code = signIn.artefact.bytes
        guard (1...Self.longestCode).contains(code.count), code.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return .refused(detail: "the code is empty or too long, or has characters that no code has")
        }
        guard let bundleID = signIn.bundleID ?? self.onlyBundleID else {
            return .refused(detail: "the client has no bundle id, and native_social.apple.bundle_ids has several")
        }
        guard self.settings.bundleIDs.contains(where: { $0.isExactly(bundleID) }) else {
            return .refused(detail: "the client's bundle id is not in native_social.apple.bundle_ids")
        }
        guard self.calls.begin() else { return .unavailable(detail: "too many calls to Apple are under way") }
        defer { self.calls.end() }
        switch await self.redeem(signIn.artefact, for: bundleID) {
        case .refused(error: "invalid_grant", let detail): return .refused(detail: "Apple: \(detail)")
        // Anything else is about the gateway's own credentials, or no answer of Apple's.
        case .refused(error: _, let detail), .busy(after: _, let detail), .unsent(let detail), .lost(let detail):
            return .unavailable(detail: "Apple: \(detail)")
        case .tokens(let tokens): return await self.finish(tokens, signIn, bundleID)
        }
    }

    private var onlyBundleID: String? {
        self.settings.bundleIDs.count == 1 ? self.settings.bundleIDs.first : nil
    }

    /// Asks for tokens, as the native app that got the code: its bundle id is the client, and there was no redirect.
    private func redeem(_ code: Secret, for bundleID: String) async -> TokenOutcome {
        let form: [URLQuery.Parameter] = [
            ("client_id", bundleID), ("client_secret", self.secret.make(for: bundleID, now: self.clock.now())),
            ("code", String(decoding: code.bytes, as: UTF8.self)), ("grant_type", "authorization_code"),
        ]
        let call = ProviderCall(
            "POST",
            self.tokenURL.text,
            for: .token,
            fields: [("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json")],
            body: Array(FormText.encoded(form).utf8)
        )
        do throws(ProviderCallError) {
            return TokenOutcome(try await self.transport.send(call))
        } catch {
            return error.isUnsent ? .unsent(detail: error.detail) : .lost(detail: error.detail)
        }
    }

    private func finish(_ tokens: TokenAnswer, _ signIn: SocialSignIn, _ bundleID: String) async -> SocialVerdict {
        guard let idToken = tokens.idToken else {
            return .unavailable(detail: "Apple: the answer of the token endpoint has no usable id_token")
        }
        switch await self.keys.verify(idToken) {
        case .invalid(let detail): return .refused(detail: "Apple's id_token: \(detail)")
        case .unavailable(let detail): return .unavailable(detail: "Apple: \(detail)")
        case .valid(let token):
            let now = self.clock.now()
            let check = IDTokenCheck(
                issuer: self.settings.issuer,
                clientID: bundleID,
                now: now,
                nonce: signIn.nonce,
                accessToken: tokens.accessToken
            )
            do throws(IDTokenFault) {
                let (subject, claims) = try check.claims(of: token)
                // The app binds the sign-in to a value which it does not tell, so that nobody can check it.
                guard signIn.nonce != nil || claims["nonce"] == nil else {
                    throw IDTokenFault("it has a nonce: the app must not send one to Apple")
                }
                return self.verdict(subject, claims, signIn, bundleID, now: now)
            } catch {
                return .refused(detail: "Apple's id_token: \(error.detail)")
            }
        }
    }

    private func verdict(
        _ subject: String,
        _ claims: JWTClaims,
        _ signIn: SocialSignIn,
        _ bundleID: String,
        now: UnixTime
    ) -> SocialVerdict {
        do throws(ClaimsError) {
            return .authenticated(
                try self.account.authentication(subject, claims.value, signIn.profile, now: now),
                self.account.evidence,
                self.account.artefact(
                    signIn.artefact.bytes,
                    of: bundleID,
                    // Apple does not say it, and takes a code once.
                    from: nil,
                    until: now.advanced(by: Self.codeLifetime),
                    now: now
                )
            )
        } catch {
            return .refused(detail: "Apple's id_token: \(error.detail)")
        }
    }
}
