import Calls
import Providers
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("An issuer's metadata")
struct ProviderMetadataTests {
    private func metadata(
        _ value: JSONValue,
        of issuer: String = OpenIDProviderBench.issuer
    ) throws -> Result<ProviderMetadata, MetadataError> {
        let issuer = try EndpointURL(issuer)
        do throws(MetadataError) {
            return .success(try ProviderMetadata(JSONText.encode(value), of: issuer))
        } catch {
            return .failure(error)
        }
    }

    @Test("Endpoints and abilities are read")
    func read() throws {
        let document = OpenIDProviderBench.metadata([
            "authorization_response_iss_parameter_supported": true,
            "introspection_endpoint": "https://other.example.com/introspect", "end_session_endpoint": .null,
            "code_challenge_methods_supported": ["plain", "S256"],
            "id_token_signing_alg_values_supported": ["RS256", 1],
            "token_endpoint_auth_methods_supported": ["private_key_jwt"],
        ])
        let metadata = try self.metadata(document).get()
        #expect(metadata.authorizationEndpoint.text == OpenIDProviderBench.authorizationURL)
        #expect(
            metadata.tokenEndpoint.text == OpenIDProviderBench.tokenURL
                && metadata.keySetURL.text == OpenIDProviderBench.keysURL
        )
        #expect(metadata.introspectionEndpoint?.text == "https://other.example.com/introspect")
        #expect(metadata.endSessionEndpoint == nil && metadata.announcesIssuer)
        #expect(metadata.challengeMethods == ["plain", "S256"] && metadata.signingAlgorithms == ["RS256"])
        #expect(metadata.clientAuthentications == ["private_key_jwt"])
    }

    @Test("The document is below the issuer, whether it ends with a slash or not")
    func location() throws {
        for (issuer, location) in [
            ("https://a.example", "https://a.example/.well-known/openid-configuration"),
            ("https://a.example/", "https://a.example/.well-known/openid-configuration"),
            ("https://a.example/b", "https://a.example/b/.well-known/openid-configuration"),
        ] {
            #expect(ProviderMetadata.location(of: try EndpointURL(issuer)) == location)
        }
    }

    private static let faults: [(changes: [String: JSONValue], words: String)] = [
        (["issuer": .string(OpenIDProviderBench.issuer + "/")], "slash at the end counts"),
        (["issuer": "https://evil.example.com"], "must be identical"), (["issuer": .null], "issuer is missing"),
        (["issuer": "a\nb"], "issuer"), (["token_endpoint": .null], "token_endpoint is missing"),
        (["authorization_endpoint": .null], "authorization_endpoint is missing"), (["jwks_uri": .null], "jwks_uri"),
        (["jwks_uri": "http://idp.example.com/keys"], "jwks_uri"), (["jwks_uri": "http://127.0.0.1/keys"], "jwks_uri"),
        (["token_endpoint": 1], "token_endpoint"), (["jwks_uri": ""], "jwks_uri"),
        (["authorization_endpoint": "/authorize"], "authorization_endpoint"),
        (["token_endpoint": "https://a@b/"], "token_endpoint"),
    ]

    @Test(
        "A document of another issuer, or with an endpoint that cannot be used, is refused by name",
        arguments: Self.faults
    )
    func refused(_ fault: (changes: [String: JSONValue], words: String)) throws {
        guard case .failure(let error) = try self.metadata(OpenIDProviderBench.metadata(fault.changes)) else {
            Issue.record("accepted")
            return
        }
        #expect(error.description.contains(fault.words) && !error.description.contains("\n"), "\(error)")
    }

    private static let optional = [
        "userinfo_endpoint", "end_session_endpoint", "revocation_endpoint", "introspection_endpoint",
    ]
    private static let unusable: [JSONValue] = [
        "", " ", "/logout", "logout", "//idp.example.com/logout", "http://idp.example.com/logout",
        "http://127.0.0.1/logout", "file:///etc/passwd", "javascript:alert(1)", "https://",
        "https://a@idp.example.com/",
        "https://idp.example.com/a b", "https://idp.example.com/\n", 1, true, [], ["https://idp.example.com/logout"],
        ["url": "https://idp.example.com/logout"], "urn:x",
    ]

    @Test("An optional endpoint that cannot be used counts as not named, and is told by name", arguments: Self.optional)
    func unusable(_ name: String) throws {
        func endpoints(_ metadata: ProviderMetadata) -> [EndpointURL?] {
            [
                metadata.userinfoEndpoint, metadata.endSessionEndpoint, metadata.revocationEndpoint,
                metadata.introspectionEndpoint,
            ]
        }
        let good: [String: JSONValue] = ["introspection_endpoint": "https://idp.example.com/introspect"]
        let all = endpoints(try self.metadata(OpenIDProviderBench.metadata(good)).get())
        for value in Self.unusable {
            let metadata = try self.metadata(OpenIDProviderBench.metadata(good.merging([name: value]) { $1 })).get()
            #expect(
                metadata.faults.count == 1 && metadata.faults[0].hasPrefix("\(name) "),
                "\(value): \(metadata.faults)"
            )
            #expect(metadata.faults.allSatisfy { !$0.contains("\n") })
            var expected = all
            expected[try #require(Self.optional.firstIndex(of: name))] = nil
            #expect(endpoints(metadata) == expected, "\(value)")
        }
        let faulty = Dictionary(uniqueKeysWithValues: Self.optional.map { ($0, JSONValue.string("")) })
        let metadata = try self.metadata(OpenIDProviderBench.metadata(faulty)).get()
        #expect(metadata.faults.count == 4 && endpoints(metadata).allSatisfy { $0 == nil })
    }

    @Test("An issuer on loopback may name endpoints in http there")
    func loopback() throws {
        let base = "http://127.0.0.1:8080"
        let document: JSONValue = [
            "issuer": .string(base), "authorization_endpoint": .string(base + "/a"),
            "token_endpoint": .string(base + "/t"),
            "jwks_uri": .string(base + "/k"),
        ]
        #expect(try self.metadata(document, of: base).get().userinfoEndpoint == nil)
    }

    @Test("What is no JSON object, or repeats a member, is refused")
    func syntax() throws {
        let issuer = try EndpointURL(OpenIDProviderBench.issuer)
        for text in ["", "<html>", "[]", "null", #"{"issuer":"a","issuer":"a"}"#] {
            #expect(throws: MetadataError.self) { try ProviderMetadata(Array(text.utf8), of: issuer) }
        }
    }
}

