import Cryptography
import Synchronization
package import Vocabulary

extension SocialNetwork {
    package static let facebookUser = "10215241773831025"

    /// A session-info access token, with changes of what the debug endpoint says about it; `.null` removes a member.
    ///
    /// - Parameter nulls: The members that are written as null.
    package func facebookToken(_ changes: [String: JSONValue] = [:], nulls: [String] = []) -> Secret {
        let now = self.clock.now().seconds
        var data: [String: JSONValue] = [
            "app_id": .string(self.registration.facebookAppID), "type": "USER", "application": "Example",
            "issued_at": .integer(now), "expires_at": .integer(now + 5_183_924),
            "data_access_expires_at": .integer(now + 7_776_000), "is_valid": true, "scopes": [],
            "user_id": .string(Self.facebookUser),
        ]
        for (name, value) in changes { data[name] = value == .null ? nil : value }
        for name in nulls { data[name] = .null }
        return self.state.withLock { [data] state in
            let token = "XAAGsecretpart\(state.tokens.count)"
            state.tokens[token] = .object(data)
            return Secret(token + "ZDZD")
        }
    }

    /// The debug endpoint, called with the app's own access token and its proof.
    func debug(_ request: SocialRequest) -> SocialAnswer {
        self.expect(["input_token", "access_token", "appsecret_proof"], in: request)
        func failure(_ type: JSONValue, _ code: JSONValue, _ message: JSONValue) -> SocialAnswer {
            .json(400, ["error": ["message": message, "type": type, "code": code, "fbtrace_id": "A"]])
        }
        let secret = Array(self.registration.facebookSecret.utf8)
        let own = Array("\(self.registration.facebookAppID)|".utf8) + secret
        guard request["access_token"] == String(decoding: own, as: UTF8.self) else {
            self.complain("access_token is not the app's")
            return failure("OAuthException", 190, "Invalid OAuth access token signature.")
        }
        let digits = Array("0123456789abcdef")
        let proof = HMACKey(secret).sha256(own).bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        guard request["appsecret_proof"] == String(proof) else {
            self.complain("appsecret_proof is wrong")
            return failure("GraphMethodException", 100, "Invalid appsecret_proof provided in the API argument")
        }
        // The padding at the end of a token means nothing.
        guard let token = request["input_token"]?.replacing("ZD", with: ""),
            let data = self.state.withLock({ $0.tokens[token] })
        else {
            return .json(
                200,
                ["data": ["error": ["code": 190, "message": "as scripted"], "is_valid": false, "scopes": []]]
            )
        }
        return .json(200, ["data": data])
    }
}
