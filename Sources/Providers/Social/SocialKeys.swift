import Calls
import JOSE
import Vocabulary

/// The published keys of Google or Apple, for RS256.
struct SocialKeys: Sendable {
    private let cache: JWKSetCache

    init(_ url: EndpointURL, transport: any CallTransport, clock: Clock) {
        self.cache = JWKSetCache(clock: clock) {
            try await transport.document(at: url.text, for: .keys, bodyLimit: JOSELimits.keySet)
        }
    }

    /// Verifies a signature. Only RS256 is accepted, so that no HMAC or other key type can be substituted (RFC 8725
    /// 3.1).
    func verify(_ token: Secret) async throws(ProviderFault) -> JWS {
        let verified: JWS?
        do throws(JOSEError) {
            verified = try await self.cache.verify(token.bytes, allowing: [.rs256])
        } catch {
            throw ProviderFault(error)
        }
        guard let verified else {
            let failure = self.cache.failure ?? "they were not read yet"
            throw ProviderFault("the keys are not known: \(failure)", isOutage: true)
        }
        return verified
    }
}
