package import Vocabulary

/// Checks of values that other modules use, and on which the settings do not depend.
package struct SettingsJudges: Sendable {
    /// What is wrong with a Redis URL beyond its form, in a sentence that does not quote it; nil: nothing.
    package var redisURL: @Sendable (_ url: Secret) -> String? = { _ in nil }
    /// What is wrong with the private key of a PEM file, in a sentence; nil: nothing.
    package var privateKey: @Sendable (_ pem: Secret) -> String? = { _ in nil }
    /// The same of a key that must be one on P-256.
    package var p256Key: @Sendable (_ pem: Secret) -> String? = { _ in nil }
    /// What is wrong with the JWK set of a client's public keys, in a sentence; nil: nothing.
    package var clientKeys: @Sendable (_ json: [UInt8]) -> String? = { _ in nil }

    /// Why a route may not set or remove a field of its requests or answers, in a sentence; nil: it may.
    package var routeField: @Sendable (_ change: FieldChange, IdentitySettings) -> String? = { _, _ in nil }
    /// What a certificate says, with its issuers and its key in PEM; nil: nobody reads it.
    package var certificate: @Sendable (_ chain: [UInt8], _ key: Secret) throws(CertificateFault) -> CertificateFacts? =
        { _, _ throws(CertificateFault) in nil }
    /// What is wrong with the authorities in a PEM file, in a sentence; nil: nothing.
    package var authorities: @Sendable (_ pem: [UInt8]) -> String? = { _ in nil }
    /// The time, for certificates that expire.
    package var now: @Sendable () -> UnixTime = { Clock.system.now() }

    /// Accepts every value.
    package init() {}
}
