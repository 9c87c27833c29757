import Foundation
import GatewayBench

/// Settings with assertions, and what an app reads of them.
enum AssertionBench {
    /// Turns assertions on.
    static let on = """
        identity: {assertion: {enabled: true, claims: {email: identity.traits.email, groups: identity.traits.groups}}}

        """
    static let firstSecret = String(repeating: "a first secret, ", count: 4)

    /// The assertion in a head that the echoing app got.
    static func assertion(in answer: Answer) throws -> String {
        let lines = answer.text.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("x-auth-assertion:") }
        guard lines.count == 1 else { throw BenchFailure("\(lines.count) assertions: \(answer.text)") }
        return String(lines[0].dropFirst("X-Auth-Assertion: ".count))
    }

    /// A part of a token in compact form as JSON.
    static func json(_ token: String, part: Int) throws -> [String: Any] {
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { throw BenchFailure("not a token: \(token)") }
        let text = String(parts[part]).replacing("-", with: "+").replacing("_", with: "/")
        let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: padded),
            let value = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { throw BenchFailure("not JSON: \(token)") }
        return value
    }

    /// The names of the published keys.
    static func keyIDs(_ gateway: Gateway) throws -> [String] {
        let answer = try gateway.get("/.sallyport/jwks.json")
        guard let set = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: [[String: String]]]
        else {
            throw BenchFailure("no key set: \(answer.lines) \(answer.text)")
        }
        return set["keys"]?.compactMap { $0["kid"] } ?? []
    }
}

/// Libraries of others that verify tokens, as their users install them. `deploy/test.sh` installs them if PyPI can be
/// reached.
enum Verifiers {
    /// The path of the Python interpreter that has all of them.
    static let python: String? = {
        guard let python = OryClient.python,
            let probe = try? Servers.run(python, ["-c", "import jwt, jwcrypto, joserfc"]), probe.status == 0
        else { return nil }
        return python
    }()

    /// Defines `verify(name, keys, token, issuer, audience)`: the claims by one of the libraries, which raises if the
    /// token is not valid. `keys` is the text of a key set.
    static let script = """
        import json, sys
        import jwt, jwcrypto.jwk, jwcrypto.jwt
        import joserfc.jwk, joserfc.jwt

        def pyjwt(keys, token, issuer, audience):
            key = jwt.PyJWKSet.from_json(keys)[jwt.get_unverified_header(token)['kid']]
            required = ['iss', 'aud', 'sub', 'exp', 'iat', 'sid']
            return jwt.decode(token, key, algorithms=['ES256'], issuer=issuer, audience=audience,
                              leeway=5, options={'require': required})

        def by_jwcrypto(keys, token, issuer, audience):
            checks = {'iss': issuer, 'aud': audience, 'exp': None, 'iat': None, 'sid': None}
            read = jwcrypto.jwt.JWT(algs=['ES256'], check_claims=checks, expected_type='JWS')
            read.leeway = 5
            read.deserialize(token, jwcrypto.jwk.JWKSet.from_json(keys))
            return json.loads(read.claims)

        def by_joserfc(keys, token, issuer, audience):
            read = joserfc.jwt.decode(token, joserfc.jwk.KeySet.import_key_set(json.loads(keys)), algorithms=['ES256'])
            registry = joserfc.jwt.JWTClaimsRegistry(
                leeway=5, iss={'essential': True, 'value': issuer}, aud={'essential': True, 'value': audience},
                exp={'essential': True}, sub={'essential': True})
            registry.validate(read.claims)
            return read.claims

        libraries = [pyjwt, by_jwcrypto, by_joserfc]

        def refuses(library, *arguments):
            try:
                library(*arguments)
            except Exception:
                return True
            return False

        """

    /// Runs `body` after `script`, with these values in `values`; it must print `done` alone.
    static func run(_ body: String, _ values: [String]) throws -> (isDone: Bool, output: String) {
        guard let python = self.python else { throw BenchFailure("the libraries are not installed") }
        let text = self.script + "values = sys.argv[1:]\n" + body + "\nprint('done')\n"
        let run = try Servers.run(python, ["-c", text] + values)
        return (run.status == 0 && run.output == "done\n", run.output)
    }
}
