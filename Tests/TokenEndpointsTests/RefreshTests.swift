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
        let bench = TokenBench()
        let first = try await bench.tokens()
        bench.clock.advance(by: .seconds(1000))
        let second = await bench.refresh(first.text("refresh_token"))
        #expect(second.status == 200)
        #expect(second.text("refresh_token") != first.text("refresh_token"))
        #expect(second.text("access_token") != first.text("access_token"))
        #expect(second.body["expires_in"] == .integer(3600))
        #expect(try await bench.lives(first.text("access_token")))
        let third = await bench.refresh(second.text("refresh_token"))
        #expect(third.status == 200)
        let records = bench.records.all.filter { $0.tokenAct != .authorized }
        #expect(records.map(\.tokenAct) == [.redeemed, .refreshed, .refreshed])
        #expect(records.allSatisfy { $0.sessionID == records[0].sessionID })
    }

    @Test("a lost answer: the former token gets the same successor within the leeway")
    func leeway() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let second = await bench.refresh(first.text("refresh_token"))
        bench.clock.advance(by: .seconds(60))
        let again = await bench.refresh(first.text("refresh_token"))
        #expect(again.status == 200)
        #expect(again.text("refresh_token") == second.text("refresh_token"))
        #expect(try await bench.lives(again.text("access_token")))
    }

    @Test("a user whom the provider lost is 403 with Auth0's sentence, and nothing ends")
    func userGone() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        bench.records.lostUser.withLock { $0 = "alice" }
        for audience in [nil, "urn:auth.example.com:session_transfer"] {
            let answer = await bench.refresh(first.text("refresh_token"), ["audience": audience])
            #expect(answer.status == 403 && answer.error == "invalid_grant" && answer.reason == .refreshUserGone)
            #expect(
                answer.description == "The refresh_token was generated for a user who doesn't exist anymore."
            )
            #expect(answer.field("www-authenticate") == nil)
        }
        // Another client learns nothing of the user.
        #expect(await bench.refresh(first.text("refresh_token"), ["client_id": "plain"]).status == 400)
        bench.records.lostUser.withLock { $0 = "bob" }
        #expect(await bench.refresh(first.text("refresh_token")).status == 200)
    }

    @Test("an older token ends the family and all that came of it", arguments: [61, 0])
    func replay(seconds: Int) async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let second = await bench.refresh(first.text("refresh_token"))
        // Either too late, or no longer the immediate predecessor.
        let last = seconds > 0 ? second : await bench.refresh(second.text("refresh_token"))
        bench.clock.advance(by: .seconds(seconds))
        let replay = await bench.refresh(first.text("refresh_token"))
        #expect(replay.status == 400)
        #expect(replay.error == "invalid_grant")
        #expect(replay.description == "Unknown or invalid refresh token.")
        #expect(replay.reason == .refreshReplayed)
        for answer in [first, second, last] {
            #expect(try await !bench.lives(answer.text("access_token")))
            #expect(await bench.refresh(answer.text("refresh_token")).reason == .refreshUnknown)
        }
        #expect(bench.records.all.contains { $0.auditEvent?.kind == .refreshTokenReplayed })
    }

    @Test("a replay is noticed after months, when no marker of the use is left")
    func lateReplay() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        var last = first
        for _ in 0..<3 {
            bench.clock.advance(by: .seconds(20 * 86_400))
            last = await bench.refresh(last.text("refresh_token"))
        }
        #expect(last.status == 200)
        #expect(await bench.refresh(first.text("refresh_token")).reason == .refreshReplayed)
        #expect(await bench.refresh(last.text("refresh_token")).error == "invalid_grant")
    }

    @Test("32 parallel refreshes of one token give one successor")
    func parallel() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let answers = await withTaskGroup(of: Answer.self, returning: [Answer].self) { group in
            for _ in 0..<32 { group.addTask { await bench.refresh(first.text("refresh_token")) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(Set(answers.map { $0.text("refresh_token") }).count == 1)
        #expect(await bench.refresh(answers[0].text("refresh_token")).status == 200)
    }

    @Test("a rotation that the store lost costs nobody the family")
    func lostRotation() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        bench.store.change { $0.lostReplacements = 1 }
        #expect(await bench.refresh(first.text("refresh_token")).status == 503)
        let second = await bench.refresh(first.text("refresh_token"))
        #expect(second.status == 200)
        #expect(await bench.refresh(second.text("refresh_token")).status == 200)
    }

    @Test("a request that its client did not wait for does not end the family from which the client has gone on")
    func overtaken() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens().text("refresh_token")
        let (thirds, answers) = AsyncStream<String>.makeStream()
        // The request has found its token to be the present one. Before it rotates it, the client repeats it, and refreshes
        // with the answer once more.
        bench.store.change { script in
            script.beforeReplace = {
                let second = await bench.refresh(first)
                answers.yield(await bench.refresh(second.text("refresh_token")).text("refresh_token"))
                answers.finish()
            }
        }
        let late = await bench.refresh(first)
        #expect(late.status == 503)
        #expect(late.text("refresh_token").isEmpty && late.text("access_token").isEmpty)
        var third = ""
        for await answer in thirds { third = answer }
        #expect(await bench.refresh(third).status == 200)
        // Presented now, it is one.
        #expect(await bench.refresh(first).reason == .refreshReplayed)
    }

    @Test("idle and absolute lifetimes end it")
    func lifetimes() async throws {
        let bench = TokenBench {
            $0.refreshToken.idleLifetime = .seconds(1000)
            $0.refreshToken.lifetime = .seconds(2000)
        }
        let idle = try await bench.tokens()
        var used = try await bench.tokens()
        bench.clock.advance(by: .seconds(900))
        used = await bench.refresh(used.text("refresh_token"))
        bench.clock.advance(by: .seconds(200))
        #expect(await bench.refresh(idle.text("refresh_token")).reason == .refreshUnknown)
        used = await bench.refresh(used.text("refresh_token"))
        #expect(used.status == 200)
        bench.clock.advance(by: .seconds(800))
        used = await bench.refresh(used.text("refresh_token"))
        #expect(used.body["expires_in"] == .integer(100))
        bench.clock.advance(by: .seconds(200))
        #expect(await bench.refresh(used.text("refresh_token")).reason == .refreshUnknown)
    }

    @Test("a non-rotating token stays, and its answer has none")
    func nonRotating() async throws {
        let bench = TokenBench { $0.refreshToken.rotation = .nonRotating }
        let first = try await bench.tokens()
        for _ in 0..<3 {
            let next = await bench.refresh(first.text("refresh_token"))
            #expect(next.status == 200)
            #expect(next.body["refresh_token"] == nil)
        }
    }

    @Test("a narrower scope is honoured, a wider one is cut; neither changes the grant (RFC 6749 6)")
    func scopes() async throws {
        let bench = TokenBench()
        let first = await bench.redeem(try await bench.code(["scope": "offline_access orders:read orders:write"]))
        let narrow = await bench.refresh(first.text("refresh_token"), ["scope": "orders:read"])
        #expect(narrow.text("scope") == "orders:read")
        let wide = await bench.refresh(narrow.text("refresh_token"), ["scope": "openid profile email orders:write"])
        #expect(wide.status == 200)
        #expect(wide.text("scope") == "orders:write")
        #expect(
            await bench.refresh(wide.text("refresh_token")).text("scope") == "offline_access orders:read orders:write"
        )
    }

    @Test("another client's token is refused and stays as it is")
    func otherClient() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let answer = await bench.refresh(first.text("refresh_token"), ["client_id": "plain"])
        #expect(answer.error == "invalid_grant")
        #expect(answer.reason == .refreshOtherClient)
        #expect(await bench.refresh(first.text("refresh_token")).status == 200)
    }

    @Test("an audience other than the granted one is invalid_target, and the token does not rotate")
    func audience() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        #expect(await bench.refresh(first.text("refresh_token"), ["audience": "https://x"]).error == "invalid_target")
        #expect(await bench.refresh(first.text("refresh_token"), ["audience": TokenBench.api]).status == 200)
    }

    @Test("a failed use is recorded with the audience that the request names, whatever failed")
    func audienceOfFailures() async throws {
        let bench = TokenBench()
        let transfer = "urn:auth.example.com:session_transfer"
        let token = try await bench.tokens().text("refresh_token")
        let unknown = String(token.dropLast()) + (token.hasSuffix("A") ? "B" : "A")
        let session = try await bench.signIn()
        func event() -> [String?] {
            let event = bench.records.all.last?.auditEvent
            return [event?.code?.rawValue, event?.reason?.rawValue, event?.audience]
        }
        _ = await bench.refresh(unknown, ["audience": transfer])
        #expect(event() == ["fertft", "refresh.unknown", transfer])
        _ = await bench.refresh("x", ["resource": "https://x"])
        #expect(event() == ["fertft", "refresh.unknown", "https://x"])
        _ = await bench.refresh(token, ["audience": "https://x"])
        #expect(event() == ["fertft", "oauth.invalid_target", "https://x"])
        _ = await bench.refresh(token, ["audience": transfer, "client_id": "plain"])
        #expect(event() == ["fertft", "handoff.not_permitted", transfer])
        _ = await bench.refresh(unknown)
        #expect(event() == ["fertft", "refresh.unknown", nil])
        var exchange = bench.parameters(session)
        exchange["audience"] = "https://x"
        _ = await bench.form(exchange)
        #expect(event().dropFirst() == ["oauth.invalid_target", "https://x"])
        exchange["audience"] = TokenBench.api
        exchange["subject_token"] = "sps_short"
        _ = await bench.form(exchange)
        #expect(event().dropFirst() == ["credential.malformed", TokenBench.api])
        // What was done has the audience of what was issued.
        _ = await bench.refresh(token, ["audience": transfer])
        #expect(event() == ["sertft", nil, TokenBench.api])
    }

    @Test("a forged or foreign token never reaches the store")
    func forged() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let genuine = first.text("refresh_token")
        bench.store.change { $0.failure = .unavailable }
        for index in stride(from: 0, to: genuine.utf8.count, by: 3) {
            var bytes = Array(genuine.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let answer = await bench.refresh(String(decoding: bytes, as: UTF8.self))
            #expect(answer.error == "invalid_grant", "\(index)")
        }
        for other in ["", "spr_", "x", genuine + "A", String(genuine.dropLast()), first.text("access_token")] {
            #expect(await bench.refresh(other).status == 400)
        }
        // A genuine one asks the store.
        #expect(await bench.refresh(genuine).status == 503)
    }

    @Test("an outage at any step is 503, loses nobody the family and hands out nothing twice")
    func outages() async throws {
        for calls in 0..<8 {
            let bench = TokenBench()
            let first = try await bench.tokens()
            bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let failed = await bench.refresh(first.text("refresh_token"))
            #expect([200, 503].contains(failed.status))
            bench.store.change { $0.failure = nil }
            let second = await bench.refresh(first.text("refresh_token"))
            #expect(second.status == 200, "after \(calls) calls")
            #expect(await bench.refresh(second.text("refresh_token")).status == 200)
        }
    }

    @Test("it ends with the user's sessions and with a sign-out")
    func ends() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        try await bench.store.end(subject: "alice", on: bench.loop).get()
        #expect(await bench.refresh(first.text("refresh_token")).reason == .refreshUnknown)
        #expect(try await !bench.lives(first.text("access_token")))
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
        let bench = TokenBench()
        let first = try await bench.tokens()
        let answer = await bench.post(json: [
            "client_id": "native-app", "refresh_token": first.text("refresh_token"), "grant_type": "refresh_token",
            "audience": "urn:auth.example.com:session_transfer",
        ])
        #expect(answer.status == 200)
        #expect(answer.text("access_token").hasPrefix("spt_"))
        #expect(answer.text("issued_token_type") == "urn:auth0:params:oauth:token-type:session_transfer_token")
        #expect(answer.body["token_type"] == "N_A")
        #expect(answer.body["expires_in"] == .integer(60))
        #expect(await bench.refresh(answer.text("refresh_token")).status == 200)
    }

    @Test("a client that may not mint keeps its refresh token")
    func mintRefused() async throws {
        let bench = TokenBench { $0.canCreateTransferToken = false }
        let first = try await bench.tokens()
        let target = ["audience": "urn:auth.example.com:session_transfer"]
        let answer = await bench.refresh(first.text("refresh_token"), target)
        #expect(answer.error == "unauthorized_client")
        bench.clock.advance(by: .seconds(1000))
        #expect(await bench.refresh(first.text("refresh_token")).status == 200)
    }
}
