import JOSE
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// With a maximal age of 600 s, a cool-down of 30 s, and a day in an outage.
@Suite struct JWKSetCacheTests {
    private let clock = MovableClock()
    private let first = SigningKey.generated(.es256)
    private let second = SigningKey.generated(.es256)
    private let third = SigningKey.generated(.es256)
    private let issuer: Issuer
    private let cache: JWKSetCache

    init() {
        let issuer = Issuer(self.first)
        self.issuer = issuer
        self.cache = JWKSetCache(clock: self.clock.clock) { try await issuer.answer() }
    }

    private func has(_ key: SigningKey) async -> Bool {
        let keyID = key.publicKey.keyID
        return await self.cache.keys(for: keyID)?.holds(keyID) ?? false
    }

    private func knows(_ key: SigningKey) -> Bool { self.cache.known(key.publicKey.keyID) != nil }

    @Test("F29: A set of keys is read once, however many wait for it")
    func readsOnceWhatManyWaitFor() async throws {
        self.issuer.hold()
        #expect(!self.knows(self.first))
        let found = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<64 { group.addTask { await self.has(self.first) } }
            try await waitUntil { self.issuer.waiting == 1 }
            self.issuer.release()
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(found == 64 && self.issuer.fetches == 1)
        #expect(self.knows(self.first) && self.cache.known(nil) != nil)
        #expect(self.issuer.fetches == 1)
    }

    @Test("F16: A new key is found by the first token that names it, and a withdrawn key is forgotten")
    func findsANewKeyAtOnce() async {
        #expect(await self.has(self.first))
        self.issuer.publish(self.second)
        #expect(await self.has(self.second))
        // Also one after the other, since only a fetch in vain counts.
        self.issuer.publish(self.third)
        #expect(await self.has(self.third))
        #expect(self.issuer.fetches == 3)
        #expect(!self.knows(self.first), "the issuer has withdrawn it")
    }

    @Test("F16: Unknown kids cost four fetches per cool-down at most, and leave nothing behind")
    func unknownKeysCostFewFetchesPerCoolDown() async {
        #expect(await self.has(self.first))
        for _ in 0..<3 {
            let before = self.issuer.fetches
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<200 {
                    group.addTask { _ = await self.cache.keys(for: "unknown \(index)") }
                }
            }
            for index in 0..<200 { #expect(await self.cache.keys(for: "later \(index)")?.keys.count == 1) }
            #expect(self.issuer.fetches == before + 4)
            self.clock.advance(by: .seconds(29))
            _ = await self.cache.keys(for: "early")
            #expect(self.issuer.fetches == before + 4)
            self.clock.advance(by: .seconds(1))
        }
        #expect(self.knows(self.first), "known keys are not affected")
    }

