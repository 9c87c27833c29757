import AddressIntelligence
import Cryptography
import Endpoints
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

@Suite("refresh_token")
struct RefreshTests {
    @Test("a refresh gives a new access token and the next refresh token; the former access token goes on")
    func rotation() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        world.clock.advance(by: .seconds(1000))
        let second = await world.refresh(first.text("refresh_token"))
        #expect(second.status == 200)
        #expect(second.text("refresh_token") != first.text("refresh_token"))
        #expect(second.text("access_token") != first.text("access_token"))
        #expect(second.body["expires_in"] == .integer(3600))
        #expect(try await world.lives(first.text("access_token")))
        let third = await world.refresh(second.text("refresh_token"))
        #expect(third.status == 200)
        let records = world.records.all.filter { $0.tokenAct != .authorized }
        #expect(records.map(\.tokenAct) == [.redeemed, .refreshed, .refreshed])
        #expect(records.allSatisfy { $0.sessionID == records[0].sessionID })
    }

    @Test("a lost answer: the former token gets the same successor within the leeway")
    func leeway() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let second = await world.refresh(first.text("refresh_token"))
        world.clock.advance(by: .seconds(60))
        let again = await world.refresh(first.text("refresh_token"))
        #expect(again.status == 200)
        #expect(again.text("refresh_token") == second.text("refresh_token"))
        #expect(try await world.lives(again.text("access_token")))
    }

    @Test("a user whom the provider lost is 403 with Auth0's sentence, and nothing ends")
    func userGone() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        world.records.lostUser.withLock { $0 = "alice" }
        for audience in [nil, "urn:auth.example.com:session_transfer"] {
            let answer = await world.refresh(first.text("refresh_token"), ["audience": audience])
            #expect(answer.status == 403 && answer.error == "invalid_grant" && answer.reason == .refreshUserGone)
            #expect(
                answer.description == "The refresh_token was generated for a user who doesn't exist anymore."
            )
            #expect(answer.field("www-authenticate") == nil)
        }
        // Another client learns nothing of the user.
        #expect(await world.refresh(first.text("refresh_token"), ["client_id": "plain"]).status == 400)
        world.records.lostUser.withLock { $0 = "bob" }
        #expect(await world.refresh(first.text("refresh_token")).status == 200)
    }

    @Test("an older token ends the family and all that came of it", arguments: [61, 0])
    func replay(seconds: Int) async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let second = await world.refresh(first.text("refresh_token"))
        // Either too late, or no longer the immediate predecessor.
        let last = seconds > 0 ? second : await world.refresh(second.text("refresh_token"))
        world.clock.advance(by: .seconds(seconds))
        let replay = await world.refresh(first.text("refresh_token"))
        #expect(replay.status == 400)
        #expect(replay.error == "invalid_grant")
        #expect(replay.description == "Unknown or invalid refresh token.")
        #expect(replay.reason == .refreshReplayed)
        for answer in [first, second, last] {
            #expect(try await !world.lives(answer.text("access_token")))
            #expect(await world.refresh(answer.text("refresh_token")).reason == .refreshUnknown)
        }
        #expect(world.records.all.contains { $0.auditEvent?.kind == .refreshTokenReplayed })
    }

    @Test("a replay is noticed after months, when no marker of the use is left")
    func lateReplay() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        var last = first
        for _ in 0..<3 {
            world.clock.advance(by: .seconds(20 * 86_400))
            last = await world.refresh(last.text("refresh_token"))
        }
        #expect(last.status == 200)
        #expect(await world.refresh(first.text("refresh_token")).reason == .refreshReplayed)
        #expect(await world.refresh(last.text("refresh_token")).error == "invalid_grant")
    }

    @Test("32 parallel refreshes of one token give one successor")
    func parallel() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let answers = await withTaskGroup(of: Answer.self, returning: [Answer].self) { group in
            for _ in 0..<32 { group.addTask { await world.refresh(first.text("refresh_token")) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(Set(answers.map { $0.text("refresh_token") }).count == 1)
        #expect(await world.refresh(answers[0].text("refresh_token")).status == 200)
    }

    @Test("a rotation that the store lost costs nobody the family")
    func lostRotation() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        world.store.change { $0.lostReplacements = 1 }
        #expect(await world.refresh(first.text("refresh_token")).status == 503)
        let second = await world.refresh(first.text("refresh_token"))
        #expect(second.status == 200)
        #expect(await world.refresh(second.text("refresh_token")).status == 200)
    }

    @Test("idle and absolute lifetimes end it")
    func lifetimes() async throws {
        let world = TokenWorld {
            $0.refreshToken.idleLifetime = .seconds(1000)
            $0.refreshToken.lifetime = .seconds(2000)
        }
        let idle = try await world.tokens()
        var used = try await world.tokens()
        world.clock.advance(by: .seconds(900))
        used = await world.refresh(used.text("refresh_token"))
        world.clock.advance(by: .seconds(200))
        #expect(await world.refresh(idle.text("refresh_token")).reason == .refreshUnknown)
        used = await world.refresh(used.text("refresh_token"))
        #expect(used.status == 200)
        world.clock.advance(by: .seconds(800))
        used = await world.refresh(used.text("refresh_token"))
        #expect(used.body["expires_in"] == .integer(100))
        world.clock.advance(by: .seconds(200))
        #expect(await world.refresh(used.text("refresh_token")).reason == .refreshUnknown)
    }

    @Test("a non-rotating token stays, and its answer has none")
    func nonRotating() async throws {
        let world = TokenWorld { $0.refreshToken.rotation = .nonRotating }
        let first = try await world.tokens()
        for _ in 0..<3 {
            let next = await world.refresh(first.text("refresh_token"))
            #expect(next.status == 200)
            #expect(next.body["refresh_token"] == nil)
        }
    }

    @Test("a narrower scope is honoured, a wider one is cut; neither changes the grant (RFC 6749 6)")
    func scopes() async throws {
        let world = TokenWorld()
        let first = await world.redeem(try await world.code(["scope": "offline_access orders:read orders:write"]))
        let narrow = await world.refresh(first.text("refresh_token"), ["scope": "orders:read"])
        #expect(narrow.text("scope") == "orders:read")
        let wide = await world.refresh(narrow.text("refresh_token"), ["scope": "openid profile email orders:write"])
        #expect(wide.status == 200)
        #expect(wide.text("scope") == "orders:write")
        #expect(
            await world.refresh(wide.text("refresh_token")).text("scope") == "offline_access orders:read orders:write"
        )
    }

    @Test("another client's token is refused and stays as it is")
    func otherClient() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let answer = await world.refresh(first.text("refresh_token"), ["client_id": "plain"])
        #expect(answer.error == "invalid_grant")
        #expect(answer.reason == .refreshOtherClient)
        #expect(await world.refresh(first.text("refresh_token")).status == 200)
    }

    @Test("an audience other than the granted one is invalid_target, and the token does not rotate")
    func audience() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        #expect(await world.refresh(first.text("refresh_token"), ["audience": "https://x"]).error == "invalid_target")
        #expect(await world.refresh(first.text("refresh_token"), ["audience": TokenWorld.api]).status == 200)
    }

    @Test("a failed use is recorded with the audience that the request names, whatever failed")
    func audienceOfFailures() async throws {
        let world = TokenWorld()
        let transfer = "urn:auth.example.com:session_transfer"
        let token = try await world.tokens().text("refresh_token")
        let unknown = String(token.dropLast()) + (token.hasSuffix("A") ? "B" : "A")
        let session = try await world.signIn()
        func event() -> [String?] {
            let event = world.records.all.last?.auditEvent
            return [event?.code?.rawValue, event?.reason?.rawValue, event?.audience]
        }
        _ = await world.refresh(unknown, ["audience": transfer])
        #expect(event() == ["fertft", "refresh.unknown", transfer])
        _ = await world.refresh("x", ["resource": "https://x"])
        #expect(event() == ["fertft", "refresh.unknown", "https://x"])
        _ = await world.refresh(token, ["audience": "https://x"])
        #expect(event() == ["fertft", "oauth.invalid_target", "https://x"])
        _ = await world.refresh(token, ["audience": transfer, "client_id": "plain"])
        #expect(event() == ["fertft", "handoff.not_permitted", transfer])
        _ = await world.refresh(unknown)
        #expect(event() == ["fertft", "refresh.unknown", nil])
        var exchange = world.parameters(session)
        exchange["audience"] = "https://x"
        _ = await world.form(exchange)
        #expect(event().dropFirst() == ["oauth.invalid_target", "https://x"])
        exchange["audience"] = TokenWorld.api
        exchange["subject_token"] = "sps_short"
        _ = await world.form(exchange)
        #expect(event().dropFirst() == ["credential.malformed", TokenWorld.api])
        // What was done has the audience of what was issued.
        _ = await world.refresh(token, ["audience": transfer])
        #expect(event() == ["sertft", nil, TokenWorld.api])
    }

    @Test("a forged or foreign token never reaches the store")
    func forged() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let genuine = first.text("refresh_token")
        world.store.change { $0.failure = .unavailable }
        for index in stride(from: 0, to: genuine.utf8.count, by: 3) {
            var bytes = Array(genuine.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let answer = await world.refresh(String(decoding: bytes, as: UTF8.self))
            #expect(answer.error == "invalid_grant", "\(index)")
        }
        for other in ["", "spr_", "x", genuine + "A", String(genuine.dropLast()), first.text("access_token")] {
            #expect(await world.refresh(other).status == 400)
        }
        // A genuine one asks the store.
        #expect(await world.refresh(genuine).status == 503)
    }

    @Test("an outage at any step is 503, loses nobody the family and hands out nothing twice")
    func outages() async throws {
        for calls in 0..<8 {
            let world = TokenWorld()
            let first = try await world.tokens()
            world.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let failed = await world.refresh(first.text("refresh_token"))
            #expect([200, 503].contains(failed.status))
            world.store.change { $0.failure = nil }
            let second = await world.refresh(first.text("refresh_token"))
            #expect(second.status == 200, "after \(calls) calls")
            #expect(await world.refresh(second.text("refresh_token")).status == 200)
        }
    }

    @Test("it ends with the user's sessions and with a sign-out")
    func ends() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        try await world.store.end(subject: "alice", on: world.loop).get()
        #expect(await world.refresh(first.text("refresh_token")).reason == .refreshUnknown)
        #expect(try await !world.lives(first.text("access_token")))
    }

    @Test("a secret's rotation: tokens of an accepted one are read, new ones are of the current one")
    func secrets() throws {
        let (old, new) = (Secret("an old secret of 32 bytes or more!!"), Secret("a new secret of 32 bytes or more!!!"))
        let token = RefreshToken(newFamilyIn: TokenAuthority(secret: old).newLineage())
        let before = RefreshTokenAuthority(current: old).make(token)
        let during = RefreshTokenAuthority(current: new, accepted: [old])
        #expect(during.read(before.bytes) == .genuine(token))
        #expect(during.read(during.make(token).bytes) == .genuine(token))
        #expect(RefreshTokenAuthority(current: new).read(before.bytes) == .otherKey)
        #expect(during.make(token) != before)
    }

    // MARK: Session-transfer tokens

    @Test("a refresh token mints a session-transfer token as Auth0's SDKs ask for it, and rotates")
    func mint() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let answer = await world.post(json: [
            "client_id": "native-app", "refresh_token": first.text("refresh_token"), "grant_type": "refresh_token",
            "audience": "urn:auth.example.com:session_transfer",
        ])
        #expect(answer.status == 200)
        #expect(answer.text("access_token").hasPrefix("spt_"))
        #expect(answer.text("issued_token_type") == "urn:auth0:params:oauth:token-type:session_transfer_token")
        #expect(answer.body["token_type"] == "N_A")
        #expect(answer.body["expires_in"] == .integer(60))
        #expect(await world.refresh(answer.text("refresh_token")).status == 200)
    }

    @Test("a client that may not mint keeps its refresh token")
    func mintRefused() async throws {
        let world = TokenWorld { $0.canCreateTransferToken = false }
        let first = try await world.tokens()
        let target = ["audience": "urn:auth.example.com:session_transfer"]
        let answer = await world.refresh(first.text("refresh_token"), target)
        #expect(answer.error == "unauthorized_client")
        world.clock.advance(by: .seconds(1000))
        #expect(await world.refresh(first.text("refresh_token")).status == 200)
    }
}
