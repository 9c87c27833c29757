package import Calls
import Cryptography
import Sessions
package import Settings
package import Vocabulary

/// Verifies a session-info access token at Facebook's debug endpoint. Facebook reports only the user's id. The name
/// comes from the app.
package struct FacebookVerifier: SocialVerifier {
    /// The maximum length of a token in bytes.
    private static let longestToken = 1024
    /// The maximum difference between the clocks of Facebook and the gateway.
    private static let leeway: Duration = .seconds(60)

    private let appID: String
    /// The app's own access token. `proof` is its HMAC under the app's secret, which Facebook may require.
    private let accessToken: Secret
    private let proof: Secret
    private let debugURL: EndpointURL
    private let transport: any CallTransport
    private let clock: Clock
    private let calls = SharedCallLimit()
    private let account = SocialAccount(kind: .facebook)

    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: FacebookSettings,
        transport: any CallTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        let accessToken = Array("\(settings.appID)|".utf8) + settings.appSecret.bytes
        var proof: [UInt8] = []
        for byte in HMACKey(settings.appSecret.bytes).sha256(accessToken).bytes {
            Hexadecimal.append(byte, to: &proof)
        }
        self.appID = settings.appID
        self.accessToken = Secret(accessToken)
        self.proof = Secret(proof)
        self.debugURL = try EndpointURL(settings.debugURL, of: "facebook.debug_url")
        self.transport = transport
        self.clock = clock
    }

    package func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
        let token = signIn.artefact.bytes
        guard (1...Self.longestToken).contains(token.count),
            token.allSatisfy({ $0.isAlphanumeric || "-_.|".utf8.contains($0) })
        else {
            let detail = "the token is empty or too long, or has characters that no token has"
            throw NotDone(.socialRefused, detail: detail)
        }
        guard signIn.nonce == nil else {
            throw NotDone(.socialRefused, detail: "a nonce is demanded, and Facebook's tokens have none")
        }
        let caller = ProviderCaller.current
        guard self.calls.begin(caller) else {
            self.transport.withhold(.introspection)
            throw NotDone(.providerUnavailable, detail: "too many calls to Facebook are under way")
        }
        defer { self.calls.end(caller) }
        do throws(ProviderFault) {
            let answer = try await self.answer(about: token)
            let now = self.clock.now()
            let live = try FacebookToken(answer, appID: self.appID, now: now, leeway: Self.leeway)
            return SocialProof(
                try self.account.user(live.user, .object([:]), signIn.profile, now: now),
                self.account.artefact(
                    Self.withoutPadding(token),
                    of: self.appID,
                    from: live.begin,
                    until: live.end,
                    now: now
                )
            )
        } catch {
            throw error.notDone(.socialRefused, of: "Facebook", at: "Facebook")
        }
    }

    private func answer(about token: [UInt8]) async throws(ProviderFault) -> CallAnswer {
        do throws(CallError) {
            return try await self.transport.send(self.call(about: token))
        } catch {
            throw ProviderFault(error.detail, isOutage: true)
        }
    }

    /// Returns the call to the debug endpoint. Facebook requires its parameters in the query.
    private func call(about token: [UInt8]) -> OutgoingCall {
        let parameters = [
            ("input_token", token), ("access_token", self.accessToken.bytes), ("appsecret_proof", self.proof.bytes),
        ].map { (name: $0.0, value: String(decoding: $0.1, as: UTF8.self)) }
        return OutgoingCall(
            "GET",
            URLQuery.appending(parameters, to: self.debugURL),
            for: .introspection,
            fields: [("accept", "application/json")]
        )
    }

    /// Returns the token without its padding (any number of `ZD`), so that a replay with another padding is recognised.
    private static func withoutPadding(_ token: [UInt8]) -> [UInt8] {
        var rest = token[...]
        while rest.suffix(2).elementsEqual("ZD".utf8) { rest.removeLast(2) }
        return Array(rest)
    }
}
