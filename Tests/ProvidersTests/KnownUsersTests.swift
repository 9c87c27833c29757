import Providers
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("Users of the settings across reloads")
struct KnownUsersTests {
    private func settings(_ users: (id: String, hash: String)...) -> FixedUsersSettings {
        FixedUsersSettings(
            users.enumerated().map { number, user in
                UserSettings(
                    identifier: "name-\(number)",
                    id: user.id,
                    passwordHash: Secret(user.hash),
                    traits: [:],
                    aal: .aal1
                )
            }
        )
    }

    /// The ids of users who are gone, and of users with another password.
    private func changes(_ users: KnownUsers, _ settings: (any ProviderSettings)?) -> [[String]] {
        let changes = users.adopt(settings)
        return [changes.gone, changes.changed]
    }

    @Test("The first settings change nothing; later ones remove users, and give them other passwords")
    func changes() {
        let users = KnownUsers()
        #expect(self.changes(users, self.settings(("ada", "1"), ("bob", "1"))) == [[], []])
        #expect(self.changes(users, self.settings(("bob", "2"), ("ada", "1"))) == [[], ["bob"]])
        #expect(self.changes(users, self.settings(("bob", "2"))) == [["ada"], []])
        #expect(self.changes(users, nil) == [[], []])
        #expect(
            self.changes(users, self.settings(("bob", "2"), ("ada", "3"))) == [[], ["ada"]],
            "she was known before"
        )
        #expect(self.changes(users, self.settings(("bob", "2"), ("bob", "4"), ("ada", "3"))) == [[], ["bob"]])
    }

    @Test("Users of a provider that a reload puts beside another one are the same users")
    func names() {
        let users = KnownUsers()
        func named(_ mark: String) -> FixedUsersSettings {
            var settings = self.settings(("ada", "1"))
            settings.users[0].id = mark + "ada"
            return settings
        }
        #expect(self.changes(users, named("")) == [[], []])
        #expect(self.changes(users, named("staff|")) == [[], []])
        #expect(self.changes(users, self.settings(("ada", "2"))) == [[], ["ada"]])
    }

    @Test("Sessions that could not be ended are to be ended again, also after the user was away")
    func unended() {
        let users = KnownUsers()
        let settings = self.settings(("ada", "2"))
        _ = users.adopt(self.settings(("ada", "1")))
        #expect(self.changes(users, settings) == [[], ["ada"]])
        users.noteUnended("ada")
        #expect(self.changes(users, self.settings()) == [["ada"], []])
        #expect(self.changes(users, settings) == [[], ["ada"]])
        #expect(self.changes(users, settings) == [[], []])
    }

    @Test("A configuration's password is a former one from the moment in which other settings are adopted")
    func formerPassword() {
        func session(of id: String, _ methods: [String] = ["password"], at provider: String? = nil) -> Session {
            let now = UnixTime(seconds: 1_800_000_000)
            return Session(
                id: "ses_1",
                kind: .native,
                origin: .native,
                lineage: Lineage(tag: "aaaaaaaaaa"),
                identity: Identity(id: id, traits: [:]),
                aal: .aal1,
                methods: methods,
                authenticatedAt: now,
                issuedAt: now,
                expiresAt: now.advanced(by: .seconds(60)),
                idleLifetime: .seconds(60),
                provider: provider.map { ProviderSession(name: $0) }
            )
        }
        func provider(_ settings: FixedUsersSettings, _ known: KnownUsers?) -> StaticProvider {
            StaticProvider(users: settings.users, known: known)
        }
        let (users, first) = (KnownUsers(), self.settings(("ada", "1"), ("bob", "1")))
        let former = provider(first, users)
        _ = users.adopt(first)
        let all = ["ada", "bob"].map { session(of: $0) }
        #expect(all.map(former.hasFormerPassword) == [false, false])
        let next = self.settings(("ada", "2"))
        _ = users.adopt(next)
        #expect(all.map(former.hasFormerPassword) == [true, true], "changed, and gone")
        #expect(!provider(next, users).hasFormerPassword(all[0]))
        users.noteUnended("ada")
        #expect(!provider(next, users).hasFormerPassword(all[0]), "her new password is right all the same")
        #expect(!former.hasFormerPassword(session(of: "ada", ["oidc"])))
        #expect(!former.hasFormerPassword(session(of: "ada", at: "https://idp.example.com")))
        #expect(!provider(first, nil).hasFormerPassword(all[0]))
        _ = users.adopt(nil)
        #expect(former.hasFormerPassword(all[0]))
        _ = users.adopt(first)
        #expect(all.map(former.hasFormerPassword) == [false, false], "the operator took the change back")
    }
}
