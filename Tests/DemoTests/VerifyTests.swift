import Foundation
import GatewayBench
import Testing

/// `verify-jws`, with the example of RFC 7515 A.3.
@Suite struct VerifyTests {
    private static let key = """
        {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
         "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
        """
    private static let token =
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
        + "fQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

    private func verify(
        _ token: String,
        keys: String = Self.key,
        _ arguments: [String] = []
    ) throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-keys-\(UUID())")
        try keys.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        return try Servers.run(
            Gateway.binary.path,
            ["verify-jws", "--jwks", file.path] + arguments,
            input: Array(token.utf8)
        )
    }

    @Test(arguments: [token, token + "\n", token + "\r\n"])
    func printsThePayloadAndNothingElse(_ token: String) throws {
        for keys in [Self.key, #"{"keys":[\#(Self.key)]}"#] {
            let result = try self.verify(token, keys: keys, ["--alg", "RS256", "--alg", "ES256"])
            #expect(result.status == 0, "\(result.output)")
            #expect(
                result.output == "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"
            )
        }
    }

    @Test func saysWhyItRefuses() throws {
        let rows: [(token: String, keys: String, arguments: [String], line: String)] = [
            (Self.token, Self.key, ["--alg", "RS256"], "refused: ES256 is not allowed\n"),
            (Self.token + "=", Self.key, [], "refused: the signature is not base64url\n"),
            (Self.token.replacing("fQ.D", with: "fQ.E"), Self.key, [], "refused: the signature is wrong\n"),
            ("", Self.key, [], "refused: the token does not have three parts\n"),
            (String(repeating: "A", count: 70_000), Self.key, [], "refused: the token is too long\n"),
            (Self.token, "{}", [], "refused: the file holds neither a key set nor a key\n"),
            (
                Self.token, #"{"keys":[{"kty":"EC","crv":"P-256"}]}"#, [],
                "left out: key 1: x is missing or not base64url\nrefused: no key of the set fits the token\n"
            ),
            (
                Self.token, #"{"keys":[\#(Self.key),{"kty":"oct","k":"AAAA"}]}"#, [],
                "refused: the file holds both public keys and shared secrets\n"
            ),
        ]
        for row in rows {
            let result = try self.verify(row.token, keys: row.keys, row.arguments)
            #expect(result.status == 1 && result.output == row.line, "\(result)")
        }
    }

    @Test func refusesWrongArguments() throws {
        let unknown = try self.verify(Self.token, ["--alg", "none"])
        #expect(unknown.status == 64 && unknown.output.contains("--alg must be one of RS256"), "\(unknown.output)")
        let missing = try Servers.run(Gateway.binary.path, ["verify-jws", "--jwks", "/missing"])
        #expect(missing.status == 1 && missing.output == "/missing cannot be read\n", "\(missing.output)")
    }
}
