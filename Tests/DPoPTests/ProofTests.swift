import Cryptography
import JOSE
import Testing
import Vocabulary

/// What is accepted, and each thing that is not.
@Suite struct ProofTests {
    private var bench = Bench()

    private mutating func demandToken() {
        self.bench.demand.accessToken = Bench.token
    }

    // MARK: Accepted

    @Test(arguments: [JWSAlgorithm.es256, .edDSA])
    func acceptsAProofOfEitherUsualAlgorithm(_ algorithm: JWSAlgorithm) throws {
        let bench = Bench(key: .generated(algorithm))
        let proof = try #require(bench.judge([:]).accepted)
        #expect(proof.thumbprint == bench.key.publicKey.thumbprint)
        #expect(proof.onceScope == "dpop \(proof.thumbprint)")
        #expect(proof.onceID == SHA256.digest(bytes("id-1")).base64URL, "nothing that the client wrote")
    }

    @Test func acceptsAProofOfTheMaker() throws {
        let maker = DPoPProofMaker(self.bench.key)
        var bench = self.bench
        bench.demand = DPoPDemand(
            method: "GET",
            target: DPoPTarget(origin: bytes(Bench.origin), path: bytes("/a?b")),
            accessToken: Bench.token,
            thumbprint: maker.thumbprint,
            requiresNonce: true
        )
        let proofs = (0..<2).map { _ in
            maker.proof(
                method: "GET",
                url: "https://app.example.com/a?b#c",
                accessToken: Bench.token,
                nonce: bench.nonce,
                at: UnixTime(seconds: 0)
            )
        }
        let accepted = try proofs.map { try #require(bench.judge(bytes($0)).accepted) }
        #expect(accepted[0].thumbprint == maker.thumbprint && accepted[0].onceID != accepted[1].onceID)
    }

    @Test func acceptsAProofWithUnknownClaimsAndHeaderMembers() {
        let proof = self.bench.proof(["new": ["a": 1], "aud": "b"], header: [("new", 1), ("x5t", "a")])
        #expect(self.bench.judge(proof).accepted != nil)
    }

    /// `kid` names no key of ours: the key is that of the proof.
    @Test func ignoresTheNameOfTheKey() {
        #expect(self.bench.judge(self.bench.proof(header: [("kid", "another")])).accepted != nil)
    }

    private func keyMembers() throws -> [String: JSONValue] {
        guard case .object(let members) = self.bench.key.publicKey.required else { throw JOSEError("not an object") }
        return members
    }

    @Test func acceptsAKeyAsBrowsersExportIt() throws {
        var members = try self.keyMembers()
        members["ext"] = true
        members["key_ops"] = ["verify"]
        #expect(self.bench.judge(self.bench.proof(header: [("jwk", .object(members))])).accepted != nil)
    }

    @Test("Null members of a proof are absent ones") func readsNullAsAbsent() throws {
        var members = try self.keyMembers()
        for name in ["alg", "use", "key_ops", "kid", "d", "ext"] { members[name] = .null }
        let claims: [String: JSONValue?] = ["nonce": .some(.null), "ath": .some(.null), "exp": .some(.null)]
        let proof = self.bench.proof(claims, header: [("jwk", .object(members)), ("kid", .null), ("x5c", .null)])
        #expect(self.bench.judge(proof).accepted != nil)
        for name in ["jti", "htm", "htu", "iat"] {
            #expect(self.bench.judge([name: .some(.null)]).fault == DPoPRefusal.claims, "\(name)")
        }
        #expect(self.bench.judge(self.bench.proof(header: [("jwk", .null)])).accepted == nil)
    }

    @Test func acceptsSlashesAsSomeLibrariesEscapeThem() {
        let payload = String(decoding: JSONText.encode(.object(self.bench.claims())), as: UTF8.self)
        let header: [(String, JSONValue)] = [("typ", "dpop+jwt"), ("jwk", self.bench.key.publicKey.required)]
        let proof = self.bench.key.sign(bytes(payload.replacing("/", with: #"\/"#)), header: header)
        #expect(self.bench.judge(proof).accepted != nil)
    }

    // MARK: The request

    @Test func refusesAnotherMethod() {
        for method in ["GET", "post", "", "POST "] {
            #expect(self.bench.judge(["htm": .string(method)]).fault == DPoPRefusal.method)
        }
        #expect(self.bench.judge(["htm": nil]).fault == DPoPRefusal.claims)
        #expect(self.bench.judge(["htm": 1]).fault == DPoPRefusal.claims)
    }

    @Test func refusesAnotherURL() {
        for url in ["https://app.example.com/userinfo", "https://evil.example/oauth/token", ""] {
            #expect(self.bench.judge(["htu": .string(url)]).fault == DPoPRefusal.target)
        }
        #expect(self.bench.judge(["htu": nil]).fault == DPoPRefusal.claims)
    }

    @Test mutating func refusesAnotherAccessToken() {
        self.demandToken()
        let hash = SHA256.digest(Bench.token.bytes).base64URL
        #expect(self.bench.judge(["ath": .string(hash)]).accepted != nil)
        #expect(self.bench.judge([:]).fault == DPoPRefusal.accessToken, "missing")
        for wrong in [
            SHA256.digest(bytes("other")).base64URL, "", hash + "=", String(decoding: Bench.token.bytes, as: UTF8.self),
        ] {
            #expect(self.bench.judge(["ath": .string(wrong)]).fault == DPoPRefusal.accessToken)
        }
        #expect(self.bench.judge(["ath": 1]).fault == DPoPRefusal.accessToken)
    }

    // MARK: The key

    @Test mutating func refusesAnotherKeyThanTheTokens() {
        self.bench.demand.thumbprint = self.bench.key.publicKey.thumbprint
        #expect(self.bench.judge([:]).accepted != nil)
        self.bench.demand.thumbprint = SigningKey.generated(.es256).publicKey.thumbprint
        #expect(self.bench.judge([:]).fault == DPoPRefusal.otherKey)
    }

    @Test mutating func comparesTheKeyBeforeItVerifiesTheSignature() {
        self.bench.demand.thumbprint = SigningKey.generated(.es256).publicKey.thumbprint
        let proof = Bench.forged(self.bench.proof())
        #expect(self.bench.judge(proof).fault == DPoPRefusal.otherKey)
        self.bench.demand.thumbprint = nil
        #expect(self.bench.judge(proof).fault == DPoPRefusal.signature)
    }

    @Test func refusesAPrivateKey() throws {
        for name in ["d", "p", "k"] {
            var members = try self.keyMembers()
            members[name] = "AAAA"
            let proof = self.bench.proof(header: [("jwk", .object(members))])
            #expect(self.bench.judge(proof).headerFault == "the key is not public")
        }
    }

    @Test(
        arguments: [
            .null, "a", [:], ["kty": "oct", "k": "AAAA"], ["kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"],
            ["kty": "OKP", "crv": "X25519", "x": "AAAA"],
        ] as [JSONValue]
    )
    func refusesWhatIsNoPublicKey(_ key: JSONValue) {
        #expect(self.bench.judge(self.bench.proof(header: [("jwk", key)])).headerFault != nil)
    }

    @Test func refusesTheSignatureOfAnotherKey() {
        let other = SigningKey.generated(.es256).publicKey.required
        #expect(self.bench.judge(self.bench.proof(header: [("jwk", other)])).fault == DPoPRefusal.signature)
    }

    @Test func refusesAProofWithAnyChangedByte() {
        let proof = self.bench.proof()
        for index in stride(from: 0, to: proof.count, by: 5) {
            #expect(self.bench.judge(Bench.forged(proof, at: index)).accepted == nil, "byte \(index)")
        }
    }

    // MARK: The header

    @Test(arguments: ["none", "None", "HS256", "HS512", "ES384", "RS256", "PS256", "es256", ""])
    func refusesOtherAlgorithms(_ name: String) {
        let key = String(decoding: JSONText.encode(self.bench.key.publicKey.required), as: UTF8.self)
        let proof = self.bench.proof(headerText: #"{"typ":"dpop+jwt","alg":"\#(name)","jwk":\#(key)}"#)
        #expect(self.bench.judge(proof).headerFault?.contains(/is not (allowed|supported)/) ?? false)
    }

    @Test func refusesATokenWithoutASignature() {
        let proof = bytes(String(decoding: self.bench.proof(), as: UTF8.self).prefix(while: { $0 != "." }) + ".e30.")
        #expect(self.bench.judge(proof).headerFault != nil)
    }

    /// The public key as the secret of an HMAC.
    @Test func refusesACodeMadeWithThePublicKeyEvenIfTheCallerAllowsCodes() {
        let key = JSONText.encode(self.bench.key.publicKey.required)
        let header = #"{"typ":"dpop+jwt","alg":"HS256","jwk":\#(String(decoding: key, as: UTF8.self))}"#
        let payload = JSONText.encode(.object(self.bench.claims()))
        let signed = bytes(Base64URL.encode(bytes(header)) + "." + Base64URL.encode(payload))
        let code = HMACKey(key).sha256(signed).base64URL
        let proof = signed + bytes("." + code)
        #expect(self.bench.judge(proof).headerFault == "HS256 is not allowed")
        #expect(throws: JOSEError("alg does not fit the key")) {
            try SelfSignedToken(proof, allowing: Set(JWSAlgorithm.allCases))
        }
    }

    @Test(arguments: ["JWT", "at+jwt", "application/dpop+jwt", ""])
    func refusesAnotherType(_ type: String) {
        #expect(self.bench.judge(self.bench.proof(header: [("typ", .string(type))])).fault == DPoPRefusal.type)
    }

    @Test func refusesAProofWithoutType() {
        let proof = self.bench.key.sign(
            JSONText.encode(.object(self.bench.claims())),
            header: [("jwk", self.bench.key.publicKey.required)]
        )
        #expect(self.bench.judge(proof).fault == DPoPRefusal.type)
    }

    @Test func refusesAProofWithoutKey() {
        let proof = self.bench.key.sign(JSONText.encode(.object(self.bench.claims())), header: [("typ", "dpop+jwt")])
        #expect(self.bench.judge(proof).headerFault == "the header has no jwk")
    }

    @Test(arguments: ["jku", "x5u", "crit", "b64"])
    func refusesHeadersThatNameAKeyElsewhereOrDemandAnExtension(_ name: String) {
        let proof = self.bench.proof(header: [(name, "https://evil.example/keys")])
        #expect(self.bench.judge(proof).headerFault == "the header has \(name)")
    }

    @Test(arguments: ["", ".", "..", "...", "a", "a.b", "a.b.c", "a.b.c.d", "{}", " ", "e30.e30.e30"])
    func refusesWhatIsNoToken(_ text: String) {
        #expect(self.bench.judge(bytes(text)).headerFault != nil)
    }

    @Test func refusesALongProof() {
        let long = String(repeating: "a", count: 6000)
        #expect(self.bench.judge(["new": .string(long)]).fault == DPoPRefusal.tooLong)
        #expect(self.bench.judge([UInt8](repeating: UInt8(ascii: "a"), count: 8193)).fault == DPoPRefusal.tooLong)
    }

    // MARK: The claims

    @Test func refusesAnIDThatIsMissingOrOversize() {
        #expect(self.bench.judge(["jti": nil]).fault == DPoPRefusal.claims)
        #expect(self.bench.judge(["jti": 1]).fault == DPoPRefusal.claims)
        #expect(self.bench.judge(["jti": ""]).fault == DPoPRefusal.id)
        #expect(self.bench.judge(["jti": .string(String(repeating: "a", count: 256))]).accepted != nil)
        #expect(self.bench.judge(["jti": .string(String(repeating: "a", count: 257))]).fault == DPoPRefusal.id)
        #expect(self.bench.judge(["jti": .string(String(repeating: "é", count: 129))]).fault == DPoPRefusal.id)
    }

    @Test func refusesARepeatedClaim() {
        let header: [(String, JSONValue)] = [("typ", "dpop+jwt"), ("jwk", self.bench.key.publicKey.required)]
        let payload = String(decoding: JSONText.encode(.object(self.bench.claims())), as: UTF8.self)
        let twice = bytes(payload.dropLast() + #","htm":"POST"}"#)
        #expect(self.bench.judge(self.bench.key.sign(twice, header: header)).fault == DPoPRefusal.claims)
    }

    @Test func refusesATimeThatIsMissingOrNone() {
        for value in [nil, .null, "1800000017", -1, .integer(Int64.max)] as [JSONValue?] {
            #expect(self.bench.judge(["iat": value]).fault == DPoPRefusal.claims)
        }
    }

    // MARK: Time

    @Test func acceptsWithoutNonceWhatIsAtMostFiveMinutesOldAndAMinuteAhead() {
        for (offset, isGood) in [(-299, true), (-300, false), (-3600, false), (0, true), (60, true), (61, false)] {
            let outcome = self.bench.judge(["iat": .integer(Bench.now.seconds + Int64(offset))])
            #expect(
                (outcome.accepted != nil) == isGood
                    && (outcome.refusal == DPoPRefusal.clock(nonce: self.bench.nonce)) == !isGood,
                "\(offset)"
            )
        }
    }

    @Test func saysThatTheClockIsWrong() throws {
        let outcome = self.bench.judge(["iat": .integer(Bench.now.seconds + 86_400)])
        #expect(outcome.refusal == DPoPRefusal.clock(nonce: self.bench.nonce))
        #expect(try #require(outcome.refusal).description.contains("clock"))
    }

    @Test func acceptsWithAFreshNonceAnyTime() throws {
        for seconds in [0, Bench.now.seconds - 86_400 * 365, Bench.now.seconds + 86_400 * 365] {
            let outcome = self.bench.judge(["iat": .integer(seconds), "nonce": .string(self.bench.nonce)])
            #expect(try #require(outcome.accepted).nextNonce == nil, "the client has the present one")
        }
    }

    @Test mutating func acceptsAnOldNonceAndBringsTheNext() throws {
        let nonce = self.bench.nonce
        self.bench.now = Bench.now.advanced(by: .seconds(60))
        #expect(try #require(self.bench.judge(["nonce": .string(nonce)]).accepted).nextNonce == self.bench.nonce)
    }

    @Test mutating func asksForANonceInsteadOfAStaleOne() {
        let nonce = self.bench.nonce
        self.bench.now = Bench.now.advanced(by: .seconds(300))
        let outcome = self.bench.judge(["nonce": .string(nonce)])
        #expect(outcome.refusal == DPoPRefusal.unusable(nonce: self.bench.nonce))
    }

    @Test func asksForANonceInsteadOfOneOfAnotherSecretOrServer() {
        let other = DPoPNonces(SecretRing(current: Secret("another secret of another deployment")))
        for nonce in [
            other.current(at: Bench.now, epoch: 1), "", "nonce-of-another-server", String(repeating: "a", count: 3000),
        ] {
            #expect(
                self.bench.judge(["nonce": .string(nonce)]).refusal == DPoPRefusal.unusable(nonce: self.bench.nonce)
            )
        }
        #expect(self.bench.judge(["nonce": 1]).fault == DPoPRefusal.claims)
    }

    @Test mutating func asksForANonceOfThePresentEpoch() {
        let nonce = self.bench.nonce
        self.bench.epoch = 2
        #expect(self.bench.judge(["nonce": .string(nonce)]).refusal == DPoPRefusal.unusable(nonce: self.bench.nonce))
        #expect(self.bench.judge(["nonce": .string(self.bench.nonce)]).accepted != nil)
    }

    @Test mutating func asksForANonceWhereOneIsRequired() {
        self.bench.demand.requiresNonce = true
        #expect(self.bench.judge([:]).refusal == DPoPRefusal.required(nonce: self.bench.nonce))
        #expect(self.bench.judge(["nonce": .string(self.bench.nonce)]).accepted != nil)
    }

    @Test func bringsANonceToAClientThatHasNone() throws {
        #expect(try #require(self.bench.judge([:]).accepted).nextNonce == self.bench.nonce)
    }

    /// A proof must not be accepted again after its id was forgotten, by a gateway whose clock is behind.
    @Test func isRememberedUntilNoGatewayAcceptsIt() throws {
        let rows: [[String: JSONValue?]] = [
            [:], ["iat": .integer(Bench.now.seconds + 60)], ["iat": .integer(Bench.now.seconds - 299)],
            ["nonce": .string(self.bench.nonce)],
        ]
        for changes in rows {
            let proof = self.bench.proof(changes)
            let lifetime = try #require(self.bench.judge(proof).accepted).lifetime
            #expect(lifetime > DPoPJudge.skew && lifetime <= .seconds(420))
            var later = self.bench
            later.now = Bench.now.advanced(by: lifetime - DPoPJudge.skew - .milliseconds(1))
            #expect(later.judge(proof).accepted != nil)
            later.now = later.now.advanced(by: .milliseconds(1))
            #expect(later.judge(proof).accepted == nil)
        }
    }

    // MARK: The cache

    @Test mutating func knowsAClientsKeyAgainAndJudgesTheRest() {
        self.bench.keys = DPoPKeyCache()
        #expect(self.bench.judge([:]).accepted != nil && self.bench.keys?.count == 1)
        let again = self.bench.judge([:])
        #expect(again.accepted?.thumbprint == self.bench.key.publicKey.thumbprint && self.bench.keys?.count == 1)
        #expect(self.bench.judge(["htm": "GET"]).fault == DPoPRefusal.method)
        let forged = Bench.forged(self.bench.proof())
        #expect(self.bench.judge(forged).fault == DPoPRefusal.signature)
        self.bench.demand.thumbprint = "another"
        #expect(self.bench.judge([:]).fault == DPoPRefusal.otherKey)
        #expect(throws: JOSEError("ES256 is not allowed"), "a known header is judged, too") {
            try SelfSignedToken(self.bench.proof(), allowing: [.edDSA]) { self.bench.keys?.head(of: $0) }
        }
    }

    @Test mutating func remembersOnlyKeysThatSigned() {
        self.bench.keys = DPoPKeyCache()
        let forged = Bench.forged(self.bench.proof())
        _ = self.bench.judge(forged)
        _ = self.bench.judge(["iat": 0])
        #expect(self.bench.keys?.count == 0)
    }

    @Test mutating func theCacheIsBoundedAndKeepsWhatIsUsed() throws {
        let keys = DPoPKeyCache(capacity: 8)
        func header(_ proof: [UInt8]) -> ArraySlice<UInt8> { proof.prefix { $0 != UInt8(ascii: ".") } }
        self.bench.keys = keys
        var first: [UInt8] = []
        for number in 0..<40 {
            #expect(number == 0 || keys.head(of: header(self.bench.proof())) != nil, "\(number): it is in use")
            #expect(self.bench.judge([:]).accepted != nil)
            var visitor = Bench(key: .generated(.edDSA))
            visitor.keys = keys
            let proof = visitor.proof()
            #expect(visitor.judge(proof).accepted != nil && keys.head(of: header(proof)) != nil)
            if number == 0 { first = proof }
            #expect(keys.count <= 8)
        }
        #expect(keys.head(of: header(first)) == nil, "it was not used for long")
    }
}
