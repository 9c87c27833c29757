/// What is believed in a token.
extension Advisory {
    /// Signatures, keys and times.
    static let tokens = [
        Advisory(
            id: "CVE-2017-15361",
            about: "A generator makes RSA keys that can be factored",
            tests: ["CVE-2017-15361: Weak, broken and mixed keys of Project Wycheproof are refused"]
        ),
        Advisory(
            id: "P63",
            about: "mod_auth_openidc: exp is missing, a fraction, 1e300 or negative, or iat lies in the future",
            tests: ["P63: A token without a usable exp is refused, and one from the future"]
        ),
        Advisory(
            id: "P64",
            about: "lua-resty-openidc: an algorithm that is not supported counts as verified",
            tests: [
                "P64: An algorithm that is unknown, not allowed or of another kind of key is refused",
                "P64: Headers that demand an extension or name a key are refused",
                "P64: A code made with a public key is refused",
            ]
        ),
        Advisory(
            id: "P65",
            about:
                "mod_auth_openidc: a static key shadows a rotated one of the same kid; unknown kids fetch per request",
            tests: [
                "P65: Of the keys of one kid none shadows another: each that fits the token's algorithm is tried",
                "F16: Unknown kids cost four fetches per cool-down at most, and leave nothing behind",
            ]
        ),
        Advisory(
            id: "CVE-2021-21378",
            about: "Envoy: where a token is optional, one that is not valid counts as none",
            tests: [
                "A token that is not accepted is 401 with a challenge, also where none is needed and beside a good cookie"
            ]
        ),
        Advisory(
            id: "GHSA-wcvh-g65p-v576",
            about: "mod_auth_openidc: a token that was issued for another audience is accepted",
            tests: [
                "Each claim is checked",
                "introspection without an audience refuses to start",
                "Without audiences no access token is accepted",
            ]
        ),
        Advisory(
            id: "P68",
            about: "mod_auth_openidc: a refreshed token of another user stays with the session",
            tests: [
                "A refresh brings the user's claims anew; another subject is the end"
            ]
        ),
        Advisory(
            id: "CVE-2020-15222",
            about: "fosite: an assertion is accepted again, as nobody remembers its jti",
            tests: [
                "A proof is accepted once, and remembered for longer than it is good",
                "A proof is accepted once at both gateways together; after a restart of Redis proofs need a new nonce",
                "A logout token ends what it names at both gateways, with open streams, once; the provider may use its sid again",
                "Each kit signs in: tokens, an id_token, and an account named by provider and subject; once",
                "T4: of many browsers that race for one token exactly one is signed in",
            ]
        ),
        Advisory(
            id: "P71",
            about: """
                A resource server checks less of a proof than RFC 9449 4.3 asks for, or takes a bound token as a \
                bearer token
                """,
            tests: [
                "Whoever has the token without its key gets a challenge of the scheme DPoP, and the theft is audited",
                "F30: A replayed proof, and a store that does not answer",
                "A wrong clock, or a store that may have forgotten: the answer asks for a nonce, which scripts may read",
                "/userinfo asks for a nonce with one challenge, as the SDKs parse it",
                "refusesAnotherMethod",
                "refusesAnotherURL",
                "refusesAnotherAccessToken",
                "refusesAnotherKeyThanTheTokens",
                "refusesAPrivateKey",
                "Proofs for another method, URL or moment are refused, and so is more than one",
                "asksForANonceInsteadOfAStaleOne",
                "RFC 9449's own proofs are accepted once each, at their time, place and token",
            ]
        ),
    ]
}
