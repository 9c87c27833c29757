import Calls
import JOSE
import Providers
import Settings
import Vocabulary

extension ProviderCheck {
    // MARK: Metadata

    /// Reads the issuer's metadata. The other checks need them.
    func metadata(of issuer: EndpointURL) async -> (verdicts: [Verdict], metadata: ProviderMetadata?) {
        let subject = "provider metadata"
        let location = ProviderMetadata.location(of: issuer)
        let began = ContinuousClock.now
        let answer: CallAnswer
        do throws(Verdict) {
            answer = try await self.ask(OutgoingCall("GET", location, for: .metadata, fields: Self.json), subject)
        } catch {
            return ([error], nil)
        }
        let time = self.time(of: answer, took: ContinuousClock.now - began)
        guard answer.status == 200 else {
            return ([.error(subject, "\(location) \(ProviderWords.status(answer, forDocument: true))")] + time, nil)
        }
        do throws(MetadataError) {
            let metadata = try ProviderMetadata(answer.body, of: issuer)
            let faults = metadata.faults.map { Verdict.warning(subject, "\(location): \($0); it is ignored") }
            return ([.ok(subject, "\(location) belongs to the issuer")] + faults + time, metadata)
        } catch {
            let missing = Self.missing(in: answer.body)
            let finding = missing.count > 1 ? "\(missing.joined(separator: ", ")) are missing" : "\(error)"
            let hint = missing.isEmpty ? "" : ": is it an OpenID provider? For plain OAuth 2.0 write provider.oauth2"
            return ([.error(subject, "the document at \(location) cannot be used: \(finding)\(hint)")] + time, nil)
        }
    }

    static let json = [(name: "accept", value: "application/json")]

    private static func missing(in body: [UInt8]) -> [String] {
        guard let value = JSONText.decode(body, loneSurrogates: .replaced), case .object = value, value["issuer"] != nil
        else { return [] }
        return ["authorization_endpoint", "token_endpoint", "jwks_uri"].filter { value[$0] == nil }
    }

    // MARK: Time

