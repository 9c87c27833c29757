import JOSE
import Vocabulary

/// Asks a provider for claims with an access token (OpenID Connect Core 5.3).
struct UserInfo: Sendable {
    let url: ProviderURL
    let proofs: PossessionProofs

    enum Outcome: Sendable, Equatable {
        /// A JSON object.
        case claims(JSONValue)
        case refused(detail: String)
        case unavailable(detail: String)
    }

    func ask(_ accessToken: Secret, type: String, key: SigningKey?) async -> Outcome {
        let token = String(decoding: accessToken.bytes, as: UTF8.self)
        let call = ProviderCall(
            "GET",
            self.url.text,
            for: .userinfo,
            fields: [("accept", "application/json"), ("authorization", "\(type) \(token)")]
        )
        let key = type == "DPoP" ? key : nil
        do {
            return Self.outcome(try await self.proofs.send(call, to: self.url, key: key, accessToken: accessToken))
        } catch {
            return .unavailable(detail: error.detail)
        }
    }

    private static func outcome(_ answer: ProviderAnswer) -> Outcome {
        switch answer.status {
        case 200:
            // A signed answer (application/jwt) comes only to clients that registered for it.
            guard !answer.isType("application/jwt"), let value = JSONText.decode(answer.body), case .object = value
            else { return .refused(detail: "the userinfo endpoint's answer is not a JSON object") }
            return .claims(value)
        case 429, 500...599:
            return .unavailable(detail: "the userinfo endpoint answered with status \(answer.status)")
        default:
            return .refused(detail: "the userinfo endpoint answered with status \(answer.status)")
        }
    }
}
