package import Settings
package import Vocabulary

/// The verifiers that are configured, one for each kind of artefact.
package struct SocialVerifiers: Sendable {
    private let verifiers: [SocialSubjectToken: any SocialVerifier]

    /// No kind is configured.
    package init() {
        self.verifiers = [:]
    }

    /// - Parameter clock: Follows when the machine's clock is set, as the providers' clocks made the times in tokens.
    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: NativeSocialSettings?,
        transport: any ProviderTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        var verifiers: [SocialSubjectToken: any SocialVerifier] = [:]
        if let google = settings?.google {
            verifiers[.google] = try GoogleVerifier(google, transport: transport, clock: clock)
        }
        if let apple = settings?.apple {
            verifiers[.apple] = try AppleVerifier(apple, transport: transport, clock: clock)
        }
        if let facebook = settings?.facebook {
            verifiers[.facebook] = try FacebookVerifier(facebook, transport: transport, clock: clock)
        }
        self.verifiers = verifiers
    }

    /// The verifier of this kind; nil if the kind is not configured.
    package subscript(kind: SocialSubjectToken) -> (any SocialVerifier)? { self.verifiers[kind] }
}

extension ProviderURL {
    /// - Parameter key: The setting, for the error.
    init(_ text: String, of key: String) throws(ProviderSetUpError) {
        do throws(ProviderURLError) {
            try self.init(text)
        } catch {
            throw ProviderSetUpError(description: "\(key): \(error)")
        }
    }
}
