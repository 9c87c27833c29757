import JOSE
import Testing
import Vocabulary

@Suite struct JWTClaimsTests {
    private static let now = UnixTime(seconds: 1_800_000_000)

    private static func check(_ text: String) -> JOSEError? {
        refusal {
            try JWTClaims(bytes(text)).check(issuer: "https://a.example", audience: ["us", "also"], now: Self.now)
        }
    }

    /// `{"iss":…,"aud":…}` with more members.
    private static func claims(_ more: String) -> String {
        #"{"iss":"https://a.example","aud":"us",\#(more)}"#
    }

    @Test(arguments: [
        #""exp":1800000001,"nbf":null,"iat":null,"sub":null,"jti":null,"nonce":null,"sid":null"#, #""exp":1800000001"#,
        #""exp":1800000001.5"#, #""exp":1.800000001e9"#, #""exp":1799999941"#,
        #""exp":253402300799"#, #""exp":4102444800,"iat":1800000060,"nbf":1800000060"#, #""exp":1800000001,"iat":0"#,
    ])
    func accepts(_ more: String) {
        #expect(Self.check(Self.claims(more)) == nil)
    }

    @Test(
        "P63: A token without a usable exp is refused, and one from the future",
        arguments: [
            (#""x":1"#, "exp is missing"), (#""exp":null"#, "exp is missing"),
            (#""exp":"1900000000""#, "exp is not a number"), (#""exp":1e300"#, "exp is out of range"),
            (#""exp":-1"#, "exp is out of range"), (#""exp":253402300800"#, "exp is out of range"),
            (#""exp":9223372036854775807"#, "exp is out of range"),
            (#""exp":18446744073709551616"#, "exp is out of range"), (#""exp":1799999940"#, "exp has passed"),
            (#""exp":0"#, "exp has passed"), (#""exp":1900000000,"iat":1800000061"#, "iat is in the future"),
            (#""exp":1900000000,"nbf":1800000061"#, "nbf is in the future"),
            (#""exp":1900000000,"nbf":1e300"#, "nbf is out of range"),
            (#""exp":1900000000,"iat":true"#, "iat is not a number"),
            (#""exp":1900000000,"sub":1"#, "sub is not a string"),
            (#""exp":1900000000,"sid":[]"#, "sid is not a string"),
            (#""exp":1900000000,"jti":{}"#, "jti is not a string"),
            (#""exp":1900000000,"nonce":7"#, "nonce is not a string"),
        ]
    )
    func refuses(_ more: String, _ detail: String) {
        #expect(Self.check(Self.claims(more))?.detail == detail)
    }

    @Test(arguments: [
        (#"{"aud":"us","exp":1900000000}"#, JOSEError.Kind.issuer),
        (#"{"iss":"https://a.example/","aud":"us","exp":1900000000}"#, .issuer),
        (#"{"iss":"https://b.example","aud":"us","exp":1900000000}"#, .issuer),
        (#"{"iss":"https://a.example","exp":1900000000}"#, .audience),
        (#"{"iss":"https://a.example","aud":null,"exp":1900000000}"#, .audience),
        (#"{"iss":"https://a.example","aud":[null],"exp":1900000000}"#, .audience),
        (#"{"iss":null,"aud":"us","exp":1900000000}"#, .issuer),
        (#"{"iss":"https://a.example","aud":"them","exp":1900000000}"#, .audience),
        (#"{"iss":"https://a.example","aud":[],"exp":1900000000}"#, .audience),
        (#"{"iss":"https://a.example","aud":["US"],"exp":1900000000}"#, .audience),
        (#"{"iss":"https://a.example","aud":["us",1],"exp":1900000000}"#, .invalid),
        (#"{"iss":"https://a.example","aud":{"us":1},"exp":1900000000}"#, .invalid),
        (#"{"iss":["https://a.example"],"aud":"us","exp":1900000000}"#, .invalid),
        (#"{"iss":"https://a.example","aud":"us","exp":1}"#, .expired), ("[]", .invalid), ("", .invalid),
        (#"{"iss":"https://a.example","aud":"us","exp":1900000000,"exp":1900000000}"#, .invalid),
    ])
    func tellsRefusalsApart(_ text: String, _ kind: JOSEError.Kind) {
        #expect(Self.check(text)?.kind == kind)
    }

    @Test func oneOfSeveralAudiencesIsEnough() {
        #expect(Self.check(#"{"iss":"https://a.example","aud":["them","also"],"exp":1900000000}"#) == nil)
    }

    @Test func keepsFractionsOfASecond() throws {
        let claims = try JWTClaims(bytes(#"{"exp":1800000000.75,"iat":1800000000,"nbf":0.5,"sid":"s","nonce":"n"}"#))
        #expect(claims.expiresAt == UnixTime(milliseconds: 1_800_000_000_750))
        #expect(claims.notBefore == UnixTime(milliseconds: 500) && claims.issuedAt == UnixTime(seconds: 1_800_000_000))
        #expect(claims.sessionID == "s" && claims.nonce == "n" && claims.audience.isEmpty)
    }
}
