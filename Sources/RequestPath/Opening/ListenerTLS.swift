import NIOConcurrencyHelpers
import NIOSSL
package import Settings
package import Vocabulary

/// The TLS of one listener: one `NIOSSLContext` per certificate, chosen by the client's first message.
///
/// Each certificate has its own context. A session is resumed only with the certificate it began with.
///
/// All contexts trust the listener's client authorities. A client cannot bypass them with another name
/// (CVE-2025-23419).
package final class ListenerTLS: Sendable {
    /// A certificate with its context.
    package final class Choice: Sendable {
        let context: NIOSSLContext
        /// The contents of the certificate. `nil` if they have not been read.
        package let facts: CertificateFacts?
        let isDefault: Bool

        fileprivate init(context: NIOSSLContext, facts: CertificateFacts?, isDefault: Bool) {
            self.context = context
            self.facts = facts
            self.isDefault = isDefault
        }
    }

    private struct State: Sendable {
        var settings: TLSSettings
        var choices: [Choice]
    }

    package let protocols: [ListenerProtocol]
    package let clientCertificates: ClientCertificates
    /// True if names that no certificate contains get the first certificate, unless another is the default.
    private let acceptsAnyHostName: Bool
    /// Not a `Mutex`, because each handshake takes the lock and a `Mutex` asks the system for the thread's id.
    private let state: NIOLockedValueBox<State>

    /// Creates the contexts. Blocks, so it must not be called on an event loop. If the settings have no certificates,
    /// the listener refuses its clients until `replace` adds one.
    ///
    /// - Throws: `ListenerTLSError`.
    package init(_ settings: TLSSettings, _ listener: ListenerSettings) throws(ListenerTLSError) {
        self.protocols = listener.protocols
        self.clientCertificates = listener.clientCertificates
        self.acceptsAnyHostName = listener.acceptsAnyHostName
        self.state = NIOLockedValueBox(
            State(
                settings: settings,
                choices: try Self.choices(settings, listener.protocols, listener.clientCertificates)
            )
        )
    }

    /// Returns the TLS of a listener. If nothing has changed, returns one of `former`, so that sessions can be resumed.
    /// If the settings have no certificates, the certificates in use stay.
    package static func make(
        _ settings: TLSSettings,
        _ listener: ListenerSettings,
        keeping former: [ListenerTLS]
    ) throws(ListenerTLSError) -> ListenerTLS {
        var settings = settings
        if settings.certificates.isEmpty, let inUse = former.first?.settings.certificates {
            settings.certificates = inUse
        }
        let kept = former.first {
            $0.settings == settings && $0.protocols == listener.protocols
                && $0.clientCertificates == listener.clientCertificates
                && $0.acceptsAnyHostName == listener.acceptsAnyHostName
        }
        if let kept { return kept }
        return try ListenerTLS(settings, listener)
    }

    package var settings: TLSSettings { self.state.withLockedValue { $0.settings } }

    /// True while the listener waits for its first certificate.
    package var awaitsCertificate: Bool { self.state.withLockedValue { $0.choices.isEmpty } }

    /// Replaces the certificates of all listeners for new connections. Earlier sessions cannot be resumed. Blocks, so
    /// it must not be called on an event loop.
    ///
    /// - Throws: `ListenerTLSError`. No listener is changed then.
    package static func replace(_ listeners: [ListenerTLS], by settings: TLSSettings) throws(ListenerTLSError) {
        let choices = try listeners.map { tls throws(ListenerTLSError) in
            try self.choices(settings, tls.protocols, tls.clientCertificates)
        }
        for (tls, choices) in zip(listeners, choices) {
            tls.state.withLockedValue { $0 = State(settings: settings, choices: choices) }
        }
    }

    /// Returns the choice for a client that sends `hello`, or `nil` if there is no certificate for the client. A single
    /// certificate is chosen for every client. A certificate that has expired since it was read is chosen only if no
    /// other certificate fits.
    package func choice(for hello: ClientHello?, now: UnixTime) -> Choice? {
        let choices = self.state.withLockedValue { $0.choices }
        if choices.count == 1 { return choices[0] }
        let named = hello?.serverName.map { name in
            let names = [name] + (CertificateFacts.wildcard(for: name).map { [$0] } ?? [])
            return names.map { name in choices.filter { $0.facts?.names.contains(name) == true } }
        }
        if let named, let best = Self.best(of: named, for: hello, now: now) { return best }
        guard let any = choices.first(where: \.isDefault) ?? (self.acceptsAnyHostName ? choices.first : nil) else {
            return nil
        }
        // The default certificate may have a twin with the same names and another kind of key.
        let twins = any.facts.map { facts in choices.filter { $0.facts?.title == facts.title } } ?? []
        return Self.best(of: [[any], twins], for: hello, now: now)
    }

    /// Returns the first unexpired certificate that the client can verify, ECDSA before RSA, or otherwise the first
    /// one.
    ///
    /// - Parameter groups: The groups of certificates in order of preference.
    private static func best(of groups: [[Choice]], for hello: ClientHello?, now: UnixTime) -> Choice? {
        func isTaken(_ choice: Choice) -> Bool {
            guard let facts = choice.facts else { return true }
            return facts.until > now && hello?.takes(facts) != false
        }
        for group in groups {
            let taken = group.filter(isTaken)
            if let best = taken.first(where: { $0.facts?.isECDSA == true }) ?? taken.first { return best }
        }
        return groups.lazy.compactMap(\.first).first
    }

    /// Returns the first shared protocol. `.some(nil)` if the client offers no protocols, `nil` if none is shared.
    func protocolChoice(for hello: ClientHello?) -> ListenerProtocol?? {
        guard let offered = hello?.protocols, !offered.isEmpty else { return .some(nil) }
        return self.protocols.first { offered.contains($0.rawValue) }.map { .some($0) }
    }

    private static func choices(
        _ settings: TLSSettings,
        _ protocols: [ListenerProtocol],
        _ clientCertificates: ClientCertificates
    ) throws(ListenerTLSError) -> [Choice] {
        var choices: [Choice] = []
        for certificate in settings.certificates {
            do {
                choices.append(
                    Choice(
                        context: try NIOSSLContext(
                            configuration: try self.configuration(certificate, settings, protocols, clientCertificates)
                        ),
                        facts: certificate.facts,
                        isDefault: certificate.isDefault
                    )
                )
            } catch {
                throw ListenerTLSError(
                    description:
                        "tls: \(certificate.certificateFile) and \(certificate.keyFile) cannot be used: \(error)"
                )
            }
        }
        return choices
    }

    private static func configuration(
        _ certificate: CertificateSettings,
        _ settings: TLSSettings,
        _ protocols: [ListenerProtocol],
        _ clientCertificates: ClientCertificates
    ) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(certificate.chain).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: certificate.key.bytes, format: .pem))
        )
        configuration.minimumTLSVersion = settings.minVersion == .v13 ? .tlsv13 : .tlsv12
        // Mozilla's intermediate profile without finite-field DHE. TLS 1.3 has its own suites, in the library's order.
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        configuration.applicationProtocols = protocols.map(\.rawValue)
        if clientCertificates != .none, let authorities = settings.clientAuthorities {
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(authorities.content))
            configuration.certificateVerification =
                clientCertificates == .required ? .noHostnameVerification : .optionalVerification
            // Browsers then offer only acceptable certificates.
            configuration.sendCANameList = true
        } else if clientCertificates != .none {
            throw ListenerTLSError(description: "client_certificates without client_ca_file")
        }
        return configuration
    }
}

/// An error for the operator: TLS that cannot be set up.
package struct ListenerTLSError: Error, CustomStringConvertible {
    package let description: String
}
