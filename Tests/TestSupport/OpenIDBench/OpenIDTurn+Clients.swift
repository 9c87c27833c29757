import Cryptography
import JOSE
import Vocabulary

/// A proof of possession that was accepted.
struct DPoPProof: Sendable {
    var thumbprint: String
}

/// A proof that was not accepted.
struct DPoPRefusal: Error {
    var answer: OpenIDAnswer
}

extension OpenIDTurn {
    /// The client that authenticates in exactly one way (RFC 6749 2.3); nil: none does.
    mutating func authenticated(_ call: OpenIDCall) -> OpenIDScript.Client? {
        var ways: [OpenIDScript.Client?] = []
        if call.field("authorization") != nil {
            ways.append(call.basic.flatMap { basic in self.client(basic.id) { $0.secret == basic.secret } })
        }
        if let secret = call["client_secret"] {
            ways.append(call["client_id"].flatMap { id in self.client(id) { $0.secret == secret } })
        }
        if let assertion = call["client_assertion"] { ways.append(self.client(asserting: assertion, call)) }
        if ways.isEmpty {
            ways.append(call["client_id"].flatMap { id in self.client(id) { $0.secret == nil && $0.keys == nil } })
        }
        guard ways.count == 1, let client = ways[0] else { return nil }
        return call["client_id"].map { $0 == client.id } ?? true ? client : nil
    }

    private func client(_ id: String, _ condition: (OpenIDScript.Client) -> Bool) -> OpenIDScript.Client? {
        self.script.clients.first { $0.id == id && condition($0) }
    }

    /// `private_key_jwt` (RFC 7523 3, OpenID Connect Core 9).
    private mutating func client(asserting assertion: String, _ call: OpenIDCall) -> OpenIDScript.Client? {
        guard call["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" else {
            return nil
        }
        for client in self.script.clients {
            guard let keys = client.keys,
                let token = try? JWS.verify(Array(assertion.utf8), with: keys, allowing: JWSAlgorithm.asymmetric),
                let claims = try? JWTClaims(token.payload), claims.subject == client.id, let id = claims.id,
                (try? claims.check(
                    issuer: client.id,
                    audience: [self.issuer, self.url(.token)],
                    now: self.now,
                    leeway: .seconds(5)
                )) != nil
            else { continue }
            return self.state.seen.insert("assertion " + id).inserted ? client : nil
        }
        return nil
    }

    /// The proof of a call, if it has one (RFC 9449 4.3).
    mutating func dpopProof(
        of call: OpenIDCall,
        at endpoint: OpenIDEndpoint,
        accessToken: String? = nil
    ) -> Result<DPoPProof?, DPoPRefusal> {
        let refused = Result<DPoPProof?, DPoPRefusal>.failure(DPoPRefusal(answer: .refusal("invalid_dpop_proof")))
        let proofs = call.fields.filter { $0.name == "dpop" }
        guard let text = proofs.first?.value else {
            if case .accepted = self.script.dpop { return .success(nil) }
            return refused
        }
        guard proofs.count == 1,
            let proof = try? SelfSignedToken(Array(text.utf8), allowing: [.es256]), let token = try? proof.verified(),
            token.isType("dpop+jwt"), let claims = try? JWTClaims(token.payload), let id = claims.id,
            claims["htm"]?.string == call.method, claims["htu"]?.string == self.url(endpoint),
            let issuedAt = claims.issuedAt, (-10.0...60.0).contains(self.now.since(issuedAt) / .seconds(1)),
            claims["ath"]?.string == accessToken.map({ SHA256.digest(Array($0.utf8)).base64URL })
        else { return refused }
        if case .requiredWithNonce = self.script.dpop, claims.nonce != self.state.dpopNonce {
            let nonce = [(name: "dpop-nonce", value: self.state.dpopNonce)]
            return .failure(DPoPRefusal(answer: .refusal("use_dpop_nonce", fields: nonce)))
        }
        guard self.state.seen.insert("proof " + id).inserted else { return refused }
        return .success(DPoPProof(thumbprint: proof.key.thumbprint))
    }
}
