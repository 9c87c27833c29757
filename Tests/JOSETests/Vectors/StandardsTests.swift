import Cryptography
import JOSE
import Testing
import Vocabulary

/// The examples of RFC 7515 appendix A, RFC 7638 3.1 and RFC 8037 appendix A.
@Suite struct StandardsTests {
    private static let payload = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"
    private static let encodedPayload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    private static let rsaModulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pC"
        + "gNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg6"
        + "65xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRW"
        + "yuXpoQ"

    @Test func appendixA1() throws {
        let secret = try #require(
            Base64URL.decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
        )
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(Self.encodedPayload).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let verified = try JWS.verify(
            bytes(token),
            with: JWKSet(keys: []),
            allowing: [.hs256],
            sharedSecret: Secret(secret)
        )
        #expect(verified.payload == bytes(Self.payload) && verified.type == "JWT")
        let claims = try JWTClaims(verified.payload)
        #expect(claims.issuer == "joe" && claims.expiresAt == UnixTime(seconds: 1_300_819_380))
        #expect(claims["http://example.com/is_root"] == true)
    }

    @Test func appendixA2() throws {
        let signature =
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CU"
            + "Ar7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_d"
            + "O--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0ig"
            + "cN_IoypGlUPQGe77Rw"
        let key = JSONValue.object(["kty": "RSA", "n": .string(Self.rsaModulus), "e": "AQAB"])
        try Self.verify("eyJhbGciOiJSUzI1NiJ9.\(Self.encodedPayload).\(signature)", with: key, as: Self.payload)
    }

    @Test func appendixA3() throws {
        let key = json(
            """
            {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
             "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
            """
        )
        let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        try Self.verify("eyJhbGciOiJFUzI1NiJ9.\(Self.encodedPayload).\(signature)", with: key, as: Self.payload)
    }

    @Test func appendixA4() throws {
        let key = json(
            """
            {"kty":"EC","crv":"P-521",
             "x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
             "y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"}
            """
        )
        let signature =
            "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2Y"
            + "BJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn"
        try Self.verify("eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.\(signature)", with: key, as: "Payload")
    }

    /// A token without a signature.
    @Test func appendixA5() {
        let token = bytes("eyJhbGciOiJub25lIn0.\(Self.encodedPayload).")
        let error = refusal { _ = try JWS.verify(token, with: Keys.set, allowing: Set(JWSAlgorithm.allCases)) }
        #expect(error?.detail == "alg is not supported")
    }

    @Test func thumbprintOfRSA() throws {
        let modulus =
            "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3"
            + "oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA"
            + "ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-"
            + "kEgU8awapJzKnqDKgw"
        let key = try JWK(
            .object(["kty": "RSA", "n": .string(modulus), "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"])
        )
        #expect(key.thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
        #expect(key.keyID == "2011-04-29" && key.algorithm == "RS256")
    }

    @Test func ed25519() throws {
        let token =
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcN"
            + "R4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        let key = json(#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#)
        try Self.verify(token, with: key, as: "Example of Ed25519 signing")
        #expect(try JWK(key).thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    private static func verify(_ token: String, with key: JSONValue, as payload: String) throws {
        let set = JWKSet(keys: [try JWK(key)])
        #expect(try JWS.verify(bytes(token), with: set, allowing: JWSAlgorithm.asymmetric).payload == bytes(payload))
        // Each bit of the signature counts.
        var changed = bytes(token)
        changed[changed.count - 10] ^= 1
        #expect(refusal { _ = try JWS.verify(changed, with: set, allowing: JWSAlgorithm.asymmetric) } != nil)
    }
}
