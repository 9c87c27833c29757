import Calls
import Cryptography
import Providers
import Vocabulary

/// Checks whether the provider knows the gateway as a client. Messages say what a check without a user cannot find out.
extension ProviderCheck {
    // MARK: Redirect URIs

    /// Begins a sign-in for each callback, to see whether the provider accepts the callback as a redirect URI.
    func redirects(by provider: some BrowserProvider) async -> [Verdict] {
        var verdicts: [Verdict] = []
        for callback in self.callbacks {
            guard let url = try? await provider.begin(BrowserSignIn(callback: callback)).url else { continue }
            // With `prompt=none`, the provider answers without showing pages (OpenID Connect Core 3.1.2.1).
            let quiet = url.utf8.contains("&prompt=".utf8) ? url : "\(url)&prompt=none"
            let call = OutgoingCall(
                "GET",
                quiet,
                for: .authorization,
                fields: [("accept", "text/html")],
                bodyLimit: 2 << 20,
                timeLimit: .seconds(10)
            )
            verdicts.append(
                await .of { () async throws(Verdict) in
                    Self.verdict(on: callback, try await self.ask(call, "provider redirect"))
                }
            )
        }
        return verdicts
    }

    private static func verdict(on callback: String, _ answer: CallAnswer) -> Verdict {
        let subject = "provider redirect"
        if let location = answer.field("location"), (300..<400).contains(answer.status) {
            guard location.hasPrefix(callback) else {
                return self.refusal(in: location).map { Verdict.error(subject, $0.sentence(callback)) }
                    ?? Verdict.ok(subject, "it does not refuse \(callback), as far as a check without a user shows")
            }
            let error = self.parameter("error", of: location)
            guard let error, !self.expected.contains(error) else { return .ok(subject, "it accepts \(callback)") }
            return .error(
                subject,
                "it accepts \(callback), but answers a sign-in with \(ProviderWords.code(error)): \(ProviderWords.fix(of: error))"
            )
        }
        let text = String(decoding: answer.body, as: UTF8.self)
        if let refusal = self.refusal(in: text) { return .error(subject, refusal.sentence(callback)) }
        let words = text.lowercased()
        let names = ["redirect uri", "redirect_uri", "redirect url", "redirect_url"]
        if answer.status >= 400, names.contains(where: { words.utf8.contains($0.utf8) }) {
            return .error(subject, Refusal.redirect.sentence(callback))
        }
        guard answer.status >= 400 else {
            return .ok(
                subject,
                "it shows a page and does not refuse \(callback), as far as a check without a user shows"
            )
        }
        return .warning(
            subject,
            "it answers a sign-in with status \(answer.status) and does not say why: is the client known there, and is "
                + "\(callback) registered for it?"
        )
    }

    /// Errors of a provider that accepts the client and the redirect URI, but needs the user.
    private static let expected: Set<String> = [
        "login_required", "interaction_required", "consent_required", "account_selection_required",
    ]

    private enum Refusal {
        case redirect, client

        func sentence(_ callback: String) -> String {
            switch self {
            case .redirect: "it refuses the redirect URI: register \(callback) for this client, in exactly this form"
            case .client: "it does not know the client: is client_id right?"
            }
        }
    }

    /// Recognizes a refusal in a page or URL, by phrases of common providers; `nil` if no phrase occurs.
    private static func refusal(in text: String) -> Refusal? {
        let text = text.lowercased()
        let redirect = [
            "redirect_uri_mismatch", "invalid redirect", "invalid_redirect", "invalid parameter: redirect_uri",
            "redirect_uri is not", "redirect_uri not", "redirect uri is not", "redirect uri not",
            "mismatching redirect",
            "aadsts50011", "redirect_uri' parameter", "callback url mismatch", "invalid callback",
            "unauthorized_redirect",
        ]
        let client = [
            "aadsts700016", "client not found", "invalid_client", "deleted_client", "client_id is not",
            "unauthorized_client", "invalid client_id", "invalid client id",
        ]
        if redirect.contains(where: { text.utf8.contains($0.utf8) }) { return .redirect }
        return client.contains { text.utf8.contains($0.utf8) } ? .client : nil
    }

