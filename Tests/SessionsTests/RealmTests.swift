import NIOCore
import Sessions
import StoreBench
import Testing
import Vocabulary

/// The users of two providers are different people, whatever their ids are.
@Suite("Realms") struct RealmTests {
    private static let staff = Realm("staff")

    private struct Lost: UserDirectory {
        func hasLostUser(of session: Session) -> Bool { session.identity.id == "gone" }
    }

    private func session(_ id: String, _ realm: Realm) -> Session {
        var session = makeSession(
            subject: id,
            lineage: testAuthority.newLineage(),
            now: UnixTime(milliseconds: 1_800_000_000_000)
        )
        session.identity.realm = realm
        return session
    }

    @Test("A user's name in the store says the realm, except that of the default one, and leads back to the user")
    func subjects() {
        let names = [Realm.default, Self.staff, Realm("staf"), Realm("s")].map { $0.subject("taff") }
        #expect(Set(names).count == 4 && names[0] == "taff")
        let user = Realm.user(of: Self.staff.subject("a\u{0}b"))
        #expect(user.realm == "staff" && user.id == "a\u{0}b")
        #expect(Realm.user(of: "ada").realm == "default" && Realm.user(of: "ada").id == "ada")
    }

    @Test("A user has two names at a provider, one of which the provider's own id may read like and not be")
    func names() {
        func user(_ name: String, ownID: String? = nil, _ realm: Realm = Self.staff) -> Identity {
            let user = Identity(id: name, traits: [:]).inRealm(realm)
            return ownID.map { user.called($0) } ?? user
        }
        let (plain, marked) = (user("ada", ownID: "ada"), user("staff|ada", ownID: "ada"))
        let lookalike = user("staff|ada", ownID: "staff|ada")
        #expect(plain.isSamePerson(as: marked) && marked.isSamePerson(as: plain))
        #expect(!plain.isSamePerson(as: lookalike) && !lookalike.isSamePerson(as: plain))
        #expect([plain, marked, lookalike].map(\.idAtProvider) == ["ada", "ada", "staff|ada"])
        #expect(user("staff|staff|ada", ownID: "staff|ada").isSamePerson(as: lookalike))
        #expect(!plain.isSamePerson(as: user("ada", ownID: "ada", .default)))
        #expect(!plain.isSamePerson(as: user("staff|ada", ownID: "ada", Realm("staf"))))
        // What an account keeps says who is meant, too.
        let account = AccountID.id(String(repeating: "a", count: 32))
        for user in [plain, marked, lookalike] {
            let linked = user.linked(to: account)
            #expect(linked.isAccount && linked.idAtProvider == user.idAtProvider && linked.isSamePerson(as: user))
            #expect(Self.staff.subjects(of: user.idAtProvider).contains(linked.subjectAtProvider))
        }
        #expect(!plain.linked(to: account).isSamePerson(as: lookalike))
        #expect(Self.staff.subjects(of: "ada") == [plain.subject, marked.subject])
        // An id that has the form of an account's is nobody's account.
        #expect(Self.staff.subjects(of: account) == [Self.staff.subject("staff|\(account)")])
    }

    @Test("Ends of all sessions of a user leave the user with the same id of another provider alone")
    func ends() throws {
        let bench = MemoryBench()
        var keys: [RecordKey] = []
        for realm in [Realm.default, Self.staff] {
            var session = self.session("ada", realm)
            session.expiresAt = bench.clock.now.advanced(by: .seconds(3600))
            session.issuedAt = bench.clock.now
            let key = bench.authority.make(.session, in: session.lineage).key
            try bench.store.create(NewSession(key: key, session: session), on: bench.loop).wait()
            keys.append(key)
        }
        try bench.store.end(subject: Self.staff.subject("ada"), on: bench.loop).wait()
        #expect(try bench.session(keys[0]) != nil)
        #expect(try bench.session(keys[1]) == nil)
    }

    @Test("To what serves one provider, the sessions of another are those of users who are gone")
    func users() {
        let users = RealmUsers(Self.staff, Lost())
        #expect(!users.hasLostUser(of: self.session("ada", Self.staff)))
        #expect(users.hasLostUser(of: self.session("gone", Self.staff)))
        #expect(users.hasLostUser(of: self.session("ada", .default)))
        let all = RealmUsers(together: [RealmUsers(.default), users])
        #expect(!all.hasLostUser(of: self.session("gone", .default)))
        #expect(all.hasLostUser(of: self.session("gone", Self.staff)))
        #expect(all.hasLostUser(of: self.session("ada", Realm("removed"))))
        #expect(all.realms.contains(.default) && all.realms.contains(Self.staff) && all.realms.areSeveral)
        #expect(!all.realms.contains(Realm("removed")))
    }

    @Test("A list of realms is the same for the same realms in the same order")
    func lists() {
        #expect(Realms([.default, Self.staff]) == Realms([Realm("default"), Realm("staff")]))
        #expect(Realms([.default, Self.staff]) != Realms([Self.staff, .default]) && Realms([]) == .default)
        #expect(!Realms([Self.staff]).contains(.default) && !Realms([Self.staff]).areSeveral)
    }
}
