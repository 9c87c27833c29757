package import Vocabulary

/// Checks of values by modules on which `Settings` does not depend.
package struct SettingsJudges: Sendable {
    /// Returns what is wrong with a Redis URL, without quoting it; `nil` if the URL is usable.
    package var redisURL: @Sendable (_ url: Secret) -> String? = { _ in nil }
    /// Returns what is wrong with a private key; `nil` if the key is usable.
    package var privateKey: @Sendable (_ pem: Secret) -> String? = { _ in nil }
    /// Returns what is wrong with a private key that must be on P-256; `nil` if the key is usable.
    package var p256Key: @Sendable (_ pem: Secret) -> String? = { _ in nil }
    /// Returns what is wrong with the JWK set of a client's public keys; `nil` if the set is usable.
    package var clientKeys: @Sendable (_ json: [UInt8]) -> String? = { _ in nil }

    /// Returns why a route may not set or remove a field; `nil` if the route may.
    package var routeField: @Sendable (_ change: FieldChange, IdentitySettings) -> String? = { _, _ in nil }
    /// Returns the facts of a certificate, from its chain and its key in PEM; `nil` if certificates are not read.
    package var certificate: @Sendable (_ chain: [UInt8], _ key: Secret) throws(CertificateFault) -> CertificateFacts? =
        { _, _ throws(CertificateFault) in nil }
    /// Returns what is wrong with the authorities in a PEM file; `nil` if they are usable.
    package var authorities: @Sendable (_ pem: [UInt8]) -> String? = { _ in nil }
    /// The current time, to warn of certificates that expire soon.
    package var now: @Sendable () -> UnixTime = { Clock.system.now() }

    /// Creates checks that accept every value.
    package init() {}
}
