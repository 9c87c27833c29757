import Foundation
import GatewayBench
import Testing

/// `dpop-proof`, as an operator tries out a route with it.
@Suite struct DPoPProofTests {
    /// A folder that exists for one test.
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appending(path: "sallyport-proof-\(UUID())")

        init() throws {
            try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: false)
        }

        deinit {
            try? FileManager.default.removeItem(at: self.url)
        }

        func path(_ name: String) -> String { self.url.appending(path: name).path }
    }

    private let folder: Folder

    init() throws {
        self.folder = try Folder()
    }

    private var key: String { self.folder.path("key.pem") }

    private func run(_ arguments: [String], input: String = "") throws -> (status: Int32, output: String) {
        try Servers.run(Gateway.binary.path, ["dpop-proof"] + arguments, input: Array(input.utf8))
    }

    /// A part of a token.
    private func part(_ index: Int, of token: String) throws -> [String: Any] {
        var text = String(token.split(separator: ".")[index]).replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        let data = try #require(Data(base64Encoded: text))
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func makesTheKeyForItsOwnerOnlyAndUsesItAgain() throws {
        let first = try self.run(["--key", self.key, "--thumbprint"])
        #expect(first.status == 0 && first.output.count == 44, "\(first)")
        let mode = try FileManager.default.attributesOfItem(atPath: self.key)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try self.run(["--key", self.key, "--thumbprint"]).output == first.output)
    }

    @Test func printsAProofForTheRequest() throws {
        let result = try self.run(
            [
                "--key", self.key, "--method", "PUT", "--url", "https://a.example/b?c", "--nonce", "n", "--token-file",
                "-",
            ],
            input: "abc\n"
        )
        #expect(result.status == 0, "\(result.output)")
        let header = try self.part(0, of: result.output)
        #expect(header["typ"] as? String == "dpop+jwt" && header["kid"] == nil)
        let jwk = try #require(header["jwk"] as? [String: String])
        #expect(Set(jwk.keys) == ["kty", "crv", "x", "y"])
        let claims = try self.part(1, of: result.output)
        #expect(claims["htm"] as? String == "PUT" && claims["htu"] as? String == "https://a.example/b")
        #expect(claims["nonce"] as? String == "n")
        // SHA-256 of "abc" (FIPS 180-4's example).
        #expect(claims["ath"] as? String == "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0")
    }

    @Test func saysWhatIsWrong() throws {
        let text = self.folder.path("text")
        try "text".write(toFile: text, atomically: false, encoding: .utf8)
        let empty = self.folder.path("empty")
        try "\n".write(toFile: empty, atomically: false, encoding: .utf8)
        let url = ["--url", "https://a.example/"]
        let rows: [(arguments: [String], status: Int32, part: String)] = [
            (["--key", self.key], 64, "Add --url, or --thumbprint."),
            (["--key", self.key, "--url", "a.example"], 64, "--url must begin with https:// or http://."),
            (["--key", text] + url, 1, "\(text): this is no private key in PEM"),
            (["--key", self.folder.path("missing/key.pem")] + url, 1, "No such file or directory"),
            (["--key", self.key, "--token-file", "/missing"] + url, 1, "/missing cannot be read\n"),
            (["--key", self.key, "--token-file", empty] + url, 1, "\(empty) contains no access token\n"),
            (["--key", self.key, "--token-file", "-"] + url, 1, "standard input contains no access token\n"),
        ]
        for row in rows {
            let result = try self.run(row.arguments)
            #expect(result.status == row.status && result.output.contains(row.part), "\(result)")
        }
    }
}