    /// Compares the header `Date` with this machine's clock. Tokens seem expired or not yet valid if the clocks differ.
    private func time(of answer: CallAnswer, took: Duration) -> [Verdict] {
        guard let text = answer.field("date"), let date = HTTPDate.time(text) else { return [] }
        // The provider's clock was read about halfway between request and answer.
        let ours = self.clock.now().advanced(by: .zero - took / 2)
        let ahead = date.seconds - ours.seconds
        guard abs(ahead) > Int64(Self.clockTolerance) else {
            return [.ok("provider clock", "it agrees with this machine's clock")]
        }
        let words = "it is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") this machine's clock"
        return [.error("provider clock", "\(words), so the provider's tokens are refused: set both with NTP")]
    }

    // MARK: Keys

    func keys(at url: EndpointURL, _ settings: OpenIDSettings) async throws(Verdict) -> [Verdict] {
        let subject = "provider keys"
        let call = OutgoingCall("GET", url.text, for: .keys, fields: Self.json, bodyLimit: JOSELimits.keySet)
        let answer = try await self.ask(call, subject)
        guard answer.status == 200 else {
            throw .error(subject, "\(url) \(ProviderWords.status(answer, forDocument: true))")
        }
        let set: JWKSet
        do throws(JOSEError) {
            set = try JWKSet(answer.body)
        } catch {
            throw .error(subject, "\(url) cannot be used: \(error.detail)")
        }
        let faults = set.faults.map { Verdict.warning(subject, "\(url): \($0); it is left out") }
        let allowed = Set(settings.algorithms.compactMap(JWSAlgorithm.init(rawValue:)))
        let usable = set.keys.filter { !$0.algorithms.isDisjoint(with: allowed) }
        guard !set.keys.isEmpty else {
            return faults + [.error(subject, "\(url) has no key that can verify signatures")]
        }
        guard !usable.isEmpty else {
            let found = Set(set.keys.flatMap { $0.algorithms.map(\.rawValue) }).sorted().joined(separator: ", ")
            let words = "which provider.oidc.algorithms does not allow: add one of them"
            return faults + [.error(subject, "\(url) has only keys for \(found), \(words)")]
        }
        return faults + [.ok(subject, "\(usable.count) usable at \(url)")]
    }

    // MARK: Capabilities in the metadata

    func judge(_ metadata: ProviderMetadata, _ settings: OpenIDSettings) -> [Verdict] {
        var verdicts: [Verdict] = []
        let announced = metadata.signingAlgorithms
        if !announced.isEmpty, Set(announced).isDisjoint(with: settings.algorithms) {
            let allowed = ProviderWords.list(settings.algorithms)
            let words =
                "it signs id_tokens with \(ProviderWords.list(announced)), but provider.oidc.algorithms allows \(allowed)"
            verdicts.append(.error("provider algorithms", "\(words): \(Self.algorithmMend(announced))"))
        } else if !announced.isEmpty {
            let common = settings.algorithms.filter(announced.contains)
            verdicts.append(.ok("provider algorithms", ProviderWords.list(common)))
        }
        if metadata.challengeMethods.contains("S256") {
            verdicts.append(.ok("provider PKCE", "S256"))
        } else {
            let words =
                metadata.challengeMethods.isEmpty
                ? "it does not announce S256. The gateway sends it in any case; a provider that ignores it does not "
                    + "notice stolen codes"
                : "it announces \(ProviderWords.list(metadata.challengeMethods)) without S256, and may refuse sign-ins: "
                    + "allow S256 for this client"
            verdicts.append(.warning("provider PKCE", words))
        }
        let mode = settings.responseMode.rawValue
        if !metadata.responseModes.isEmpty, !metadata.responseModes.contains(mode) {
            let words = "it announces \(ProviderWords.list(metadata.responseModes)) and not \(mode)"
            verdicts.append(.error("provider response mode", "\(words): write another provider.oidc.response_mode"))
        }
        // "If omitted, the default is client_secret_basic" (OpenID Connect Discovery 1.0 3).
        let methods = metadata.clientAuthentications.isEmpty ? ["client_secret_basic"] : metadata.clientAuthentications
        let method = settings.client.method.rawValue
        if !methods.contains(method) {
            let fix = "if it refuses the gateway, write another provider.oidc.client_authentication"
            let words = "it announces \(ProviderWords.list(methods)) and not \(method): \(fix)"
            verdicts.append(.warning("provider client", words))
        }
        if settings.userinfo == .required, metadata.userinfoEndpoint == nil {
            let words =
                "its metadata contain no usable userinfo_endpoint, but provider.oidc.userinfo is required"
            verdicts.append(.error("provider userinfo", "\(words): nobody can sign in; set it to auto or off"))
        }
        let offersOffline = metadata.scopes.contains("offline_access")
        if self.isFollowed, offersOffline, !settings.authorization.requestsOfflineAccess {
            let words =
                "it offers offline_access, which provider.oidc.scopes does not request: without a refresh token, users "
                + "are followed only until their access tokens end"
            verdicts.append(.warning("provider scopes", words))
        }
        let signOut =
            metadata.endSessionEndpoint == nil
            ? "it has no usable end_session_endpoint: users who sign out here stay signed in there"
            : "users who sign out here are sent there to sign out as well"
        return verdicts + [.ok("provider sign-out", signOut)]
    }

    private static func algorithmMend(_ announced: [String]) -> String {
        if announced.allSatisfy({ $0.hasPrefix("HS") }) {
            return "let the provider sign with a private key, such as RS256 or ES256"
        }
        let known = announced.filter(OpenIDSettings.algorithms.contains)
        return known.isEmpty ? "let the provider sign with one of these" : "add \(known[0]) there"
    }
}
