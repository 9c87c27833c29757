import Cryptography
import Foundation
import GatewayBench
import JOSE
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

/// The path of the Python interpreter that has the libraries.
private enum Verifiers {
    static let python: String? = {
        guard let python = Servers.find([Gateway.root.appending(path: ".build/clients/bin/python").path]),
            let probe = try? Servers.run(python, ["-c", "import jwt, jwcrypto, joserfc"]), probe.status == 0
        else { return nil }
        return python
    }()
}

/// Libraries of others verify id_tokens. `deploy/test.sh` installs them if PyPI can be reached.
@Suite(
    "Libraries of others verify id_tokens",
    .enabled(if: Verifiers.python != nil, "PyJWT, jwcrypto and joserfc are not installed")
)
struct VerifierTests {
    @Test("PyJWT, jwcrypto and joserfc accept one with the key that was in use, before and after a rotation")
    func accepted() async throws {
        let bench = KeyBench()
        let keys = bench.gateway().keys
        var samples: [String] = []
        func sample() async throws {
            let now = Clock.system.now()
            let session = Session(
                id: "ses_1",
                kind: .native,
                origin: .native,
                lineage: Lineage(tag: "t"),
                identity: Identity(id: "user-1815", traits: ["name": ["first": "Ada", "last": "Lovelace"]]),
                aal: .aal0,
                methods: [],
                authenticatedAt: now,
                issuedAt: now,
                expiresAt: now,
                idleLifetime: .seconds(60)
            )
            let token = IDToken(
                of: session,
                issuer: "https://app.example.com/",
                clientID: "native",
                scopes: ["openid", "profile"],
                nonce: "n",
                accessToken: Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"),
                issuedAt: now
            )
            samples.append(token.signed(by: try await keys.signer()))
        }
        try await sample()
        _ = try await keys.rotate(after: .seconds(3600))
        await keys.refresh()
        bench.clock.advance(by: .seconds(3600))
        try await sample()
        let published = try #require(keys.published)
        let stranger = JWKSet(keys: [SigningKey.generated(.rs256).publicKey])
        let sets = [published, stranger].map { String(decoding: JSONText.encode($0.value), as: UTF8.self) }
        let script = """
            import json, sys
            import jwt, jwcrypto.jwk, jwcrypto.jwt
            import joserfc.jwk, joserfc.jwt

            def by_pyjwt(keys, token, issuer):
                key = jwt.PyJWKSet.from_json(keys)[jwt.get_unverified_header(token)['kid']]
                claims = jwt.decode(token, key, algorithms=['RS256'], issuer=issuer, audience='native', leeway=5)
                assert claims['at_hash'] == '77QmUPtjPfzWtF2AnpK9RQ'
                return claims

            def by_jwcrypto(keys, token, issuer):
                read = jwcrypto.jwt.JWT(algs=['RS256'], check_claims={'iss': issuer, 'aud': 'native', 'exp': None})
                read.leeway = 5
                read.deserialize(token, jwcrypto.jwk.JWKSet.from_json(keys))
                return json.loads(read.claims)

            def by_joserfc(keys, token, issuer):
                read = joserfc.jwt.decode(token, joserfc.jwk.KeySet.import_key_set(json.loads(keys)), algorithms=['RS256'])
                joserfc.jwt.JWTClaimsRegistry(leeway=5, iss={'essential': True, 'value': issuer}).validate(read.claims)
                return read.claims

            def refuses(library, *arguments):
                try:
                    library(*arguments)
                except Exception:
                    return True
                return False

            keys, stranger, *tokens = sys.argv[1:]
            for library in [by_pyjwt, by_jwcrypto, by_joserfc]:
                for token in tokens:
                    claims = library(keys, token, 'https://app.example.com/')
                    assert claims['sub'] == 'user-1815' and claims['name'] == 'Ada Lovelace' and claims['nonce'] == 'n'
                    assert refuses(library, keys, token, 'https://app.example.com'), library
                    assert refuses(library, stranger, token, 'https://app.example.com/'), library
            print('done')
            """
        let python = try #require(Verifiers.python)
        let run = try Servers.run(python, ["-c", script] + sets + samples)
        #expect(run.status == 0 && run.output == "done\n", "\(run.output)")
    }
}
