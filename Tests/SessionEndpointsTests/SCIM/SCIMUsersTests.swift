import Endpoints
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Users by SCIM")
struct SCIMUsersTests {
    private static let off = SCIMBench.patch(#"{"op":"Replace","path":"active","value":"False"}"#)
    private static let on = SCIMBench.patch(#"{"op":"replace","value":{"active":true}}"#)

    @Test("A deactivated user is signed out and refused, and an active one signs in again")
    func walk() async throws {
        let bench = SCIMBench()
        let session = try await bench.signIn("00u1")
        let other = try await bench.signIn("00u2")
        let created = try await bench.ask("POST", "/Users", SCIMBench.okta("00u1", "ada@example.com"))
        #expect(created.status == 201 && created.isActive == true, "\(created.text)")
        let location = "https://app.example.com/scim/v2/Users/\(created.id)"
        #expect(created.fields.contains { $0.name == "location" && $0.value == location })
        #expect(created.json?["meta"]?["location"]?.string == location && created.json?["emails"] == nil)
        #expect(await bench.isLive(session))

        let changed = try await bench.ask("PATCH", "/Users/\(created.id)", Self.off)
        #expect(changed.status == 200 && changed.isActive == false && changed.id == created.id, "\(changed.text)")
        #expect(await !bench.isLive(session))
        #expect(await bench.refusal("00u1") == .signInBlocked)
        #expect(await bench.isLive(other))
        #expect(await bench.refusal("00u2") == nil)

        let shown = try await bench.ask("GET", "/Users/\(created.id)")
        #expect(shown.status == 200 && shown.isActive == false && shown.json?["externalId"] == "00u1")
        #expect(try await bench.ask("PATCH", "/Users/\(created.id)", Self.on).isActive == true)
        #expect(await bench.refusal("00u1") == nil)
        #expect(await !bench.isLive(session))
        #expect(
            bench.audit.acts.filter { $0 != "scim.show" } == [
                "scim.create", "scim.patch", "subjects.block 00u1", "scim.patch", "subjects.unblock 00u1",
            ]
        )
    }

    @Test("PUT changes the values that it has, and keeps the others")
    func replaced() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("00u1")
        let off = try await bench.ask("PUT", "/Users/\(id)", SCIMBench.okta("00u1", "ada@example.com", active: false))
        #expect(off.status == 200 && off.isActive == false)
        #expect(await bench.refusal("00u1") == .signInBlocked)
        let renamed = try await bench.ask("PUT", "/Users/\(id)", #"{"userName":"lovelace@example.com"}"#)
        #expect(renamed.json?["externalId"] == "00u1" && renamed.isActive == false, "\(renamed.text)")
        #expect(await bench.refusal("00u1") == .signInBlocked)
        for (filter, count) in [("lovelace@example.com", 1), ("ada@example.com", 0)] {
            let found = try await bench.ask("GET", "/Users", query: #"filter=userName eq "\#(filter)""#)
            #expect(found.json?["totalResults"] == .integer(Int64(count)), "\(filter)")
        }
    }

    @Test("Users are found by both names, inactive ones too, and userName in any letter case")
    func found() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("00u1", "Ada@example.com")
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.off)
        for filter in [#"userName eq "aDA@example.com""#, #"externalId Eq "00u1""#] {
            let found = try await bench.ask("GET", "/Users", query: "filter=\(filter)&startIndex=1&count=10")
            guard case .array(let users)? = found.json?["Resources"] else { throw NotDone(.scimUnknown) }
            #expect(users.count == 1 && users[0]["id"]?.string == id && users[0]["active"] == false, "\(found.text)")
        }
        for filter in [#"userName eq "nobody""#, #"externalId eq "00U1""#] {
            let found = try await bench.ask("GET", "/Users", query: "filter=\(filter)")
            #expect(found.status == 200 && found.json?["totalResults"] == 0, "\(found.text)")
        }
        let refused = try await bench.ask("GET", "/Users", query: #"filter=title eq "x""#)
        #expect(refused.status == 400 && refused.scimType == "invalidFilter")
    }

    @Test("Two users have no name in common")
    func duplicates() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("00u1")
        for body in [SCIMBench.okta("00u1", "b@example.com"), SCIMBench.okta("00u2", "ADA@example.com")] {
            let refused = try await bench.ask("POST", "/Users", body)
            #expect(refused.status == 409 && refused.scimType == "uniqueness", "\(refused.text)")
        }
        let other = try await bench.create("00u2", "b@example.com")
        let renamed = try await bench.ask("PUT", "/Users/\(other)", #"{"userName":"ada@example.com"}"#)
        #expect(renamed.status == 409)
        #expect(try await bench.ask("GET", "/Users/\(other)").json?["userName"] == "b@example.com")
        let taken = SCIMBench.patch(#"{"op":"replace","value":{"externalId":"00u1","active":false}}"#)
        #expect(try await bench.ask("PATCH", "/Users/\(other)", taken).status == 409)
        #expect(await bench.refusal("00u1") == nil)
        // A deactivation is carried out as far as possible.
        let session = try await bench.signIn("00u2")
        let off = SCIMBench.patch(#"{"op":"replace","value":{"userName":"ada@example.com","active":false}}"#)
        #expect(try await bench.ask("PATCH", "/Users/\(other)", off).status == 409)
        #expect(await !bench.isLive(session))
        #expect(await bench.refusal("00u2") == .signInBlocked)
        // Changes of letter case, and repeated values, are no other name.
        #expect(try await bench.ask("PUT", "/Users/\(id)", #"{"userName":"ADA@example.com"}"#).status == 200)
        #expect(try await bench.ask("GET", "/Users").json?["totalResults"] == 2)
        for body in [#"{"userName":"c"}"#, #"{"externalId":"00u3"}"#] {
            let refused = try await bench.ask("POST", "/Users", body)
            #expect(refused.status == 400 && refused.scimType == "invalidValue", "\(refused.text)")
        }
    }

    @Test("Of users who are created with one name at once, one is left")
    func race() async throws {
        let bench = SCIMBench()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await bench.ask("POST", "/Users", SCIMBench.okta("00u\(number)", "ada@example.com")).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [201] + Array(repeating: 409, count: 7), "\(statuses)")
        #expect(try await bench.ask("GET", "/Users").json?["totalResults"] == 1)
    }

    @Test("A deleted user stays blocked until the provider creates the user again")
    func deleted() async throws {
        let bench = SCIMBench()
        let session = try await bench.signIn("00u1")
        let id = try await bench.create("00u1")
        #expect(try await bench.ask("DELETE", "/Users/\(id)").status == 204)
        #expect(await !bench.isLive(session))
        #expect(await bench.refusal("00u1") == .signInBlocked)
        for method in ["GET", "DELETE"] {
            #expect(try await bench.ask(method, "/Users/\(id)").status == 404)
        }
        #expect(try await bench.ask("PATCH", "/Users/\(id)", Self.on).status == 404)
        #expect(try await bench.ask("GET", "/Users").json?["totalResults"] == 0)
        let again = try await bench.create("00u1")
        #expect(again != id)
        #expect(await bench.refusal("00u1") == nil)
    }

    @Test("A user who is created inactive is blocked")
    func createdInactive() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("00u1", active: false)
        #expect(await bench.refusal("00u1") == .signInBlocked)
        #expect(try await bench.ask("GET", "/Users/\(id)").isActive == false)
    }

    @Test("An operator's block stays, whatever the provider says, and an operator lifts both")
    func operators() async throws {
        let bench = SCIMBench()
        let users = UserSessions(sessions: bench.sessions)
        let names = UserNames(own: ["00u1"], accounts: [])
        func block() async throws {
            _ = try await users.block(
                names,
                as: "00u1",
                of: nil,
                until: nil,
                note: "theft",
                by: "ops",
                for: SCIMBench.requester
            )
        }
        let id = try await bench.create("00u1")
        // The operator is first.
        try await block()
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.off)
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.on)
        #expect(await bench.refusal("00u1") == .signInBlocked)
        let standing = try #require(try await users.blocks().first { $0.names.contains("00u1") })
        #expect(standing.note == "theft" && standing.changedBy == "ops" && !standing.isDeprovisioned)
        // The provider is first.
        try await users.unblock(names, by: "ops")
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.off)
        try await block()
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.on)
        #expect(await bench.refusal("00u1") == .signInBlocked)
        try await users.unblock(names, by: "ops")
        #expect(await bench.refusal("00u1") == nil)
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.off)
        try await users.unblock(names, by: "ops")
        #expect(await bench.refusal("00u1") == nil)
    }

    @Test("Another externalId is another user; the former one is signed out, and stays blocked")
    func renamed() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("former")
        let session = try await bench.signIn("former")
        let rename = SCIMBench.patch(#"{"op":"replace","path":"externalId","value":"wrong"}"#)
        #expect(try await bench.ask("PATCH", "/Users/\(id)", rename).isActive == true)
        #expect(await !bench.isLive(session))
        #expect(await bench.refusal("former") == nil)
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.off)
        let body = SCIMBench.patch(#"{"op":"replace","path":"externalId","value":"00u1"}"#)
        #expect(try await bench.ask("PATCH", "/Users/\(id)", body).isActive == false)
        #expect(await bench.refusal("00u1") == .signInBlocked)
        #expect(await bench.refusal("wrong") == .signInBlocked)
        // An active user is let in under each new name.
        let other = try await bench.create("00u2", "b@example.com")
        #expect(try await bench.ask("DELETE", "/Users/\(other)").status == 204)
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.on)
        #expect(await bench.refusal("00u2") == .signInBlocked)
        _ = try await bench.ask("PUT", "/Users/\(id)", #"{"userName":"ada","externalId":"00u2"}"#)
        #expect(await bench.refusal("00u2") == nil)
    }

    @Test("Pages of a list have every user once")
    func pages() async throws {
        let bench = SCIMBench()
        var ids: Set<String> = []
        for number in 1...7 { ids.insert(try await bench.create("00u\(number)", "user\(number)")) }
        var seen: [String] = []
        for start in [1, 4, 7, 10] {
            let page = try await bench.ask("GET", "/Users", query: "startIndex=\(start)&count=3")
            guard case .array(let users)? = page.json?["Resources"] else { throw NotDone(.scimUnknown) }
            #expect(page.json?["totalResults"] == 7 && page.json?["itemsPerPage"] == .integer(Int64(users.count)))
            seen += users.compactMap { $0["id"]?.string }
        }
        #expect(Set(seen) == ids && seen.count == 7)
        for (query, count) in [("count=0", 0), ("count=-1", 0), ("startIndex=0", 7), ("startIndex=-5&count=2", 2)] {
            let page = try await bench.ask("GET", "/Users", query: query)
            #expect(page.json?["itemsPerPage"] == .integer(Int64(count)) && page.json?["totalResults"] == 7, "\(query)")
        }
        for query in ["count=x", "startIndex=99999999999999999999", "count=1&count=2", "filter=a&filter=b"] {
            #expect(try await bench.ask("GET", "/Users", query: query).status == 400, "\(query)")
        }
    }

    @Test("With a trait, users are found by what they had at their sign-ins, and refused if they never signed in")
    func trait() async throws {
        let bench = SCIMBench(trait: "oid")
        let session = try await bench.signIn("pairwise-1", oid: "0a21")
        let other = try await bench.signIn("pairwise-2", oid: "0a22")
        let id = try await bench.create("0a21")
        _ = try await bench.create("0a23", "c@example.com", active: false)
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.off)
        #expect(await !bench.isLive(session))
        #expect(await bench.isLive(other))
        #expect(await bench.refusal("pairwise-1", oid: "0a21") == .signInBlocked)
        #expect(await bench.refusal("pairwise-1") == .signInBlocked)
        #expect(await bench.refusal("pairwise-3", oid: "0a23") == .signInBlocked)
        // The provider's own id is not compared.
        #expect(await bench.refusal("0a21") == nil)
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.on)
        #expect(await bench.refusal("pairwise-1", oid: "0a21") == nil)
    }

    @Test("With a trait, all users of the provider with its value are signed out")
    func shared() async throws {
        let bench = SCIMBench(trait: "oid")
        let sessions = [
            try await bench.signIn("pairwise-1", oid: "0a21"), try await bench.signIn("pairwise-2", oid: "0a21"),
        ]
        let id = try await bench.create("0a21")
        _ = try await bench.ask("PATCH", "/Users/\(id)", Self.off)
        for session in sessions { #expect(await !bench.isLive(session)) }
    }

    @Test("Of a deactivation and an activation at once, one is last, and the block is as the user is shown")
    func opposed() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("00u1")
        for _ in 0..<40 {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for body in [Self.off, Self.on] {
                    group.addTask { try await bench.ask("PATCH", "/Users/\(id)", body).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            let isActive = try await bench.ask("GET", "/Users/\(id)").isActive
            #expect(await bench.refusal("00u1") == (isActive == true ? nil : .signInBlocked))
        }
    }

    @Test("While the store is away, nothing is said to be done, and a repetition ends in the same state")
    func outage() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("00u1")
        var calls = 0
        while calls < 200 {
            bench.store.change { [calls] in ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let answer = try await bench.ask("PATCH", "/Users/\(id)", Self.off)
            bench.store.fail(with: nil)
            if answer.status == 200 { break }
            #expect(answer.status == 503 && answer.fields.contains { $0.name == "retry-after" }, "\(answer.text)")
            // A user who is shown as inactive is blocked.
            if try await bench.ask("GET", "/Users/\(id)").isActive == false {
                #expect(await bench.refusal("00u1") == .signInBlocked, "\(calls)")
            }
            calls += 1
        }
        #expect((5..<200).contains(calls))
        #expect(await bench.refusal("00u1") == .signInBlocked)
    }

    @Test("Without room for a block, the user is signed out, and the provider hears that it is not done")
    func full() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("00u1")
        let session = try await bench.signIn("00u1")
        bench.store.change { $0.isFullOfDocuments = true }
        #expect(try await bench.ask("PATCH", "/Users/\(id)", Self.off).status == 503)
        #expect(await !bench.isLive(session))
        #expect(try await bench.ask("GET", "/Users/\(id)").isActive == true)
    }

    @Test("Only the scope scim opens the endpoints, and refusals are SCIM's")
    func scopes() async throws {
        let bench = SCIMBench(scopes: [.read, .sessions, .clients])
        for (method, path) in [
            ("GET", "/Users"), ("POST", "/Users"), ("PATCH", "/Users/x"), ("GET", "/ServiceProviderConfig"),
            ("GET", "/Groups"),
        ] {
            let answer = try await bench.ask(method, path, "{}")
            #expect(answer.status == 403 && answer.json?["status"] == "403", "\(method) \(path): \(answer.text)")
            #expect(answer.json?["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"])
        }
        let stranger = try await bench.ask("GET", "/Users", token: "another")
        #expect(stranger.status == 401 && stranger.fields.contains { $0.name == "www-authenticate" })
    }

    @Test("Clients learn what is supported, and groups are not")
    func discovery() async throws {
        let bench = SCIMBench()
        let configuration = try await bench.ask("GET", "/ServiceProviderConfig")
        #expect(configuration.status == 200 && configuration.json?["patch"]?["supported"] == true)
        #expect(configuration.json?["bulk"]?["supported"] == false)
        for (path, id) in [("/ResourceTypes", "User"), ("/Schemas", SCIMBench.user)] {
            let list = try await bench.ask("GET", path)
            #expect(list.json?["totalResults"] == 1 && list.text.contains(#""id":"\#(id)""#), "\(list.text)")
            #expect(try await bench.ask("GET", "\(path)/\(id)").id == id)
        }
        for (method, path) in [
            ("GET", "/Groups"), ("POST", "/Groups"), ("PATCH", "/Groups/x"), ("POST", "/Bulk"), ("GET", "/Me"),
            ("GET", "/Schemas/x"),
        ] {
            let answer = try await bench.ask(method, path, "{}")
            #expect(answer.status == 501 && answer.json?["status"] == "501", "\(method) \(path): \(answer.text)")
        }
    }

    @Test("Any body gets an answer, and none makes the gateway forget a block")
    func anything() async throws {
        let bench = SCIMBench()
        let id = try await bench.create("00u1", active: false)
        let broken = ["", "{", "[]", "null", "\u{FEFF}{}", #"{"a":1e999}"#, #"{"a":1,"a":2}"#]
        let others = [#"{"Operations":null}"#, #"{"Operations":[null]}"#, "{}"]
        for (method, bodies) in [("PUT", broken), ("PATCH", broken + others)] {
            for body in bodies {
                let answer = try await bench.ask(method, "/Users/\(id)", body)
                #expect(answer.status == 400 && answer.scimType == "invalidSyntax", "\(method) \(body): \(answer.text)")
            }
        }
        #expect(await bench.refusal("00u1") == .signInBlocked)
    }
}
