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

    private func exchange(_ world: TokenWorld, _ subject: String, _ change: [String: String?] = [:]) async -> Answer {
        var parameters = world.parameters(subject)
        parameters["audience"] = TokenWorld.api
        for (name, value) in change { parameters[name] = value }
        return await world.form(parameters)
    }

    // MARK: RFC 8693

    @Test("a session token gives an access token for an API, which ends with the session")
    func exchange() async throws {
        let world = TokenWorld()
        let session = try await world.signIn()
        let answer = await self.exchange(world, session, ["scope": "orders:read"])
        #expect(answer.status == 200)
        #expect(answer.text("access_token").hasPrefix("spa_"))
        #expect(answer.text("issued_token_type") == "urn:ietf:params:oauth:token-type:access_token")
        #expect(answer.text("token_type") == "Bearer")
        #expect(answer.text("scope") == "orders:read")
        #expect(answer.body["refresh_token"] == nil)
        let key = try #require(world.authority.key(.session, of: Array(session.utf8)))
        try await world.store.end(key.lineage, on: world.loop).get()
        #expect(try await !world.lives(answer.text("access_token")))
        #expect(await self.exchange(world, session).reason == .sessionUnknown)
    }

    @Test(
        "an answer without granted scopes says so: without scope it would be the one that was asked for (RFC 6749 5.1)"
    )
    func noScope() async throws {
        let world = TokenWorld()
        let answer = await self.exchange(world, try await world.signIn(), ["scope": "other"])
        #expect(answer.status == 200 && answer.body["scope"] == "")
    }

    @Test("an access token gives a session-transfer token and no other access token")
    func exchangeOfAccessToken() async throws {
        let world = TokenWorld()
        let access = await self.exchange(world, try await world.signIn()).text("access_token")
        let type = ["subject_token_type": "urn:ietf:params:oauth:token-type:access_token"]
        #expect(await self.exchange(world, access, type).error == "invalid_grant")
        let target = type.merging(["audience": "urn:auth.example.com:session_transfer"]) { $1 }
        #expect(await self.exchange(world, access, target).text("access_token").hasPrefix("spt_"))
    }

    @Test("unknown audiences and contradictions are invalid_target; resource is read as audience")
    func targets() async throws {
        let world = TokenWorld()
        let session = try await world.signIn()
        for change in [
            ["audience": "https://other"], ["resource": "https://other"],
            ["requested_token_type": "urn:auth0:params:oauth:token-type:session_transfer_token"],
        ] {
            #expect(await self.exchange(world, session, change).error == "invalid_target", "\(change)")
        }
        #expect(await self.exchange(world, session, ["audience": nil, "resource": TokenWorld.api]).status == 200)
        #expect(await self.exchange(world, session, ["audience": nil]).status == 200)
    }

    @Test("a browser's session, another client's and a transfer's give nothing")
    func subjects() async throws {
        let world = TokenWorld()
        let web = try await world.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        #expect(await self.exchange(world, web).error == "invalid_grant")
        let other = try await world.signIn(client: "plain")
        #expect(await self.exchange(world, other).reason == .sessionOtherClient)
    }

    @Test("a grant that the client does not have is unauthorized_client")
    func grants() async throws {
        let world = TokenWorld { $0.grantTypes = [.tokenExchange] }
        #expect(await world.refresh("spr_x").error == "unauthorized_client")
        #expect(await world.redeem("spc_x").error == "unauthorized_client")
        #expect(await self.exchange(world, try await world.signIn()).status == 200)
    }

    // MARK: RFC 7009

    @Test("a revoked refresh token ends its family and access tokens, whichever of its tokens is presented")
    func revokeRefresh() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let second = await world.refresh(first.text("refresh_token"))
        let answer = await world.form(
            ["client_id": "native-app", "token": first.text("refresh_token"), "token_type_hint": "access_token"],
            to: world.revocation.endpoint
        )
        #expect(answer.status == 200)
        #expect(answer.response.body.isEmpty)
        #expect(try await !world.lives(first.text("access_token")))
        #expect(try await !world.lives(second.text("access_token")))
        #expect(await world.refresh(second.text("refresh_token")).error == "invalid_grant")
        #expect(world.records.all.last?.auditEvent?.kind == .tokenRefused)
        #expect(world.records.all.contains { $0.auditEvent?.code == .refreshTokenRevoked })
    }

    @Test("a revoked access token ends alone; Auth0's JSON works")
    func revokeAccess() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let body: JSONValue = ["client_id": "native-app", "token": .string(first.text("access_token"))]
        let answer = await world.post(
            JSONText.encode(body),
            fields: [("content-type", "application/json")],
            to: world.revocation.endpoint
        )
        #expect(answer.status == 200)
        #expect(try await !world.lives(first.text("access_token")))
        #expect(await world.refresh(first.text("refresh_token")).status == 200)
    }

    @Test("unknown tokens and those of another client are 200, and nothing happens")
    func revokeUnknown() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        for token in ["x", first.text("refresh_token"), first.text("access_token")] {
            let parameters = ["client_id": "plain", "token": token]
            #expect(await world.form(parameters, to: world.revocation.endpoint).status == 200)
        }
        #expect(try await world.lives(first.text("access_token")))
        #expect(await world.refresh(first.text("refresh_token")).status == 200)
        #expect(await world.form(["client_id": "plain"], to: world.revocation.endpoint).error == "invalid_request")
        #expect(
            await world.form(["client_id": "no", "token": "x"], to: world.revocation.endpoint).error == "invalid_client"
        )
    }

    @Test("revocation is 503 while the store is away")
    func revokeOutage() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        world.store.change { $0.failure = .unavailable }
        let parameters = ["client_id": "native-app", "token": first.text("refresh_token")]
        let answer = await world.form(parameters, to: world.revocation.endpoint)
        #expect(answer.status == 503)
        #expect(answer.field("retry-after") != nil)
    }

    // MARK: RFC 7662

    private func introspect(_ world: TokenWorld, _ token: String) async -> Answer {
        await world.form(["token": token], to: world.introspection.endpoint, fields: [Self.server])
    }

    private func world() -> TokenWorld {
        var api = APISettings(audience: TokenWorld.api, scopes: ["orders:read"])
        api.resourceServers = ["server app"]
        return TokenWorld(apis: [api, APISettings(audience: "https://other.example.com")])
    }

    @Test("an API's server learns what its access tokens stand for")
    func introspection() async throws {
        let world = self.world()
        let code = try await world.code(["audience": TokenWorld.api])
        let answer = await self.introspect(world, await world.redeem(code).text("access_token"))
        #expect(answer.body["active"] == true)
        #expect(answer.text("sub") == "alice")
        #expect(answer.text("aud") == TokenWorld.api)
        #expect(answer.text("client_id") == "native-app")
        #expect(answer.text("iss") == "https://auth.example.com/")
        #expect(answer.text("token_type") == "Bearer")
        #expect(answer.body["exp"] == .integer(TokenWorld.now.seconds + 3600))
        #expect(answer.field("cache-control") == "no-store")
    }

    @Test("other tokens are inactive, and nothing else is said")
    func inactive() async throws {
        let world = self.world()
        let tokens = await world.redeem(try await world.code(["audience": TokenWorld.api]))
        let other = await world.redeem(try await world.code(["audience": "https://other.example.com"]))
        let session = try await world.signIn()
        for token in [other.text("access_token"), tokens.text("refresh_token"), session, "x", "spa_x"] {
            #expect(await self.introspect(world, token).body == ["active": false])
        }
        world.clock.advance(by: .seconds(3600))
        #expect(await self.introspect(world, tokens.text("access_token")).body == ["active": false])
    }

    @Test("a public client, and one without authentication, learns nothing")
    func authentication() async throws {
        let world = self.world()
        let parameters = ["client_id": "native-app", "token": "x"]
        #expect(await world.form(parameters, to: world.introspection.endpoint).error == "invalid_client")
        #expect(await world.form(["token": "x"], to: world.introspection.endpoint).error == "invalid_client")
    }

    // MARK: Rate limits

    @Test("too many requests of one client from one address are 429 with Retry-After, and blame no token")
    func throttled() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        for _ in 0..<500 { _ = await world.refresh("spr_x") }
        let answer = await world.refresh(first.text("refresh_token"))
        #expect(answer.status == 429)
        #expect(answer.error == "too_many_requests")
        #expect(answer.reason == .oauthThrottled)
        #expect(answer.field("retry-after") == "1")
        let other = await world.refresh("spr_x", ["client_id": "plain"])
        #expect(other.status == 400)
        world.clock.advance(by: .seconds(1))
        #expect(await world.refresh(first.text("refresh_token")).status == 200)
    }

    @Test("guesses of a secret count with the client's own requests, so that no guess is confirmed above the limit")
    func guesses() async throws {
        let world = TokenWorld()
        let form = ["grant_type": "none", "client_id": "server app"]
        for _ in 0..<500 {
            #expect(await world.form(form.merging(["client_secret": "a guess"]) { $1 }).error == "invalid_client")
        }
        for secret in ["a guess", "s3cr%t+:ü"] {
            let answer = await world.form(form.merging(["client_secret": secret]) { $1 })
            #expect(answer.status == 429 && answer.reason == .oauthThrottled && answer.field("retry-after") == "1")
        }
        let basic = await world.form(["grant_type": "none"], fields: [Self.server])
        #expect(basic.status == 429)
        #expect(await world.form(["grant_type": "none", "client_id": "native-app"]).status == 400)
    }

    @Test("too many refreshes of one family are 429 with Retry-After, whichever of its tokens, and end nothing")
    func family() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let other = try await world.tokens()
        var token = first.text("refresh_token")
        for _ in 0..<60 {
            let answer = await world.refresh(token)
            #expect(answer.status == 200)
            token = answer.text("refresh_token")
        }
        for presented in [token, first.text("refresh_token")] {
            let answer = await world.refresh(presented)
            #expect(answer.status == 429 && answer.error == "too_many_requests" && answer.field("retry-after") == "1")
        }
        #expect(world.records.all.last?.reason == .oauthThrottled)
        #expect(await world.refresh(other.text("refresh_token")).status == 200)
        world.clock.advance(by: .seconds(1))
        #expect(await world.refresh(token).status == 200)
    }

    @Test("too many requests of one address to /userinfo are 429 in OAuth's format, before a token is looked up")
    func userInfo() async throws {
        let world = TokenWorld()
        let token = try await world.tokens().text("access_token")
        func ask(_ token: String) async -> Answer {
            await world.post([], fields: [("authorization", "Bearer \(token)")], to: world.userInfo.endpoint)
        }
        for _ in 0..<500 { #expect(await ask("spa_x").status == 401) }
        let calls = world.store.calls
        let answer = await ask(token)
        #expect(answer.status == 429 && answer.error == "too_many_requests" && answer.field("retry-after") == "1")
        #expect(world.store.calls == calls)
    }

    // MARK: The user's address

    @Test("auth0-forwarded-for counts from a client with a secret and the flag, and from no other")
    func forwardedFor() async throws {
        let world = TokenWorld { $0.trustsAddressField = true }
        let field = ("auth0-forwarded-for", "192.0.2.7")
        _ = await world.form(["grant_type": "refresh_token", "refresh_token": "x"], fields: [Self.server, field])
        #expect(world.records.all.last?.device.address.description == "192.0.2.7")
        _ = await world.form(
            ["grant_type": "refresh_token", "refresh_token": "x", "client_id": "native-app"],
            fields: [field]
        )
        #expect(world.records.all.last?.device.address.description == "1.128.0.1")
        let bad = await world.form(
            ["grant_type": "refresh_token", "refresh_token": "x"],
            fields: [Self.server, ("auth0-forwarded-for", "192.0.2.7, 10.0.0.1")]
        )
        #expect(bad.error == "invalid_request")
        let plain = TokenWorld()
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
        let world = TokenWorld { $0.trustsAddressField = true }
        var parameters = ["grant_type": "refresh_token", "refresh_token": "x"]
        parameters["auth0-forwarded-for"] = parameter
        let fields = field.map { [(name: "Auth0-Forwarded-For", value: $0)] } ?? []
        let answer = await world.form(parameters, fields: [Self.server] + fields)
        #expect(answer.error == (expected == nil ? "invalid_request" : "invalid_grant"))
        #expect(world.records.all.last?.device.address.description == expected)
        // From others it is not even looked at.
        let other = TokenWorld()
        #expect(await other.form(parameters, fields: [Self.server] + fields).error == "invalid_grant")
        #expect(other.records.all.last?.device.address.description == "1.128.0.1")
    }

    @Test("a repeated field, or one that is no text, is no address")
    func noStatedAddress() async {
        let world = TokenWorld { $0.trustsAddressField = true }
        let field = (name: "auth0-forwarded-for", value: "192.0.2.7")
        let grant = ["grant_type": "refresh_token", "refresh_token": "x"]
        #expect(await world.form(grant, fields: [Self.server, field, field]).error == "invalid_request")
        let json = #"{"grant_type":"refresh_token","refresh_token":"x","auth0-forwarded-for":["192.0.2.7"]}"#
        let answer = await world.post(
            Array(json.utf8),
            fields: [Self.server, ("content-type", "application/json")]
        )
        #expect(answer.error == "invalid_request")
        // An underscore makes another name of it, which counts for nothing.
        _ = await world.form(grant, fields: [Self.server, ("auth0_forwarded_for", "192.0.2.7")])
        #expect(world.records.all.last?.device.address.description == "1.128.0.1")
    }

    @Test("the address that the server states is that of the minted token, and is counted")
    func mintedAddress() async throws {
        let world = TokenWorld { $0.trustsAddressField = true }
        var parameters = world.parameters(try await world.signIn())
        parameters["client_id"] = nil
        let answer = await world.form(parameters, fields: [Self.server, ("auth0-forwarded-for", "192.0.2.7")])
        let token = answer.text("access_token")
        let key = try #require(world.authority.key(.transfer, of: Array(token.utf8)))
        let stored = try await world.store.singleUse(key, as: TransferToken.self, on: world.loop).get()
        var device: DeviceFacts?
        if case .live(let live) = stored { device = live.record.device }
        #expect(device?.address.description == "192.0.2.7", "\(answer.body)")
    }
}

extension String {
    fileprivate var base64: String { Data(self.utf8).base64EncodedString() }
}
