import AddressIntelligence
import Cryptography
import Endpoints
import Foundation
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

@Suite("exchange for access tokens, revocation, introspection")
struct TokenStateTests {
    private static let server = ("authorization", "Basic " + "server app:s3cr%t+:ü".base64)

    private func exchange(_ bench: TokenBench, _ subject: String, _ change: [String: String?] = [:]) async -> Answer {
        var parameters = bench.parameters(subject)
        parameters["audience"] = TokenBench.api
        for (name, value) in change { parameters[name] = value }
        return await bench.form(parameters)
    }

    // MARK: RFC 8693

    @Test("a session token gives an access token for an API, which ends with the session")
    func exchange() async throws {
        let bench = TokenBench()
        let session = try await bench.signIn()
        let answer = await self.exchange(bench, session, ["scope": "orders:read"])
        #expect(answer.status == 200)
        #expect(answer.text("access_token").hasPrefix("spa_"))
        #expect(answer.text("issued_token_type") == "urn:ietf:params:oauth:token-type:access_token")
        #expect(answer.text("token_type") == "Bearer")
        #expect(answer.text("scope") == "orders:read")
        #expect(answer.body["refresh_token"] == nil)
        let key = try #require(bench.authority.key(.session, of: Array(session.utf8)))
        try await bench.store.end(key.lineage, on: bench.loop).get()
        #expect(try await !bench.lives(answer.text("access_token")))
        #expect(await self.exchange(bench, session).reason == .sessionUnknown)
    }

    @Test(
        "an answer without granted scopes says so: without scope it would be the one that was asked for (RFC 6749 5.1)"
    )
    func noScope() async throws {
        let bench = TokenBench()
        let answer = await self.exchange(bench, try await bench.signIn(), ["scope": "other"])
        #expect(answer.status == 200 && answer.body["scope"] == "")
    }

    @Test("an access token gives a session-transfer token and no other access token")
    func exchangeOfAccessToken() async throws {
        let bench = TokenBench()
        let access = await self.exchange(bench, try await bench.signIn()).text("access_token")
        let type = ["subject_token_type": "urn:ietf:params:oauth:token-type:access_token"]
        #expect(await self.exchange(bench, access, type).error == "invalid_grant")
        let target = type.merging(["audience": "urn:auth.example.com:session_transfer"]) { $1 }
        #expect(await self.exchange(bench, access, target).text("access_token").hasPrefix("spt_"))
    }

    @Test("unknown audiences and contradictions are invalid_target; resource is read as audience")
    func targets() async throws {
        let bench = TokenBench()
        let session = try await bench.signIn()
        for change in [
            ["audience": "https://other"], ["resource": "https://other"],
            ["requested_token_type": "urn:auth0:params:oauth:token-type:session_transfer_token"],
        ] {
            #expect(await self.exchange(bench, session, change).error == "invalid_target", "\(change)")
        }
        #expect(await self.exchange(bench, session, ["audience": nil, "resource": TokenBench.api]).status == 200)
        #expect(await self.exchange(bench, session, ["audience": nil]).status == 200)
    }

    @Test("a browser's session, another client's and a transfer's give nothing")
    func subjects() async throws {
        let bench = TokenBench()
        let web = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        #expect(await self.exchange(bench, web).error == "invalid_grant")
        let other = try await bench.signIn(client: "plain")
        #expect(await self.exchange(bench, other).reason == .sessionOtherClient)
    }

    @Test("a grant that the client does not have is unauthorized_client")
    func grants() async throws {
        let bench = TokenBench { $0.grantTypes = [.tokenExchange] }
        #expect(await bench.refresh("spr_x").error == "unauthorized_client")
        #expect(await bench.redeem("spc_x").error == "unauthorized_client")
        #expect(await self.exchange(bench, try await bench.signIn()).status == 200)
    }

    // MARK: RFC 7009

