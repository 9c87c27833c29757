package import Calls
package import JOSE
package import Settings
package import Vocabulary

/// The metadata and keys of an OpenID issuer, which sign-in and access tokens share.
package final class OpenIDIssuer: Sendable {
    package let url: EndpointURL
    package let metadata: MetadataCache
    package let keys: JWKSetCache
    /// The accepted signature algorithms.
    package let algorithms: Set<JWSAlgorithm>

    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: OpenIDSettings,
        transport: any CallTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        let url = try EndpointURL(settings.issuer, of: "issuer")
        self.url = url
        self.algorithms = Set(settings.algorithms.compactMap(JWSAlgorithm.init(rawValue:)))
        guard self.algorithms.count == settings.algorithms.count else {
            throw ProviderSetUpError(description: "algorithms: one is unknown or repeated")
        }
        let metadata = MetadataCache(issuer: url, transport: transport, clock: clock)
        self.metadata = metadata
        self.keys = JWKSetCache(clock: clock) {
            guard let url = await metadata.current()?.keySetURL else {
                throw MetadataError("the issuer is not known yet")
            }
            return try await transport.document(at: url.text, for: .keys, bodyLimit: JOSELimits.keySet)
        }
    }

    /// The issuer, as in `iss`.
    package var name: String { self.url.text }

    /// True if the issuer's metadata are known. Sign-ins need them.
    package var isKnown: Bool { self.metadata.known != nil }

    /// The text for logs if the metadata are not known.
    var outage: String {
        "the issuer's metadata are not known: \(self.metadata.failure?.description ?? "it has not answered yet")"
    }

    /// The text for logs if the keys are not known.
    private var outageOfKeys: String {
        "the issuer's keys are not known: \(self.keys.failure ?? "it has not answered yet")"
    }

    /// Begins to fetch and refresh the metadata.
    package func start() { self.metadata.start() }

    /// Verifies the signature of a token with the issuer's keys.
    ///
    /// - Parameter sharedSecret: The client secret, for the HMACs in `algorithms`; `nil` to accept no HMAC.
    func verify(_ token: [UInt8], sharedSecret: Secret? = nil) async throws(ProviderFault) -> JWS {
        let verified: JWS?
        do throws(JOSEError) {
            let algorithm = try JWS.header(of: token).algorithm
            if let sharedSecret, !JWSAlgorithm.asymmetric.contains(algorithm) {
                let none = JWKSet(keys: [])
                return try JWS.verify(token, with: none, allowing: self.algorithms, sharedSecret: sharedSecret)
            }
            verified = try await self.keys.verify(token, allowing: self.algorithms)
        } catch {
            throw ProviderFault(error)
        }
        guard let verified else { throw ProviderFault(self.outageOfKeys, isOutage: true) }
        return verified
    }
}

extension ProviderFault {
    /// Creates the fault of a signature. If the key may be new but cannot be fetched now, the fault is an outage, so
    /// the caller can retry.
    init(_ error: JOSEError) {
        self.init(error.detail, isOutage: error.kind == .keyFetchDenied)
    }
}
