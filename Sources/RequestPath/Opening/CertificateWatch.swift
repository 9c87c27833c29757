package import Settings

/// Applies the first and the renewed certificates of a source to listeners.
package struct CertificateWatch: Sendable {
    /// The outcome of one check of the source.
    package enum Outcome: Sendable {
        case unchanged
        /// These settings are now in use.
        case renewed(TLSSettings)
        /// The source has no usable certificates. The previous certificates stay in use.
        case kept(String)
        /// The listeners still have no certificate and refuse their clients. `nil` if the source gives no reason.
        case missing(String?)
    }

    private let source: any CertificateSource

    package init(_ source: any CertificateSource) {
        self.source = source
    }

    /// Checks the source once and applies its certificates. Blocks, so it must not be called on an event loop.
    ///
    /// - Parameters:
    ///   - listeners: The listeners. They share one set of TLS settings.
    ///   - whole: The complete settings.
    package func look(at listeners: [ListenerTLS], for whole: Settings) -> Outcome {
        guard let settings = listeners.first?.settings else { return .unchanged }
        let isMissing = settings.certificates.isEmpty
        do {
            guard let renewed = try self.source.certificates(for: settings) else {
                return isMissing ? .missing(nil) : .unchanged
            }
            // If the current certificates cover all hosts, new certificates must cover them, too.
            if settings.fault(for: whole) == nil, let fault = renewed.fault(for: whole) { throw fault }
            guard renewed != settings else { return .unchanged }
            try ListenerTLS.replace(listeners, by: renewed)
            return .renewed(renewed)
        } catch {
            return isMissing ? .missing("\(error)") : .kept("\(error)")
        }
    }
}
