import Cryptography
import JOSE
import OpenIDBench
import Vocabulary

/// A client of the provider, as the gateway is one.
struct CodeFlow {
    let provider: OpenIDProvider
    var client = "gateway"
    var secret: String? = "a secret of the client gateway"
    var callback = "https://app.example/callback"
    let verifier = Random.base64URL(32)

    /// The parameters with which the provider sends the browser back; empty: it shows a page instead.
    func authorize(_ more: [String: String] = [:]) -> [String: String] {
        let parameters = [
            "response_type": "code", "client_id": self.client, "redirect_uri": self.callback, "scope": "openid profile",
            "state": "s t&=", "nonce": "n", "code_challenge_method": "S256",
            "code_challenge": SHA256.digest(Array(self.verifier.utf8)).base64URL,
        ].merging(more) { $1 }.filter { !$0.value.isEmpty }
        guard let location = self.provider.follow(self.provider.issuer + "/authorize?" + Self.form(parameters)) else {
            return [:]
        }
        let query = location.split(separator: "?", maxSplits: 1).last.map { Array($0.utf8) } ?? []
        return Dictionary(FormText.pairs(query).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }

    /// Sends a form to an endpoint in process.
    func post(
        _ endpoint: OpenIDEndpoint,
        _ parameters: [String: String],
        fields: [(name: String, value: String)] = []
    ) -> OpenIDAnswer? {
        var all = parameters.merging(["client_id": self.client]) { old, _ in old }
        all["client_secret"] = self.secret
        let type = (name: "content-type", value: "application/x-www-form-urlencoded")
        return self.provider.answer(
            to: OpenIDCall("POST", endpoint.rawValue, fields: [type] + fields, body: Array(Self.form(all).utf8))
        )
    }

    /// Exchanges a code.
    func exchange(_ code: String?, fields: [(name: String, value: String)] = []) -> OpenIDAnswer? {
        self.post(
            .token,
            [
                "grant_type": "authorization_code", "code": code ?? "", "redirect_uri": self.callback,
                "code_verifier": self.verifier,
            ],
            fields: fields
        )
    }

    func refresh(_ token: String?, fields: [(name: String, value: String)] = []) -> OpenIDAnswer? {
        self.post(.token, ["grant_type": "refresh_token", "refresh_token": token ?? ""], fields: fields)
    }

    func userinfo(_ token: String?) -> OpenIDAnswer? {
        let authorization = (name: "authorization", value: "Bearer \(token ?? "")")
        return self.provider.answer(to: OpenIDCall("GET", "/userinfo", fields: [authorization]))
    }

    /// Signs in and returns the answer of the token endpoint.
    func signIn(_ more: [String: String] = [:]) -> OpenIDAnswer? { self.exchange(self.authorize(more)["code"]) }

    /// The claims of an id_token, verified with the published keys.
    func claims(_ answer: OpenIDAnswer?) throws -> JWTClaims {
        let document = self.provider.answer(to: OpenIDCall("GET", "/jwks.json"))?.body ?? []
        let token = Array((answer?["id_token"] ?? "").utf8)
        return try JWTClaims(JWS.verify(token, with: JWKSet(document), allowing: JWSAlgorithm.asymmetric).payload)
    }

    private static func form(_ parameters: [String: String]) -> String {
        parameters.map { "\($0.key)=\(PercentCoding.encoded($0.value))" }.joined(separator: "&")
    }
}

extension OpenIDAnswer {
    var document: JSONValue { JSONText.decode(self.body) ?? .null }

    /// The text of a member of the answer.
    subscript(name: String) -> String? { self.document[name]?.string }
}
