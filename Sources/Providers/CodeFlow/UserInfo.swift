import Calls
import JOSE
import Vocabulary

/// Requests the user's claims from a provider's userinfo endpoint with an access token (OpenID Connect Core 5.3).
struct UserInfo: Sendable {
    let url: EndpointURL
    let proofs: PossessionProofs
    var timeLimit: Duration = .seconds(5)

    /// A usable answer.
    enum Answer: Sendable, Equatable {
        /// A JSON object.
        case claims(JSONValue)
        /// A signed answer that is not verified yet, for clients registered with `userinfo_signed_response_alg`.
        case token([UInt8])
    }

    func ask(_ accessToken: Secret, type: String, key: SigningKey?) async throws(ProviderFault) -> Answer {
        let token = String(decoding: accessToken.bytes, as: UTF8.self)
        let call = OutgoingCall(
            "GET",
            self.url.text,
            for: .userinfo,
            fields: [("accept", "application/json, application/jwt;q=0.9"), ("authorization", "\(type) \(token)")],
            timeLimit: self.timeLimit
        )
        let answer: CallAnswer
        do throws(CallError) {
            if type == "DPoP", let key {
                answer = try await self.proofs.send(call, to: self.url, key: key, accessToken: accessToken)
            } else {
                answer = try await self.proofs.transport.send(call)
            }
        } catch {
            throw ProviderFault(error.detail, isOutage: true)
        }
        return try Self.read(answer)
    }

    private static func read(_ answer: CallAnswer) throws(ProviderFault) -> Answer {
        guard answer.status == 200 else {
            throw ProviderFault(
                "the userinfo endpoint answered with status \(answer.status)",
                isOutage: answer.status == 429 || (500...599).contains(answer.status),
                isUnauthorized: answer.status == 401
            )
        }
        if answer.isType("application/jwt") {
            let token = Array(answer.body.prefix { $0 > 0x20 })
            // An encrypted JWT in compact form has five parts (RFC 7516 7.1).
            guard token.count(where: { $0 == UInt8(ascii: ".") }) != 4 else {
                throw ProviderFault("the userinfo endpoint's answer is encrypted, for which there is no key")
            }
            return .token(token)
        }
        do throws(JSONFault) {
            return .claims(.object(try JSONText.object(answer.body, loneSurrogates: .replaced)))
        } catch {
            throw ProviderFault("the userinfo endpoint's answer \(error.rawValue)")
        }
    }
}