    @Test("a revoked refresh token ends its family and access tokens, whichever of its tokens is presented")
    func revokeRefresh() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let second = await bench.refresh(first.text("refresh_token"))
        let answer = await bench.form(
            ["client_id": "native-app", "token": first.text("refresh_token"), "token_type_hint": "access_token"],
            to: bench.revocation.endpoint
        )
        #expect(answer.status == 200)
        #expect(answer.response.body.isEmpty)
        #expect(try await !bench.lives(first.text("access_token")))
        #expect(try await !bench.lives(second.text("access_token")))
        #expect(await bench.refresh(second.text("refresh_token")).error == "invalid_grant")
        #expect(bench.records.all.last?.auditEvent?.kind == .tokenRefused)
        #expect(bench.records.all.contains { $0.auditEvent?.code == .refreshTokenRevoked })
    }

    @Test("a revoked access token ends alone; Auth0's JSON works")
    func revokeAccess() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let body: JSONValue = ["client_id": "native-app", "token": .string(first.text("access_token"))]
        let answer = await bench.post(
            JSONText.encode(body),
            fields: [("content-type", "application/json")],
            to: bench.revocation.endpoint
        )
        #expect(answer.status == 200)
        #expect(try await !bench.lives(first.text("access_token")))
        #expect(await bench.refresh(first.text("refresh_token")).status == 200)
    }

    @Test("unknown tokens and those of another client are 200, and nothing happens")
    func revokeUnknown() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        for token in ["x", first.text("refresh_token"), first.text("access_token")] {
            let parameters = ["client_id": "plain", "token": token]
            #expect(await bench.form(parameters, to: bench.revocation.endpoint).status == 200)
        }
        #expect(try await bench.lives(first.text("access_token")))
        #expect(await bench.refresh(first.text("refresh_token")).status == 200)
        #expect(await bench.form(["client_id": "plain"], to: bench.revocation.endpoint).error == "invalid_request")
        #expect(
            await bench.form(["client_id": "no", "token": "x"], to: bench.revocation.endpoint).error == "invalid_client"
        )
    }

    @Test("revocation is 503 while the store is away")
    func revokeOutage() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        bench.store.change { $0.failure = .unavailable }
        let parameters = ["client_id": "native-app", "token": first.text("refresh_token")]
        let answer = await bench.form(parameters, to: bench.revocation.endpoint)
        #expect(answer.status == 503)
        #expect(answer.field("retry-after") != nil)
    }

    // MARK: RFC 7662

    private func introspect(_ bench: TokenBench, _ token: String) async -> Answer {
        await bench.form(["token": token], to: bench.introspection.endpoint, fields: [Self.server])
    }

    private func bench() -> TokenBench {
        var api = APISettings(audience: TokenBench.api, scopes: ["orders:read"])
        api.resourceServers = ["server app"]
        return TokenBench(apis: [api, APISettings(audience: "https://other.example.com")])
    }

    @Test("an API's server learns what its access tokens stand for")
    func introspection() async throws {
        let bench = self.bench()
        let code = try await bench.code(["audience": TokenBench.api])
        let answer = await self.introspect(bench, await bench.redeem(code).text("access_token"))
        #expect(answer.body["active"] == true)
        #expect(answer.text("sub") == "alice")
        #expect(answer.text("aud") == TokenBench.api)
        #expect(answer.text("client_id") == "native-app")
        #expect(answer.text("iss") == "https://auth.example.com/")
        #expect(answer.text("token_type") == "Bearer")
        #expect(answer.body["exp"] == .integer(TokenBench.now.seconds + 3600))
        #expect(answer.field("cache-control") == "no-store")
    }

    @Test("other tokens are inactive, and nothing else is said")
    func inactive() async throws {
        let bench = self.bench()
        let tokens = await bench.redeem(try await bench.code(["audience": TokenBench.api]))
        let other = await bench.redeem(try await bench.code(["audience": "https://other.example.com"]))
        let session = try await bench.signIn()
        for token in [other.text("access_token"), tokens.text("refresh_token"), session, "x", "spa_x"] {
            #expect(await self.introspect(bench, token).body == ["active": false])
        }
        bench.clock.advance(by: .seconds(3600))
        #expect(await self.introspect(bench, tokens.text("access_token")).body == ["active": false])
    }

    @Test("a public client, and one without authentication, learns nothing")
    func authentication() async throws {
        let bench = self.bench()
        let parameters = ["client_id": "native-app", "token": "x"]
        #expect(await bench.form(parameters, to: bench.introspection.endpoint).error == "invalid_client")
        #expect(await bench.form(["token": "x"], to: bench.introspection.endpoint).error == "invalid_client")
    }

    // MARK: Rate limits

    @Test("too many requests of one client from one address are 429 with Retry-After, and blame no token")
    func throttled() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        for _ in 0..<500 { _ = await bench.refresh("spr_x") }
        let answer = await bench.refresh(first.text("refresh_token"))
        #expect(answer.status == 429)
        #expect(answer.error == "too_many_requests")
        #expect(answer.reason == .oauthThrottled)
        #expect(answer.field("retry-after") == "1")
        let other = await bench.refresh("spr_x", ["client_id": "plain"])
        #expect(other.status == 400)
        bench.clock.advance(by: .seconds(1))
        #expect(await bench.refresh(first.text("refresh_token")).status == 200)
    }

    @Test("guesses of a secret count with the client's own requests, so that no guess is confirmed above the limit")
    func guesses() async throws {
        let bench = TokenBench()
        let form = ["grant_type": "none", "client_id": "server app"]
        for _ in 0..<500 {
            #expect(await bench.form(form.merging(["client_secret": "a guess"]) { $1 }).error == "invalid_client")
        }
        for secret in ["a guess", "s3cr%t+:ü"] {
            let answer = await bench.form(form.merging(["client_secret": secret]) { $1 })
            #expect(answer.status == 429 && answer.reason == .oauthThrottled && answer.field("retry-after") == "1")
        }
        let basic = await bench.form(["grant_type": "none"], fields: [Self.server])
        #expect(basic.status == 429)
        #expect(await bench.form(["grant_type": "none", "client_id": "native-app"]).status == 400)
    }

    @Test("too many refreshes of one family are 429 with Retry-After, whichever of its tokens, and end nothing")
    func family() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let other = try await bench.tokens()
        var token = first.text("refresh_token")
        for _ in 0..<60 {
            let answer = await bench.refresh(token)
            #expect(answer.status == 200)
            token = answer.text("refresh_token")
        }
        for presented in [token, first.text("refresh_token")] {
            let answer = await bench.refresh(presented)
            #expect(answer.status == 429 && answer.error == "too_many_requests" && answer.field("retry-after") == "1")
        }
        #expect(bench.records.all.last?.reason == .oauthThrottled)
        #expect(await bench.refresh(other.text("refresh_token")).status == 200)
        bench.clock.advance(by: .seconds(1))
        #expect(await bench.refresh(token).status == 200)
    }

    @Test("too many requests of one address to /userinfo are 429 in OAuth's format, before a token is looked up")
    func userInfo() async throws {
        let bench = TokenBench()
        let token = try await bench.tokens().text("access_token")
        func ask(_ token: String) async -> Answer {
            await bench.post([], fields: [("authorization", "Bearer \(token)")], to: bench.userInfo.endpoint)
        }
        for _ in 0..<500 { #expect(await ask("spa_x").status == 401) }
        let calls = bench.store.calls
        let answer = await ask(token)
        #expect(answer.status == 429 && answer.error == "too_many_requests" && answer.field("retry-after") == "1")
        #expect(bench.store.calls == calls)
    }

    // MARK: The user's address

    @Test("auth0-forwarded-for counts from a client with a secret and the flag, and from no other")
    func forwardedFor() async throws {
        let bench = TokenBench { $0.trustsAddressField = true }
        let field = ("auth0-forwarded-for", "192.0.2.7")
        _ = await bench.form(["grant_type": "refresh_token", "refresh_token": "x"], fields: [Self.server, field])
        #expect(bench.records.all.last?.device.address.description == "192.0.2.7")
        _ = await bench.form(
            ["grant_type": "refresh_token", "refresh_token": "x", "client_id": "native-app"],
            fields: [field]
        )
        #expect(bench.records.all.last?.device.address.description == "1.128.0.1")
        let bad = await bench.form(
            ["grant_type": "refresh_token", "refresh_token": "x"],
            fields: [Self.server, ("auth0-forwarded-for", "192.0.2.7, 10.0.0.1")]
        )
        #expect(bad.error == "invalid_request")
        let plain = TokenBench()
        _ = await plain.form(["grant_type": "refresh_token", "refresh_token": "x"], fields: [Self.server, field])
        #expect(plain.records.all.last?.device.address.description == "1.128.0.1")
    }

    @Test(
        "it is a field or a parameter of the body; both must say the same address, of either spelling",
        arguments: [
            ("192.0.2.7", nil, "192.0.2.7"), (nil, "192.0.2.7", "192.0.2.7"), ("192.0.2.7", "192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"), ("2001:DB8::0:1", nil, "2001:db8::1"),
            (nil, "2001:db8:0:0:0:0:0:1", "2001:db8::1"), ("192.0.2.7", "192.0.2.8", nil), ("", nil, nil),
            ("192.0.2.7:443", nil, nil), (nil, "[2001:db8::1]", nil), ("[2001:db8::1]:443", nil, nil),
            (nil, "192.0.2.7, 10.0.0.1", nil), ("192.0.2.007", nil, nil), (nil, "192.0.2", nil), ("unknown", nil, nil),
            (nil, "0.0.0.0", nil), ("::", nil, nil), ("255.255.255.255", nil, nil), (nil, "3232235777", nil),
            ("192.0.2.0/24", nil, nil),
            (nil, " 192.0.2.7", nil), ("for=192.0.2.7", nil, nil),
        ] as [(String?, String?, String?)]
    )
    func statedAddress(field: String?, parameter: String?, expected: String?) async {
        let bench = TokenBench { $0.trustsAddressField = true }
        var parameters = ["grant_type": "refresh_token", "refresh_token": "x"]
        parameters["auth0-forwarded-for"] = parameter
        let fields = field.map { [(name: "Auth0-Forwarded-For", value: $0)] } ?? []
        let answer = await bench.form(parameters, fields: [Self.server] + fields)
        #expect(answer.error == (expected == nil ? "invalid_request" : "invalid_grant"))
        #expect(bench.records.all.last?.device.address.description == expected)
        // From others it is not even looked at.
        let other = TokenBench()
        #expect(await other.form(parameters, fields: [Self.server] + fields).error == "invalid_grant")
        #expect(other.records.all.last?.device.address.description == "1.128.0.1")
    }

    @Test("a repeated field, or one that is no text, is no address")
    func noStatedAddress() async {
        let bench = TokenBench { $0.trustsAddressField = true }
        let field = (name: "auth0-forwarded-for", value: "192.0.2.7")
        let grant = ["grant_type": "refresh_token", "refresh_token": "x"]
        #expect(await bench.form(grant, fields: [Self.server, field, field]).error == "invalid_request")
        let json = #"{"grant_type":"refresh_token","refresh_token":"x","auth0-forwarded-for":["192.0.2.7"]}"#
        let answer = await bench.post(
            Array(json.utf8),
            fields: [Self.server, ("content-type", "application/json")]
        )
        #expect(answer.error == "invalid_request")
        // An underscore makes another name of it, which counts for nothing.
        _ = await bench.form(grant, fields: [Self.server, ("auth0_forwarded_for", "192.0.2.7")])
        #expect(bench.records.all.last?.device.address.description == "1.128.0.1")
    }

    @Test("the address that the server states is that of the minted token, and is counted")
    func mintedAddress() async throws {
        let bench = TokenBench { $0.trustsAddressField = true }
        var parameters = bench.parameters(try await bench.signIn())
        parameters["client_id"] = nil
        let answer = await bench.form(parameters, fields: [Self.server, ("auth0-forwarded-for", "192.0.2.7")])
        let token = answer.text("access_token")
        let key = try #require(bench.authority.key(.transfer, of: Array(token.utf8)))
        let stored = try await bench.store.singleUse(key, as: TransferToken.self, on: bench.loop).get()
        var device: DeviceFacts?
        if case .live(let live) = stored { device = live.record.device }
        #expect(device?.address.description == "192.0.2.7", "\(answer.body)")
    }
}

extension String {
    fileprivate var base64: String { Data(self.utf8).base64EncodedString() }
}
