import Calls
import JOSE
import Providers
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("Refreshing, revoking and signing out at an OpenID provider")
struct OpenIDRefreshTests {
    private static let subject = OpenIDProviderBench.subject

    /// A bench with a user who has signed in.
    private func signedIn(
        metadata: [String: JSONValue] = [:],
        claims: [String: JSONValue] = [:],
        change: (inout OpenIDSettings) -> Void = { _ in }
    ) async throws -> (OpenIDProviderBench, ProviderTokenSet) {
        let bench = try OpenIDProviderBench(metadata: metadata, change: change)
        let completion = try await bench.signIn(claims: claims)
        return (bench, try #require(completion.evidence?.tokens, "\(completion)"))
    }

    private func refreshed(_ bench: OpenIDProviderBench, _ tokens: ProviderTokenSet) async -> (
        ProviderTokenSet, Authentication?
    )? {
        let answer = await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:]))
        guard case .refreshed(let new, let user) = answer else {
            Issue.record("\(answer)")
            return nil
        }
        return (new, user)
    }

    @Test("The refresh token is sent once, in the client's name; the new tokens and claims come back")
    func refresh() async throws {
        let (bench, tokens) = try await self.signedIn()
        let token = bench.idToken(bench.claims(nonce: nil, ["email": "new@example.com"]))
        let sent = bench.transport.calls(of: OpenIDProviderBench.tokenURL).count
        bench.transport.on(
            OpenIDProviderBench.tokenURL,
            .json(
                OpenIDProviderBench.tokens(idToken: token, ["access_token": "access-2", "refresh_token": "refresh-2"])
            )
        )
        let (new, user) = try #require(await self.refreshed(bench, tokens))
        #expect(new.accessToken == Secret("access-2") && new.refreshToken == Secret("refresh-2"))
        #expect(new.idToken == Secret(token) && new.scopes == tokens.scopes)
        #expect(user?.identity.traits == ["email": "new@example.com"] && user?.identity.id == Self.subject)
        let calls = bench.transport.calls(of: OpenIDProviderBench.tokenURL).dropFirst(sent)
        let call = try #require(calls.first)
        #expect(calls.count == 1 && call.form == ["grant_type": "refresh_token", "refresh_token": "refresh-1"])
        #expect(call.field("authorization")?.hasPrefix("Basic ") == true)
    }

    @Test("What an answer leaves out stays: the refresh token, the id_token, the scopes")
    func partial() async throws {
        let (bench, tokens) = try await self.signedIn(metadata: ["userinfo_endpoint": .null])
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(["access_token": "access-2"]))
        let (new, user) = try #require(await self.refreshed(bench, tokens))
        #expect(new.accessToken == Secret("access-2") && new.refreshToken == tokens.refreshToken)
        #expect(new.idToken == tokens.idToken && new.scopes == tokens.scopes && new.expiresAt == nil)
        #expect(user == nil)
    }

    @Test("Each answer means what RFC 6749 says, and no fault of the gateway or outage ends a session")
    func outcomes() async throws {
        let (bench, tokens) = try await self.signedIn()
        enum Kind: Equatable { case ended, later(Duration?), ambiguous, refreshed }
        func kind(_ refresh: ProviderRefresh) -> Kind {
            switch refresh {
            case .refreshed, .refreshedInPart: .refreshed
            case .ended: .ended
            case .later(let pause, _): .later(pause)
            case .ambiguous: .ambiguous
            }
        }
        let cases: [(CallAnswer, Kind)] = [
            (.json(["error": "invalid_grant"], status: 400), .ended),
            (.json(["error": "invalid_grant"], status: 403), .ended),
            (.json(["error": "invalid_client"], status: 401), .later(nil)),
            (.json(["error": "unauthorized_client"], status: 400), .later(nil)),
            (.json(["error": "invalid_request"], status: 400), .later(nil)),
            (.json(["error": "temporarily_unavailable"], status: 400), .later(nil)),
            (CallAnswer(status: 400), .later(nil)), (CallAnswer(status: 404), .later(nil)),
            (CallAnswer(status: 302, fields: [("location", "https://evil.example.com")]), .later(nil)),
            (CallAnswer(status: 429, fields: [("retry-after", "7")]), .later(.seconds(7))),
            (CallAnswer(status: 503, fields: [("retry-after", "99999999999999999999")]), .later(.seconds(3600))),
            (CallAnswer(status: 503, fields: [("retry-after", "soon")]), .later(nil)),
            (CallAnswer(status: 500), .later(nil)),
            (.json(["error": "invalid_grant"], status: 500), .later(nil)),
            (CallAnswer(status: 200), .later(nil)), (.json([1]), .later(nil)), (.json(.null), .later(nil)),
            (CallAnswer(status: 200, body: Array("<html>{}".utf8)), .later(nil)),
            (CallAnswer(status: 200, body: Array(" \n<!DOCTYPE html>".utf8)), .later(nil)),
            (
                CallAnswer(status: 200, fields: [("retry-after", "7")], body: Array("We are back soon".utf8)),
                .later(.seconds(7))
            ),
            (.json(["error": "invalid_grant"]), .ended), (.json(["error": "server_error"]), .later(nil)),
            (CallAnswer(status: 200, body: Array("{".utf8)), .ambiguous),
            (CallAnswer(status: 200, body: Array(#" {"access_token":"a","expi"#.utf8)), .ambiguous),
            (.json(["token_type": "Bearer"]), .ambiguous),
        ]
        for (answer, expected) in cases {
            bench.transport.on(OpenIDProviderBench.tokenURL, answer)
            #expect(
                kind(await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:]))) == expected,
                "\(answer)"
            )
        }
        for (isUnsent, expected) in [(true, Kind.later(nil)), (false, .ambiguous)] {
            bench.transport.on(
                OpenIDProviderBench.tokenURL,
                failing: CallError(isUnsent: isUnsent, detail: "away")
            )
            #expect(kind(await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:]))) == expected)
        }
        var none = tokens
        none.refreshToken = nil
        #expect(kind(await bench.provider.refresh(none, of: Identity(id: Self.subject, traits: [:]))) == .later(nil))
    }

    enum Refusal: CaseIterable, Sendable { case believed, neverAccepted, endlessToken, issuerAway, onlyOnce }

    @Test(
        "Userinfo's refusal of an access token is the end only if it can mean nothing else",
        arguments: Refusal.allCases
    )
    func refusedByUserInfo(_ refusal: Refusal) async throws {
        let (bench, kept) = try await self.signedIn()
        var tokens = kept
        tokens.refreshToken = nil
        if refusal == .endlessToken { tokens.expiresAt = nil }
        let document: JSONValue = ["sub": .string(Self.subject), "email": "new@example.com"]
        if refusal != .neverAccepted {
            bench.transport.on(OpenIDProviderBench.userinfoURL, .json(document))
            let (same, user) = try #require(await self.refreshed(bench, tokens))
            #expect(same == tokens && user?.identity.traits == ["email": "new@example.com"])
        }
        var answers = [CallAnswer(status: 401)]
        if refusal == .onlyOnce { answers.append(.json(document)) }
        bench.transport.on(OpenIDProviderBench.userinfoURL, answers)
        if refusal == .issuerAway { bench.transport.on(OpenIDProviderBench.metadataURL, CallAnswer(status: 503)) }
        let answer = await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:]))
        switch (answer, refusal) {
        case (.ended, .believed), (.refreshed, .onlyOnce): break
        case (.later, .neverAccepted), (.later, .endlessToken), (.later, .issuerAway): break
        default: Issue.record("\(refusal): \(answer)")
        }
    }

    @Test("An answer for another user or client is the end")
    func foreign() async throws {
        let (bench, tokens) = try await self.signedIn()
        for change: [String: JSONValue] in [
            ["sub": "user-2"], ["iss": "https://evil.example.com"], ["aud": "other"], ["azp": "other"],
            ["sub": "user-1\u{301}"],
        ] {
            let token = bench.idToken(bench.claims(nonce: nil, change))
            bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: token)))
            guard case .ended = await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:])) else {
                Issue.record("\(change)")
                continue
            }
        }
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: nil)))
        bench.transport.on(OpenIDProviderBench.userinfoURL, .json(["sub": "user-2", "email": "eve@example.com"]))
        guard case .ended = await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:])) else {
            Issue.record("userinfo of another user")
            return
        }
    }

    @Test("An id_token that cannot be relied on changes nothing but the tokens")
    func unreliable() async throws {
        let (bench, tokens) = try await self.signedIn(metadata: ["userinfo_endpoint": .null])
        let forged = bench.idToken(bench.claims(nonce: nil, ["sub": "user-2"]), by: SigningKey.generated(.es256))
        let old = bench.idToken(bench.claims(nonce: nil, ["exp": 1]))
        for text in [forged, old, "garbage"] {
            bench.transport.on(
                OpenIDProviderBench.tokenURL,
                .json(OpenIDProviderBench.tokens(idToken: text, ["access_token": "access-2"]))
            )
            let (new, user) = try #require(await self.refreshed(bench, tokens))
            #expect(new.accessToken == Secret("access-2") && new.idToken == tokens.idToken && user == nil)
        }
    }

    @Test("Claims that the id_token lacks come from userinfo; while it is away, the user stays as they were")
    func userinfo() async throws {
        let (bench, tokens) = try await self.signedIn()
        let token = bench.idToken(bench.claims(nonce: nil, ["email": .null]))
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: token)))
        let (new, user) = try #require(await self.refreshed(bench, tokens))
        #expect(user == nil && new.idToken == Secret(token))
        bench.transport.on(
            OpenIDProviderBench.userinfoURL,
            .json(["sub": .string(Self.subject), "email": "new@example.com"])
        )
        #expect(await self.refreshed(bench, tokens)?.1?.identity.traits == ["email": "new@example.com"])
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: nil)))
        #expect(await self.refreshed(bench, tokens)?.1?.identity.traits == ["email": "new@example.com"])
    }

    @Test(
        "Without an id_token that counts, what the former one said stays where userinfo is silent, and no session ends"
    )
    func withoutIDToken() async throws {
        let (bench, tokens) = try await self.signedIn(claims: ["groups": ["staff"]]) { $0.allow.groups = ["staff"] }
        let key = SigningKey.generated(.es256)
        let answers = [
            nil, bench.idToken(bench.claims(nonce: nil, ["groups": ["other"]]), by: key),
            bench.idToken(bench.claims(nonce: nil, ["exp": 1, "groups": ["other"]])),
        ]
        let cases: [([String: JSONValue], String)] = [
            ([:], "jane@example.com"), (["email": "new@example.com"], "new@example.com"),
        ]
        for (userinfo, email) in cases {
            let document: [String: JSONValue] = ["sub": .string(Self.subject)].merging(userinfo) { $1 }
            bench.transport.on(OpenIDProviderBench.userinfoURL, .json(.object(document)))
            for idToken in answers {
                bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: idToken)))
                let (new, user) = try #require(await self.refreshed(bench, tokens), "\(idToken ?? "none")")
                #expect(new.idToken == tokens.idToken)
                #expect(user?.identity.traits == ["email": .string(email)])
            }
        }
        // What userinfo says counts.
        bench.transport.on(OpenIDProviderBench.userinfoURL, .json(["sub": .string(Self.subject), "groups": ["other"]]))
        guard case .ended = await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:])) else {
            Issue.record("a user who may not sign in any more")
            return
        }
    }

    @Test("How and when the user authenticated stays that of the sign-in, unless the new id_token says it")
    func authentication() async throws {
        let levels: (inout OpenIDSettings) -> Void = {
            $0.claims.levels = [
                ClaimSettings.Level(claim: .acr, value: "phr", level: .aal2),
                ClaimSettings.Level(claim: .acr, value: "phrh", level: .aal3),
            ]
        }
        let (bench, tokens) = try await self.signedIn(
            claims: ["acr": "phr", "amr": ["otp"], "auth_time": 1_799_000_000],
            change: levels
        )
        for (changes, level) in [([:], AssuranceLevel.aal2), (["acr": JSONValue.string("phrh")], .aal3)] {
            let token = bench.idToken(bench.claims(nonce: nil, changes))
            bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: token)))
            let user = try #require(await self.refreshed(bench, tokens)?.1)
            #expect(user.aal == level && user.methods == ["otp"])
            #expect(user.authenticatedAt == UnixTime(seconds: 1_799_000_000))
        }
    }

    @Test("A user who may not sign in any more is signed out")
    func notAllowed() async throws {
        let (bench, tokens) = try await self.signedIn(claims: ["groups": ["staff"]]) { $0.allow.groups = ["staff"] }
        for (groups, isEnd) in [(JSONValue.array(["staff"]), false), (["other"], true)] {
            let token = bench.idToken(bench.claims(nonce: nil, ["groups": groups]))
            bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: token)))
            let answer = await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:]))
            if case .ended = answer { #expect(isEnd) } else { #expect(!isEnd) }
        }
    }

    @Test("The key of the tokens signs the refresh, and stays")
    func boundTokens() async throws {
        let bench = try OpenIDProviderBench { $0.usesDPoP = true }
        let bound: [String: JSONValue] = ["token_type": "DPoP"]
        let tokens = try #require(try await bench.signIn(tokens: bound).evidence?.tokens)
        let (new, _) = try #require(await self.refreshed(bench, tokens))
        #expect(new.dpopKey == tokens.dpopKey && new.tokenType == "DPoP")
        #expect(bench.transport.calls(of: OpenIDProviderBench.tokenURL).last?.field("dpop") != nil)
        var broken = tokens
        broken.dpopKey = Secret("no key")
        guard case .ended = await bench.provider.refresh(broken, of: Identity(id: Self.subject, traits: [:])) else {
            Issue.record("tokens without their key are of no use")
            return
        }
    }

    @Test("Before the issuer is known nothing is sent")
    func unknownIssuer() async throws {
        let bench = try OpenIDProviderBench()
        let tokens = ProviderTokenSet(accessToken: Secret("a"), refreshToken: Secret("b"))
        guard case .later = await bench.provider.refresh(tokens, of: Identity(id: Self.subject, traits: [:])) else {
            Issue.record("a refresh without metadata")
            return
        }
        #expect(bench.transport.calls(of: OpenIDProviderBench.tokenURL).isEmpty)
    }

    @Test("The refresh token is revoked, or the access token; where there is no endpoint, nothing is sent")
    func revocation() async throws {
        let (bench, tokens) = try await self.signedIn()
        await bench.provider.revoke(tokens)
        var bare = tokens
        bare.refreshToken = nil
        await bench.provider.revoke(bare)
        let forms = bench.transport.calls(of: OpenIDProviderBench.revocationURL).map(\.form)
        #expect(
            forms == [
                ["token": "refresh-1", "token_type_hint": "refresh_token"],
                ["token": "access-1", "token_type_hint": "access_token"],
            ]
        )
        let (other, kept) = try await self.signedIn(metadata: ["revocation_endpoint": .null])
        let before = other.transport.calls.count
        await other.provider.revoke(kept)
        #expect(other.transport.calls.count == before)
    }

    @Test("The sign-out URL names the client, the session and the way back")
    func signOut() async throws {
        let bench = try OpenIDProviderBench(metadata: [
            "end_session_endpoint": .string(OpenIDProviderBench.endSessionURL + "?a=b")
        ])
        func url(_ idToken: Secret?, _ state: String?) async throws -> [String: String] {
            let text = try #require(
                await bench.provider.signOutURL(
                    idToken: idToken,
                    returnTo: "https://app.example.com/?x=1&y",
                    state: state
                )
            )
            #expect(text.hasPrefix(OpenIDProviderBench.endSessionURL + "?a=b&"))
            let pairs = try #require(FormText.strictPairs((text.split(separator: "?", maxSplits: 1).last ?? "").utf8))
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        let all = try await url(Secret("id-token"), "s-1")
        #expect(
            all == [
                "a": "b", "id_token_hint": "id-token", "client_id": OpenIDProviderBench.clientID,
                "post_logout_redirect_uri": "https://app.example.com/?x=1&y", "state": "s-1",
            ]
        )
        let long = try await url(Secret(String(repeating: "a", count: 4097)), nil)
        #expect(long["id_token_hint"] == nil && long["state"] == nil && long["client_id"] != nil)
        let without = try OpenIDProviderBench(metadata: ["end_session_endpoint": .null])
        #expect(await without.provider.signOutURL(idToken: nil, returnTo: "https://app.example.com", state: nil) == nil)
    }
}
