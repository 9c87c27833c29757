package import Vocabulary

/// Checks of values by modules on which `Settings` does not depend.
package struct SettingsJudges: Sendable {
    /// Returns a sentence about a Redis URL that is not usable, without quoting the URL; `nil` if it is usable.
    package var redisURL: @Sendable (_ url: Secret) -> String? = { _ in nil }
    /// Returns a sentence about a PEM file without a usable private key; `nil` if the key is usable.
    package var privateKey: @Sendable (_ pem: Secret) -> String? = { _ in nil }
    /// Returns a sentence about a PEM file without a private key on P-256; `nil` if the key is on P-256.
    package var p256Key: @Sendable (_ pem: Secret) -> String? = { _ in nil }
    /// Returns a sentence about an unusable JWK set of a client's public keys; `nil` if it is usable.
    package var clientKeys: @Sendable (_ json: [UInt8]) -> String? = { _ in nil }

    /// Returns a sentence on why a route may not set or remove a field; `nil` if the route may.
    package var routeField: @Sendable (_ change: FieldChange, IdentitySettings) -> String? = { _, _ in nil }
    /// Returns the facts of a certificate with its issuers and its key in PEM; `nil` if certificates are not read.
    package var certificate: @Sendable (_ chain: [UInt8], _ key: Secret) throws(CertificateFault) -> CertificateFacts? =
        { _, _ throws(CertificateFault) in nil }
    /// Returns a sentence about unusable authorities in a PEM file; `nil` if they are usable.
    package var authorities: @Sendable (_ pem: [UInt8]) -> String? = { _ in nil }
    /// The current time, for certificates that expire.
    package var now: @Sendable () -> UnixTime = { Clock.system.now() }

    /// Creates checks that accept every value.
    package init() {}
}