@Suite("Keeping an issuer's metadata")
struct MetadataCacheTests {
    private let transport = ScriptedTransport()
    private let clock = MovableClock()

    private func cache() throws -> MetadataCache {
        MetadataCache(
            issuer: try EndpointURL(OpenIDProviderBench.issuer),
            transport: self.transport,
            clock: self.clock.clock
        )
    }

    private var asked: Int { self.transport.calls.count }

    private func answer(_ changes: [String: JSONValue] = [:]) {
        self.transport.on(OpenIDProviderBench.metadataURL, .json(OpenIDProviderBench.metadata(changes)))
    }

    @Test("It is asked for once, however many wait for it")
    func singleFlight() async throws {
        self.answer()
        self.transport.hold()
        let cache = try self.cache()
        let waiting = (0..<50).map { _ in Task { await cache.current() } }
        try await waitUntil("a call") { self.asked > 0 }
        #expect(cache.known == nil)
        self.transport.release()
        for task in waiting { #expect(await task.value != nil) }
        #expect(self.asked == 1 && cache.known != nil)
        _ = await cache.current()
        #expect(self.asked == 1)
    }

    @Test(
        "After failures the pauses grow to a minute; after a success it is asked every hour, and the last good is kept"
    )
    func schedule() async throws {
        let cache = try self.cache()
        self.transport.on(
            OpenIDProviderBench.metadataURL,
            failing: CallError(isUnsent: true, detail: "refused")
        )
        for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            let before = self.asked
            #expect(await cache.current() == nil)
            #expect(self.asked == before + 1 && cache.failure?.description == "refused")
            self.clock.advance(by: .seconds(pause) - .milliseconds(1))
            #expect(await cache.current() == nil)
            #expect(self.asked == before + 1)
            self.clock.advance(by: .milliseconds(1))
        }
        // A clock that is set back makes no pause longer.
        _ = await cache.current()
        self.clock.advance(by: .zero - .seconds(86_400))
        self.answer()
        #expect(await cache.current() != nil)
        #expect(cache.failure == nil)
    }

    @Test("In the background it is fetched at the start and again; an outage leaves what was good last")
    func background() async throws {
        self.answer()
        let cache = try self.cache()
        cache.start()
        try await waitUntil("metadata") { cache.known != nil }
        #expect(self.asked == 1)
        self.transport.on(OpenIDProviderBench.metadataURL, CallAnswer(status: 500))
        self.clock.advance(by: .seconds(3600))
        #expect(await cache.refreshIfDue() == cache.known)
        #expect(self.asked == 2 && cache.known != nil && cache.failure != nil)
        self.answer(["token_endpoint": "https://new.example.com/token"])
        self.clock.advance(by: .seconds(1))
        #expect(await cache.refreshIfDue()?.tokenEndpoint.text == "https://new.example.com/token")
        // Of another issuer: what was good last stays.
        self.answer(["issuer": "https://evil.example.com"])
        self.clock.advance(by: .seconds(3600))
        #expect(await cache.refreshIfDue()?.tokenEndpoint.text == "https://new.example.com/token")
    }

    @Test("It asks no more once it is released")
    func released() async throws {
        self.answer()
        weak var released: MetadataCache?
        do {
            let cache = try self.cache()
            released = cache
            cache.start()
            try await waitUntil("metadata") { cache.known != nil }
        }
        try await waitUntil("its release") { released == nil }
        #expect(self.asked == 1)
    }
}