    @Test("A kid that is known for another algorithm only causes a fetch, within the same bounds")
    func findsAKeyThatIsAddedUnderAKnownKeyID() async throws {
        let kid = JSONValue.string("one")
        func named(_ key: SigningKey) -> JSONValue {
            key.publicKey.value.merged(with: ["kid": kid])
        }
        self.issuer.answer(with: JSONText.encode(["keys": [named(self.first)]]))
        let rsa = Keys.rs256
        let header = #"{"alg":"RS256","kid":"one"}"#
        let allowed: Set<JWSAlgorithm> = [.es256, .rs256]
        #expect(try await self.cache.verify(self.first.sign([], keyID: "one"), allowing: allowed) != nil)
        self.issuer.answer(with: JSONText.encode(["keys": [named(self.first), named(rsa)]]))
        #expect(try self.cache.verifyAtOnce(rsa.token(header: header), allowing: allowed) == nil)
        #expect(try await self.cache.verify(rsa.token(header: header), allowing: allowed) != nil)
        #expect(try await self.cache.verify(self.first.sign([], keyID: "one"), allowing: allowed) != nil)
        #expect(self.issuer.fetches == 2)
        for _ in 0..<20 {
            // At most four in this cool-down, of which the new key was one.
            await #expect(throws: JOSEError.self) {
                try await self.cache.verify(
                    SigningKey.generated(.edDSA).sign([], keyID: "one"),
                    allowing: JWSAlgorithm.asymmetric
                )
            }
        }
        #expect(self.issuer.fetches == 5)
    }

    @Test func aRotationDuringAFetchIsFoundByTheNext() async throws {
        #expect(await self.has(self.first))
        self.clock.advance(by: .seconds(500))
        self.issuer.hold()
        // Begins a fetch in the background, whose answer will not have the second key yet.
        #expect(self.knows(self.first))
        try await waitUntil { self.issuer.waiting == 1 }
        async let found = self.has(self.second)
        self.issuer.release()
        self.issuer.publish(self.first, self.second)
        #expect(await found)
    }

    @Test func readsAgainInTheBackgroundBeforeTheSetIsOld() async throws {
        #expect(await self.has(self.first))
        self.clock.advance(by: .seconds(479))
        #expect(self.knows(self.first))
        #expect(self.issuer.fetches == 1)
        self.issuer.publish(self.first, self.second)
        self.issuer.hold()
        self.clock.advance(by: .seconds(1))
        for _ in 0..<10 { #expect(self.knows(self.first) && self.cache.known(nil) != nil) }
        #expect(await self.has(self.first))
        try await waitUntil { self.issuer.waiting == 1 }
        self.issuer.release()
        try await waitUntil { self.knows(self.second) }
        #expect(self.issuer.fetches == 2)
    }

    @Test func anOldSetIsReadBeforeItIsUsed() async {
        #expect(await self.has(self.first))
        self.issuer.publish(self.second)
        self.clock.advance(by: .seconds(601))
        #expect(!self.knows(self.first))
        #expect(await !self.has(self.first), "the issuer has withdrawn it meanwhile")
        #expect(self.issuer.fetches == 2)
    }

    @Test func keepsTheLastGoodSetInAnOutage() async throws {
        #expect(await self.has(self.first))
        self.issuer.isDown(true)
        self.clock.advance(by: .seconds(601))
        #expect(await self.has(self.first))
        #expect(self.issuer.fetches == 2 && self.cache.failure != nil)
        // Now the outage is known: no request waits, and one fetch is tried per cool-down, also for unknown keys.
        for (pause, fetches) in [(0, 2), (29, 2), (1, 3), (29, 3), (1, 4), (600, 5)] {
            self.clock.advance(by: .seconds(pause))
            #expect(self.knows(self.first))
            try await waitUntil("\(fetches) fetches") { self.issuer.fetches == fetches }
            // The failure of the background is noted after its fetch.
            try? await Task.sleep(for: .milliseconds(20))
            for index in 0..<10 { #expect(await self.cache.keys(for: "unknown \(index)")?.keys.count == 1) }
            #expect(self.issuer.fetches == fetches)
        }
        self.issuer.isDown(false)
        self.issuer.publish(self.second)
        self.clock.advance(by: .seconds(30))
        #expect(self.knows(self.first))
        try await waitUntil { self.knows(self.second) && self.cache.failure == nil }
        #expect(!self.knows(self.first))
    }

    @Test func usesNoSetThatIsTooOld() async {
        #expect(await self.has(self.first))
        self.issuer.isDown(true)
        self.clock.advance(by: .seconds(86_400))
        #expect(await self.has(self.first))
        self.clock.advance(by: .seconds(1))
        #expect(!self.knows(self.first))
        #expect(await self.cache.keys(for: self.first.publicKey.keyID) == nil)
    }

    @Test func triesSoonAndThenLessOftenWhileThereIsNoSet() async {
        self.issuer.isDown(true)
        for (pause, fetches) in [
            (0, 1), (1, 2), (1, 2), (1, 3), (3, 3), (1, 4), (8, 5), (16, 6), (29, 6), (1, 7), (30, 8),
        ] {
            self.clock.advance(by: .seconds(pause))
            for _ in 0..<10 { #expect(await self.cache.keys(for: "any") == nil) }
            #expect(self.issuer.fetches == fetches)
        }
        #expect(self.cache.known(nil) == nil && self.cache.failure != nil)
        self.issuer.isDown(false)
        self.clock.advance(by: .seconds(30))
        #expect(await self.has(self.first))
        #expect(self.cache.failure == nil)
    }

    @Test(arguments: ["", "[]", "<html>", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"AAAA"}]}"#])
    func aBadDocumentDoesNotReplaceAGoodSet(_ document: String) async {
        #expect(await self.has(self.first))
        self.issuer.answer(with: bytes(document))
        self.clock.advance(by: .seconds(601))
        #expect(await self.has(self.first))
        #expect(self.issuer.fetches == 2 && self.cache.failure != nil)
    }

    @Test func aCancelledCallerDoesNotEndTheFetchOfOthers() async throws {
        self.issuer.hold()
        let impatient = Task { await self.has(self.first) }
        try await waitUntil { self.issuer.waiting == 1 }
        async let patient = self.has(self.first)
        impatient.cancel()
        self.issuer.release()
        #expect(await patient)
        #expect(self.issuer.fetches == 1)
    }

    // MARK: Verification

    @Test func verifiesAcrossARotation() async throws {
        #expect(try await self.cache.verify(self.first.sign(bytes("1")), allowing: [.es256])?.payload == bytes("1"))
        self.issuer.publish(self.second)
        #expect(try await self.cache.verify(self.second.sign(bytes("2")), allowing: [.es256])?.payload == bytes("2"))
        await #expect(throws: JOSEError.self) {
            try await self.cache.verify(self.first.sign([]), allowing: [.es256])
        }
    }

    /// Issuers with one key may name it neither in the set nor in tokens.
    @Test func verifiesAcrossARotationWithoutKeyIDs() async throws {
        let header = #"{"alg":"ES256"}"#
        #expect(try await self.cache.verify(self.first.token(header: header), allowing: [.es256]) != nil)
        self.issuer.publish(self.second)
        #expect(try await self.cache.verify(self.second.token(header: header), allowing: [.es256]) != nil)
        #expect(self.issuer.fetches == 2)
        for _ in 0..<5 {
            await #expect(throws: JOSEError.self) {
                try await self.cache.verify(self.third.token(header: header), allowing: [.es256])
            }
        }
        #expect(self.issuer.fetches == 5)
    }

    private func publish(_ key: SigningKey, as keyID: String) {
        let value = key.publicKey.value.merged(with: ["kid": .string(keyID)])
        self.issuer.answer(with: JSONText.encode(["keys": [value]]))
    }

    /// How a token of this key, under this `kid`, is judged: nil: it is good.
    private func objection(to key: SigningKey, as keyID: String) async -> JOSEError.Kind? {
        do throws(JOSEError) {
            let token = key.token(header: #"{"alg":"ES256","kid":"\#(keyID)"}"#)
            return try await self.cache.verify(token, allowing: [.es256]) == nil ? .keyFetchDenied : nil
        } catch {
            return error.kind
        }
    }

    @Test("A key that takes the kid of the former one is found by its first token, whatever strangers sent before")
    func verifiesAcrossARotationUnderOneKeyID() async throws {
        self.publish(self.first, as: "one")
        #expect(await self.objection(to: self.first, as: "one") == nil)
        #expect(await self.objection(to: self.third, as: "one") == .signature)
        self.publish(self.second, as: "one")
        #expect(await self.objection(to: self.second, as: "one") == nil)
        #expect(await self.objection(to: self.first, as: "one") == .signature, "it is withdrawn")
        #expect(self.issuer.fetches == 4)
    }

    @Test(
        "Tokens by no key of the issuer cause no fetch each, under a known kid and an unknown one, and no verdict then"
    )
    func strangersCauseFewFetches() async throws {
        self.publish(self.first, as: "one")
        #expect(await self.objection(to: self.first, as: "one") == nil)
        for index in 0..<3 {
            #expect(await self.objection(to: self.third, as: "k\(index)") == .unknownKey)
        }
        #expect(await self.objection(to: self.third, as: "one") == .signature)
        #expect(self.issuer.fetches == 5)
        self.publish(self.second, as: "two")
        for keyID in ["one", "two", "k0"] {
            #expect(await self.objection(to: self.second, as: keyID) == .keyFetchDenied, "\(keyID)")
        }
        let token = self.third.token(header: #"{"alg":"ES256","kid":"one"}"#)
        #expect(throws: JOSEError.self, "at once") { try self.cache.verifyAtOnce(token, allowing: [.es256]) }
        #expect(await self.objection(to: self.first, as: "one") == nil, "known keys are not affected")
        #expect(self.issuer.fetches == 5)
        self.clock.advance(by: .seconds(30))
        #expect(await self.objection(to: self.second, as: "two") == nil)
        #expect(self.issuer.fetches == 6)
    }

    @Test("A key that the issuer publishes in a form that cannot be used is named with its fault")
    func namesFaultsOfKeys() async throws {
        let bad = self.first.publicKey.value.merged(with: ["kid": "bad", "use": ""])
        self.issuer.answer(with: JSONText.encode(["keys": [bad]]))
        #expect(await self.objection(to: self.first, as: "bad") == .keyFetchDenied, "there is no set")
        #expect(self.cache.failure?.contains(#"key 1 (kid "bad"): use is not sig"#) == true)
        let unnamed = self.second.publicKey.value.merged(with: ["kid": .null])
        self.issuer.answer(with: JSONText.encode(["keys": [bad, unnamed]]))
        self.clock.advance(by: .seconds(30))
        let token = self.first.token(header: #"{"alg":"ES256","kid":"bad"}"#)
        await #expect {
            try await self.cache.verify(token, allowing: [.es256])
        } throws: { error in
            let detail = (error as? JOSEError)?.detail ?? ""
            return detail.contains(#"key 1 (kid "bad"): use is not sig"#) && detail.contains("1 key has no kid")
        }
        self.issuer.answer(with: JSONText.encode(["keys": .array([JSONValue](repeating: bad, count: 9))]))
        self.clock.advance(by: .seconds(601))
        #expect(await self.objection(to: self.second, as: "bad") != nil)
        #expect(self.cache.failure?.hasSuffix("and 6 more") == true)
    }

    @Test func verifiesAtOnceWhatItCan() async throws {
        let token = self.first.sign(bytes("1"))
        #expect(try self.cache.verifyAtOnce(token, allowing: [.es256]) == nil && self.issuer.fetches == 0)
        #expect(await self.has(self.first))
        #expect(try self.cache.verifyAtOnce(token, allowing: [.es256])?.payload == bytes("1"))
        // Without four characters, one of sixteen signatures would still be base64url.
        #expect(throws: JOSEError.self) { try self.cache.verifyAtOnce(token.dropLast(5), allowing: [.es256]) }
        #expect(throws: JOSEError.self) { try self.cache.verifyAtOnce(token, allowing: [.rs256]) }
        // The key of these may be new.
        let replaced = self.second.token(header: #"{"alg":"ES256","kid":"\#(self.first.publicKey.keyID ?? "")"}"#)
        #expect(try self.cache.verifyAtOnce(replaced, allowing: [.es256]) == nil)
        #expect(try self.cache.verifyAtOnce(self.second.sign([]), allowing: [.es256]) == nil)
        let unnamed = self.second.token(header: #"{"alg":"ES256"}"#)
        #expect(try self.cache.verifyAtOnce(unnamed, allowing: [.es256]) == nil)
        #expect(self.issuer.fetches == 1)
    }

    @Test func fetchesNothingForATokenThatIsRefusedAnyway() async {
        for token in [self.first.sign([]), bytes("a.b.c"), self.first.token(header: #"{"alg":"none"}"#)] {
            await #expect(throws: JOSEError.self) { try await self.cache.verify(token, allowing: [.rs256]) }
        }
        #expect(self.issuer.fetches == 0)
    }

    @Test func saysThatItCannotVerifyInAnOutage() async throws {
        self.issuer.isDown(true)
        #expect(try await self.cache.verify(self.first.sign([]), allowing: [.es256]) == nil)
        self.issuer.isDown(false)
        self.clock.advance(by: .seconds(30))
        #expect(try await self.cache.verify(self.first.sign([]), allowing: [.es256]) != nil)
        // The issuer signs with a new key, and cannot be asked for it.
        self.issuer.isDown(true)
        self.issuer.publish(self.second)
        for _ in 0..<2 {
            #expect(try await self.cache.verify(self.second.sign([]), allowing: [.es256]) == nil)
            #expect(try await self.cache.verify(self.first.sign([]), allowing: [.es256]) != nil)
        }
        await #expect(throws: JOSEError.self) {
            try await self.cache.verify(self.first.sign([]).dropLast(5), allowing: [.es256])
        }
        #expect(self.issuer.fetches == 3)
        self.issuer.isDown(false)
        self.clock.advance(by: .seconds(30))
        #expect(try await self.cache.verify(self.second.sign([]), allowing: [.es256]) != nil)
        // Now the set is fresh, and names all keys that there are.
        await #expect(throws: JOSEError.self) {
            try await self.cache.verify(self.third.sign([]), allowing: [.es256])
        }
    }
}