    private static func parameter(_ name: String, of url: String) -> String? {
        guard let query = url.split(separator: "?", maxSplits: 1).dropFirst().first else { return nil }
        return FormText.pairs(Array(query.prefix { $0 != "#" }.utf8)).first { $0.name == name }?.value
    }

    // MARK: Credentials

    /// Redeems a code that does not exist. Providers check the client before the code (RFC 6749 5.2).
    func credentials(_ client: ProviderClientAuthentication, at url: EndpointURL) async -> Verdict {
        let subject = "provider client"
        let call = await client.post(
            [
                ("grant_type", "authorization_code"), ("code", "sallyport-check-\(Random.base64URL(16))"),
                ("redirect_uri", self.callbacks.first ?? ""), ("code_verifier", Random.base64URL(32)),
            ],
            to: url,
            audience: url
        )
        return await .of { () async throws(Verdict) in
            let answer = try await self.ask(call, subject)
            switch JSONText.decode(answer.body)?["error"]?.string {
            // GitHub and glewlwyd use the last two codes for an unknown authorization code.
            case "invalid_grant", "bad_verification_code", "invalid_code":
                return .ok(subject, "it accepts the credentials of \(client.clientID)")
            case "invalid_client", "incorrect_client_credentials": return .error(subject, Self.refusedClient(client))
            case "unauthorized_client":
                return .error(
                    subject,
                    "it answers unauthorized_client: client_id or the secret is wrong there, or the authorization code flow is not allowed for \(client.clientID)"
                )
            case "invalid_dpop_proof", "use_dpop_nonce":
                return .ok(subject, "it binds tokens to keys (DPoP), so the credentials cannot be checked")
            case let error?:
                let words = "\(ProviderWords.code(error)): \(ProviderWords.fix(of: error))"
                return .warning(subject, "it answers a code that does not exist with \(words)")
            case nil where answer.status == 401: return .error(subject, Self.refusedClient(client))
            case nil: return .error(subject, "\(url) \(ProviderWords.status(answer)), not like a token endpoint")
            }
        }
    }

    private static func refusedClient(_ client: ProviderClientAuthentication) -> String {
        "it refuses the credentials of \(client.clientID): do client_id, the secret or key, and "
            + "client_authentication match its registration?"
    }

    // MARK: Introspection and userinfo

    /// Introspects a token that does not exist.
    ///
    /// - Parameter audience: The provider's URL in a client assertion.
    func introspection(_ client: ProviderClientAuthentication, at url: EndpointURL?, audience: EndpointURL) async
        -> Verdict
    {
        let subject = "provider introspection"
        guard let url else {
            let fix = "set provider.oidc.introspection.url, or remove introspection"
            return .error(subject, "its metadata contain no introspection_endpoint: \(fix)")
        }
        let parameters = [(name: "token", value: "sallyport-check-\(Random.base64URL(16))")]
        var call = await client.post(parameters, to: url, audience: audience)
        call.purpose = .introspection
        return await .of { [call] () async throws(Verdict) in
            let answer = try await self.ask(call, subject)
            let value = JSONText.decode(answer.body)
            switch answer.status {
            case 200 where value?["active"] == .bool(false): return .ok(subject, "\(url) answers \(client.clientID)")
            case 200 where value?["active"] == .bool(true):
                return .error(subject, "\(url) accepts a token that does not exist: do not use it")
            case 400 where value?["error"]?.string == "invalid_client", 401:
                return .error(subject, Self.refusedClient(client))
            case 403:
                return .error(subject, "\(url) does not let \(client.clientID) introspect tokens: allow it there")
            default:
                return .error(subject, "\(url) \(ProviderWords.status(answer)), not like an introspection endpoint")
            }
        }
    }

    /// Sends a request without a token, which the provider must reject.
    func userinfo(at url: EndpointURL) async -> Verdict {
        let subject = "provider userinfo"
        let call = OutgoingCall("GET", url.text, for: .userinfo, fields: Self.json)
        return await .of { () async throws(Verdict) in
            let answer = try await self.ask(call, subject)
            switch answer.status {
            case 400, 401, 403: return .ok(subject, "\(url) requires a token")
            case 200: return .error(subject, "\(url) answers without a token, so it cannot identify users")
            default: return .error(subject, "\(url) \(ProviderWords.status(answer))")
            }
        }
    }
}
