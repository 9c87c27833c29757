package import Calls
package import Settings
package import Vocabulary

/// The configured verifiers of artefacts.
package struct SocialVerifiers: Sendable {
    private let verifiers: [SocialSubjectToken: any SocialVerifier]
    private let idTokens: [SocialIDToken: any SocialVerifier]

    /// - Parameter idTokens: The verifiers of id_tokens that are presented at Kratos's paths.
    package init(
        _ verifiers: [SocialSubjectToken: any SocialVerifier] = [:],
        idTokens: [SocialIDToken: any SocialVerifier] = [:]
    ) {
        self.verifiers = verifiers
        self.idTokens = idTokens
    }

    /// - Parameters:
    ///   - clock: The wall clock, with which the times in tokens are compared.
    ///   - reportOutage: Called with the reason if a provider gave no answer, without any part of the artefact.
    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: NativeSocialSettings?,
        transport: any CallTransport,
        clock: Clock,
        reportOutage: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ProviderSetUpError) {
        var verifiers: [SocialSubjectToken: any SocialVerifier] = [:]
        var idTokens: [SocialIDToken: any SocialVerifier] = [:]
        if let google = settings?.google {
            let verifier = try GoogleVerifier(google, transport: transport, clock: clock)
            verifiers[.google] = verifier
            idTokens[.google] = verifier
        }
        if let apple = settings?.apple {
            verifiers[.apple] = try AppleVerifier(apple, transport: transport, clock: clock)
            idTokens[.apple] = try AppleIDTokenVerifier(apple, transport: transport, clock: clock)
        }
        if let facebook = settings?.facebook {
            verifiers[.facebook] = try FacebookVerifier(facebook, transport: transport, clock: clock)
        }
        self.verifiers = verifiers.mapValues { OutageReportingVerifier(verifier: $0, notify: reportOutage) }
        self.idTokens = idTokens.mapValues { OutageReportingVerifier(verifier: $0, notify: reportOutage) }
    }

    /// The verifier of this artefact; `nil` if it is not configured.
    package subscript(kind: SocialSubjectToken) -> (any SocialVerifier)? { self.verifiers[kind] }

    /// The verifier of these id_tokens; `nil` if they are not configured.
    package subscript(idToken kind: SocialIDToken) -> (any SocialVerifier)? { self.idTokens[kind] }
}
