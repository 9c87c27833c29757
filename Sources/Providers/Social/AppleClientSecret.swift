import JOSE
import Settings
import Vocabulary

/// Makes the client secrets for Apple: JWTs that the team's key signs.
struct AppleClientSecret: Sendable {
    /// The lifetime of a client secret. Apple accepts months, but a leaked secret should soon be worthless.
    private static let lifetime: Duration = .seconds(300)

    private let key: SigningKey
    private let keyID: String
    private let teamID: String
    private let audience: String

    /// - Throws: `ProviderSetUpError` if the file contains no valid key on P-256.
    init(_ settings: AppleSettings) throws(ProviderSetUpError) {
        do throws(JOSEError) {
            self.key = try SigningKey(pem: settings.privateKey, algorithm: .es256)
        } catch {
            throw ProviderSetUpError(description: "apple.private_key_file: \(error.detail)")
        }
        self.keyID = settings.keyID
        self.teamID = settings.teamID
        self.audience = settings.issuer
    }

    func make(for bundleID: String, now: UnixTime) -> String {
        let claims: JSONValue = [
            "iss": .string(self.teamID), "sub": .string(bundleID), "aud": .string(self.audience),
            "iat": .integer(now.seconds), "exp": .integer(now.advanced(by: Self.lifetime).seconds),
        ]
        return String(decoding: self.key.sign(JSONText.encode(claims), keyID: self.keyID), as: UTF8.self)
    }
}
