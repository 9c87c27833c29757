import Calls
import Cryptography
import JOSE
import Providers
import Sessions
import Settings
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// The parts of a proof (RFC 9449 4.2), its signature verified.
private struct Proof {
    let header: JSONValue
    let claims: JSONValue
    let thumbprint: String

    init(_ text: String?) throws {
        let parts = try #require(text).split(separator: ".").map(String.init)
        self.header = try #require(Base64URL.decode(parts[0]).flatMap { JSONText.decode($0) })
        self.claims = try #require(Base64URL.decode(parts[1]).flatMap { JSONText.decode($0) })
        let key = try JWK(try #require(self.header["jwk"]))
        self.thumbprint = key.thumbprint
        guard case .object(let members) = key.value else {
            Issue.record("the key is no object")
            return
        }
        #expect(Set(members.keys) == ["kty", "crv", "x", "y"])
        let signature = try #require(Base64URL.decode(parts[2]))
        let x = try #require(members["x"]?.string.flatMap { Base64URL.decode($0) })
        let y = try #require(members["y"]?.string.flatMap { Base64URL.decode($0) })
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        let verifier = try #require(PublicKey(.p256, x: x, y: y))
        #expect(signed.withUnsafeBytes { verifier.verifies(signature[...], of: $0, by: .ecdsa(.p256)) })
    }
}

@Suite("Tokens that are bound to a key")
struct PossessionTests {
    private static let bound: [String: JSONValue] = ["token_type": "DPoP"]

    @Test("With dpop the code is redeemed with a proof, and the key is kept with the tokens, a new one each time")
    func signIn() async throws {
        let bench = try OpenIDProviderBench {
            $0.usesDPoP = true
            $0.claims.traits = [ClaimSettings.Trait(name: "name", path: ["name"])]
        }
        bench.transport.on(
            OpenIDProviderBench.userinfoURL,
            .json(["sub": .string(OpenIDProviderBench.subject), "name": "Jane"])
        )
        let tokens = try #require(try await bench.signIn(tokens: Self.bound).evidence?.tokens)
        #expect(tokens.tokenType == "DPoP")
        let key = try SigningKey(pkcs8: try #require(tokens.dpopKey))
        let call = try #require(bench.transport.calls(of: OpenIDProviderBench.tokenURL).first)
        let proof = try Proof(call.field("dpop"))
        #expect(proof.thumbprint == key.publicKey.thumbprint)
        #expect(proof.header["typ"] == "dpop+jwt" && proof.header["alg"] == "ES256" && proof.header["kid"] == nil)
        #expect(proof.claims["htm"] == "POST" && proof.claims["htu"] == .string(OpenIDProviderBench.tokenURL))
        #expect(proof.claims["iat"] == .integer(bench.clock.now.seconds))
        #expect(proof.claims["ath"] == nil && proof.claims["nonce"] == nil)
        let asked = try #require(bench.transport.calls(of: OpenIDProviderBench.userinfoURL).first)
        #expect(asked.field("authorization") == "DPoP access-1")
        let second = try Proof(asked.field("dpop"))
        #expect(second.thumbprint == proof.thumbprint && second.claims["htm"] == "GET")
        #expect(second.claims["ath"] == .string(SHA256.digest(Array("access-1".utf8)).base64URL))
        #expect(second.claims["jti"] != proof.claims["jti"])
        let other = try #require(try await bench.signIn(tokens: Self.bound).evidence?.tokens?.dpopKey)
        #expect(other != tokens.dpopKey)
    }

    @Test("Tokens that the provider did not bind, or bound to no key of ours, are refused")
    func unbound() async throws {
        let demanding = try OpenIDProviderBench { $0.usesDPoP = true }
        #expect(try await demanding.signIn().cause == .signInProviderError)
        #expect(try await OpenIDProviderBench().signIn(tokens: Self.bound).cause == .signInProviderError)
    }

    @Test("A provider that demands proofs gets them, and its nonce; the nonce is remembered for its server")
    func demanded() async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        let token = bench.idToken(bench.claims(nonce: begun.parameters["nonce"]))
        let good = CallAnswer.json(
            OpenIDProviderBench.tokens(idToken: token, Self.bound),
            fields: [("dpop-nonce", "n-2")]
        )
        bench.transport.on(OpenIDProviderBench.tokenURL) { call in
            guard let text = call.field("dpop") else { return .json(["error": "invalid_dpop_proof"], status: 400) }
            let nonce = (try? Proof(text))?.claims["nonce"]
            guard nonce == "n-1" || nonce == "n-2" else {
                return .json(["error": "use_dpop_nonce"], status: 400, fields: [("dpop-nonce", "n-1")])
            }
            return good
        }
        let tokens = try #require(
            await bench.provider.completion(begun.callback(), state: begun.state).evidence?.tokens
        )
        #expect(bench.transport.calls(of: OpenIDProviderBench.tokenURL).count == 3)
        bench.transport.on(
            OpenIDProviderBench.tokenURL,
            .json(["error": "use_dpop_nonce"], status: 400, fields: [("dpop-nonce", "n-3")])
        )
        guard
            case .later = await bench.provider.refresh(
                tokens,
                of: Identity(id: OpenIDProviderBench.subject, traits: [:])
            )
        else {
            Issue.record("a provider that keeps demanding nonces is no end")
            return
        }
        let calls = bench.transport.calls(of: OpenIDProviderBench.tokenURL).dropFirst(3)
        // Followed once.
        #expect(calls.count == 2)
        #expect(try calls.map { try Proof($0.field("dpop")).claims["nonce"] } == ["n-2", "n-3"])
    }

    @Test("A resource server's demand for a nonce is followed once, and its nonces are its own")
    func resourceNonce() async throws {
        let userinfo = "https://api.example.com/userinfo"
        let bench = try OpenIDProviderBench(metadata: ["userinfo_endpoint": .string(userinfo)]) {
            $0.usesDPoP = true
            $0.claims.traits = [ClaimSettings.Trait(name: "name", path: ["name"])]
        }
        bench.transport.on(userinfo) { call in
            guard let proof = try? Proof(call.field("dpop")), proof.claims["nonce"] == "r-1" else {
                return CallAnswer(
                    status: 401,
                    fields: [
                        ("www-authenticate", #"DPoP error="use_dpop_nonce", error_description="x""#),
                        ("dpop-nonce", "r-1"),
                    ]
                )
            }
            return .json(["sub": .string(OpenIDProviderBench.subject), "name": "Jane"])
        }
        #expect(try await bench.signIn(tokens: Self.bound).user != nil)
        #expect(bench.transport.calls(of: userinfo).count == 2)
        #expect(try await bench.signIn(tokens: Self.bound).user != nil)
        #expect(bench.transport.calls(of: userinfo).count == 3)
        let proof = try Proof(bench.transport.calls(of: OpenIDProviderBench.tokenURL).last?.field("dpop"))
        #expect(proof.claims["nonce"] == nil)
    }

    @Test("htu is the URL without its query")
    func query() async throws {
        let url = OpenIDProviderBench.tokenURL + "?tenant=1"
        let bench = try OpenIDProviderBench(metadata: ["token_endpoint": .string(url)]) { $0.usesDPoP = true }
        bench.transport.on(url, CallAnswer(status: 500))
        let begun = try await bench.begin()
        _ = await bench.provider.completion(begun.callback(), state: begun.state)
        let proof = try Proof(bench.transport.calls(of: url).first?.field("dpop"))
        #expect(proof.claims["htu"] == .string(OpenIDProviderBench.tokenURL))
    }
}
