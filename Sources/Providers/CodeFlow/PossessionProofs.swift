import Calls
import JOSE
import Synchronization
import Vocabulary

/// Makes calls with proofs of possession (RFC 9449) to one provider's servers, and remembers the servers' nonces.
final class PossessionProofs: Sendable {
    /// The maximum length of a nonce that is accepted.
    private static let longestNonce = 512

    /// Sends calls without a proof.
    let transport: any CallTransport
    private let clock: Clock
    /// The nonces by origin. A nonce is valid for its server (RFC 9449 8.2, 9). Providers have few origins.
    private let nonces = Mutex<[String: String]>([:])

    init(transport: any CallTransport, clock: Clock) {
        self.transport = transport
        self.clock = clock
    }

    /// Sends a call with a proof, and again if the server requires a nonce and provides it.
    ///
    /// - Parameter accessToken: The token in the call. The proof is bound to this token (`ath`).
    func send(
        _ call: OutgoingCall,
        to url: EndpointURL,
        key: SigningKey,
        accessToken: Secret? = nil
    ) async throws(CallError) -> CallAnswer {
        let answer = try await self.attempt(call, to: url, key, accessToken)
        guard answer.demandsNonce, answer.field("dpop-nonce") != nil else { return answer }
        return try await self.attempt(call, to: url, key, accessToken)
    }

    private func attempt(
        _ call: OutgoingCall,
        to url: EndpointURL,
        _ key: SigningKey,
        _ accessToken: Secret?
    ) async throws(CallError) -> CallAnswer {
        var call = call
        call.fields.append(("dpop", self.proof(method: call.method, url, key, accessToken)))
        let answer = try await self.transport.send(call)
        if let nonce = answer.field("dpop-nonce"), nonce.isPlain(upTo: Self.longestNonce) {
            self.nonces.withLock { $0[url.origin] = nonce }
        }
        return answer
    }

    private func proof(method: String, _ url: EndpointURL, _ key: SigningKey, _ accessToken: Secret?) -> String {
        DPoPProofMaker(key).proof(
            method: method,
            url: url.text,
            accessToken: accessToken,
            nonce: self.nonces.withLock { $0[url.origin] },
            at: self.clock.now()
        )
    }
}

extension CallAnswer {
    /// True if the server requires a nonce (RFC 9449 8 for the token endpoint, 9 for resources).
    fileprivate var demandsNonce: Bool {
        switch self.status {
        case 400, 401:
            self.json()?["error"]?.string == "use_dpop_nonce"
                || (self.field("www-authenticate")?.utf8.contains("use_dpop_nonce".utf8) ?? false)
        default: false
        }
    }
}
