package import Settings

/// Takes the certificates of a source into use: the first ones of listeners that have none, and renewed ones.
package struct CertificateWatch: Sendable {
    /// What a look has found.
    package enum Outcome: Sendable {
        case unchanged
        /// These are in use from now on.
        case renewed(TLSSettings)
        /// The source has no certificates that can be used. The former ones stay in use.
        case kept(String)
        /// The listeners still have no certificate and refuse their clients. `nil` if the source does not say why.
        case missing(String?)
    }

    private let source: any CertificateSource

    package init(_ source: any CertificateSource) {
        self.source = source
    }

    /// Looks once. It blocks, so it is not called on a loop.
    ///
    /// - Parameters:
    ///   - listeners: All with the same settings.
    ///   - whole: Those of which the certificates are a part.
    package func look(at listeners: [ListenerTLS], for whole: Settings) -> Outcome {
        guard let settings = listeners.first?.settings else { return .unchanged }
        let isMissing = settings.certificates.isEmpty
        do {
            guard let renewed = try self.source.certificates(for: settings) else {
                return isMissing ? .missing(nil) : .unchanged
            }
            // While a host has no certificate, each one that comes is used. Then no host loses its certificate again.
            if settings.fault(for: whole) == nil, let fault = renewed.fault(for: whole) { throw fault }
            guard renewed != settings else { return .unchanged }
            for tls in listeners { try tls.replace(by: renewed) }
            return .renewed(renewed)
        } catch {
            return isMissing ? .missing("\(error)") : .kept("\(error)")
        }
    }
}
