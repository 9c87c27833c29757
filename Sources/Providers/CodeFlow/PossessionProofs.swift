import Calls
import JOSE
import Synchronization
import Vocabulary

/// Sends calls with DPoP proofs (RFC 9449) to one provider, and stores the nonces of its servers.
final class PossessionProofs: Sendable {
    /// The maximum length of a nonce in bytes.
    private static let longestNonce = 512

    /// Sends all calls, also those that need no proof.
    let transport: any CallTransport
    private let clock: Clock
    /// The last nonce of each origin (RFC 9449 8.2, 9). A provider has few origins, so their number is not limited.
    private let nonces = Mutex<[String: String]>([:])

    init(transport: any CallTransport, clock: Clock) {
        self.transport = transport
        self.clock = clock
    }

    /// Sends a call with a proof. Sends it again if the server demands a nonce and supplies one.
    ///
    /// - Parameter accessToken: The access token in the call (`ath` of the proof); `nil` if the call has none.
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
    /// True if the server demands a nonce (RFC 9449 8 for the token endpoint, 9 for resources).
    fileprivate var demandsNonce: Bool {
        switch self.status {
        case 400, 401:
            self.json()?["error"]?.string == "use_dpop_nonce"
                || (self.field("www-authenticate")?.utf8.contains("use_dpop_nonce".utf8) ?? false)
        default: false
        }
    }
}
