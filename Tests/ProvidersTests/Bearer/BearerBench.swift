import JOSE
import Providers
import Settings
import StoreBench
import Vocabulary

/// The judge of an issuer's access tokens, with a scripted issuer: what a test does not change is a token that is
/// accepted.
final class BearerBench: Sendable {
    static let audience = "https://api.example.com"

    let openID: OpenIDProviderBench
    let provider: BearerProvider

    init(_ algorithm: JWSAlgorithm = .es256, change: (inout OpenIDSettings) -> Void = { _ in }) throws {
        var settings: OpenIDSettings?
        let bench = try OpenIDProviderBench(algorithm) {
            $0.audiences = [Self.audience, "https://other.example.com"]
            change(&$0)
            settings = $0
        }
        guard let settings,
            let provider = BearerProvider(settings, issuer: bench.provider.issuer, clock: bench.clock.clock)
        else { throw BenchFailure(description: "no access tokens are accepted") }
        (self.openID, self.provider) = (bench, provider)
    }

    var now: UnixTime { self.openID.clock.now }

    /// The claims of a good access token (RFC 9068 2.2), with changes; `.null` removes one.
    func claims(_ changes: [String: JSONValue] = [:]) -> JSONValue {
        var members: [String: JSONValue] = [
            "iss": .string(OpenIDProviderBench.issuer), "sub": "user-1", "aud": .string(Self.audience),
            "iat": .integer(self.now.seconds - 10), "exp": .integer(self.now.seconds + 300), "jti": "token-1",
            "client_id": "app", "scope": "orders:read orders:write", "email": "jane@example.com",
        ]
        for (name, value) in changes { members[name] = value == .null ? nil : value }
        return .object(members)
    }

    func token(
        _ changes: [String: JSONValue] = [:],
        type: JSONValue? = "at+jwt",
        header: [(String, JSONValue)] = [],
        by key: SigningKey? = nil
    ) -> Secret {
        let type = type.map { [("typ", $0)] } ?? []
        return Secret((key ?? self.openID.key).sign(JSONText.encode(self.claims(changes)), header: type + header))
    }

    /// The verdict as an event loop gets it: at once where that is possible.
    func judge(_ token: Secret) async -> TokenVerdict {
        if let verdict = self.provider.judge(token) { return verdict }
        return await self.provider.introspect(token)
    }
}

extension TokenVerdict {
    var known: KnownToken? {
        guard case .known(let token) = self else { return nil }
        return token
    }
}
