import Cryptography
import NIOCore
import NIOPosix
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// A gateway's clients with a store that keeps what is changed of them.
struct EditorBench {
    static let file = """
        clients:
          - client_id: native
            app_type: native
            session_transfer: {can_create_session_transfer_token: true}
          - client_id: web
            client_secret_file: web.secret
            session_transfer: {allowed_authentication_methods: [cookie], enforce_device_binding: asn}

        """

    let store: MemoryStore
    let caches = SessionCaches()
    let clock = MovableClock()
    let ring: SealingKeyRing
    let overlay: ClientOverlay
    let registry: ClientRegistry
    let editor: ClientEditor

    init(
        _ file: String = Self.file,
        sharing store: MemoryStore? = nil,
        secrets: [String] = ["a secret of the tests of clients"]
    ) throws {
        let loops = MultiThreadedEventLoopGroup.singleton
        let kept = store ?? MemoryStore(maxSessions: 4, maxMarkers: 4, clock: self.clock.clock, caches: self.caches)
        self.store = kept
        self.ring = SealingKeyRing(
            current: Secret(Array(secrets[0].utf8)),
            accepted: secrets.dropFirst().map { Secret(Array($0.utf8)) }
        )
        self.overlay = ClientOverlay(store: kept, ring: self.ring, loops: loops, clock: self.clock.clock)
        let registry = try Self.registry(file)
        self.overlay.attach(registry)
        self.registry = registry
        self.editor = ClientEditor(overlay: self.overlay) { registry }
    }

    static func registry(_ file: String) throws -> ClientRegistry {
        let files = [
            "/sallyport.yaml": """
            public_url: http://127.0.0.1:8080
            upstream: http://127.0.0.1:3000
            provider: {kratos: {public_url: "http://127.0.0.1:4433"}}
            asn: {csv: /asn.csv}
            \(file)
            """, "/web.secret": "the web client's secret\n",
            "/asn.csv": "192.0.2.0/24,64496\n",
        ]
        let source = SettingsFiles(
            read: { path, _ throws(SettingsFiles.Fault) in
                guard let text = files[path] else { throw SettingsFiles.Fault("no such file") }
                return Array(text.utf8)
            },
            isReadable: { files[$0] != nil }
        )
        let loaded = try SettingsLoader.load(
            file: "/sallyport.yaml",
            environment: [:],
            flags: InsecureFlags(http: true),
            files: source
        )
        return ClientRegistry(loaded.settings.clients, base: loaded.clients)
    }

    /// What the store has of a client.
    func stored(_ id: String) async throws -> Stored<ClientChange>? {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        return try await self.store.document(id, as: ClientChange.self, on: loop).get()
    }
}

@Suite("Changes of clients at run time") struct ClientEditorTests {
    /// The key that is at fault; else the reason.
    private func refusal(_ body: () async throws(NotDone) -> ClientEditor.Outcome) async -> String {
        do throws(NotDone) {
            _ = try await body()
            return "none"
        } catch {
            return error.text.map { String($0.prefix { $0 != ":" }) } ?? error.reason.rawValue
        }
    }

    @Test("A member is changed for all readers, the others stay, and what differs from the file is told")
    func update() async throws {
        let bench = try EditorBench()
        let patch: JSONValue = ["session_transfer": ["enforce_device_binding": "ip"], "name": "Shop"]
        let outcome = try await bench.editor.update("web", patch, by: "ops")
        #expect(outcome.changed == ["name", "session_transfer.enforce_device_binding"])
        let web = try #require(bench.registry.snapshot.client("web"))
        #expect(web.binding == .ip && web.allowsCookie && web.clientSecrets.count == 1)
        let shown = outcome.client.members
        #expect(shown["name"] == "Shop" && shown["session_transfer"]?["allowed_authentication_methods"] == ["cookie"])
        #expect(outcome.client.drift.map(\.path) == ["name", "session_transfer.enforce_device_binding"])
        #expect(outcome.client.drift.allSatisfy { $0.mark?.by == "ops" && $0.mark?.at == bench.clock.now })
        bench.clock.advance(by: .seconds(60))
        let again = try await bench.editor.update("web", ["name": "Shop 2"], by: "desk")
        let marks = again.client.drift.compactMap(\.mark)
        #expect(marks.map(\.by) == ["desk", "ops"] && marks[0].at.since(marks[1].at) == .seconds(60))
    }

    @Test("A client that is as the file has it again has no change in the store")
    func back() async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.update("web", ["session_transfer": ["enforce_device_binding": "none"]], by: "ops")
        #expect(try await bench.stored("web") != nil)
        _ = try await bench.editor.update("web", ["session_transfer": ["enforce_device_binding": "asn"]], by: "ops")
        #expect(try await bench.stored("web") == nil)
        #expect(bench.registry.catalogue.client("web")?.drift == [])
        // What counts anyway, if it is said, is no difference.
        _ = try await bench.editor.update("native", ["session_transfer": ["enforce_device_binding": "ip"]], by: "ops")
        #expect(try await bench.stored("native") == nil)
    }

    @Test("null removes a member, so that the default counts")
    func removed() async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.update("web", ["session_transfer": ["enforce_device_binding": .null]], by: "ops")
        #expect(bench.registry.snapshot.client("web")?.binding == .ip)
        _ = try await bench.editor.update("web", ["session_transfer": .null], by: "ops")
        #expect(bench.registry.snapshot.client("web")?.allowsCookie == false)
        #expect(
            bench.registry.catalogue.client("web")?.drift.map(\.path) == [
                "session_transfer.allowed_authentication_methods", "session_transfer.enforce_device_binding",
            ]
        )
    }

    @Test("A change that the file could not say changes nothing")
    func invalid() async throws {
        let bench = try EditorBench()
        let patch: JSONValue = ["session_transfer": ["enforce_device_binding": "imei"]]
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.update("web", patch, by: "ops")
            }
                == "session_transfer.enforce_device_binding"
        )
        #expect(try await bench.stored("web") == nil && bench.registry.snapshot.client("web")?.binding == .asn)
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.update("web", ["client_id": "other"], by: "ops")
            } == "client_id"
        )
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.update("web", ["client_id": .null], by: "ops")
            } == "client_id"
        )
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.update("web", ["app_type": "native"], by: "ops")
            } == "app_type"
        )
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.update("nobody", ["name": "x"], by: "ops")
            } == "client.unknown"
        )
        let large: JSONValue = ["description": .string(String(repeating: "a", count: 70_000))]
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.update("web", large, by: "ops")
            }
                == "(the whole client)"
        )
    }

    @Test("A client that is made gets an id and a secret, which is shown once; a native app gets no secret")
    func created() async throws {
        let bench = try EditorBench()
        let made = try await bench.editor.create(["name": "Shop", "app_type": "regular_web"], by: "ops")
        let secret = try #require(made.generated)
        #expect(secret.bytes.count == 64 && made.client.id.utf8.count == 32)
        #expect(bench.registry.snapshot.client(made.client.id)?.clientSecrets == [secret])
        #expect(made.client.members["client_secret"] == nil && made.client.members["token_endpoint_auth_method"] == nil)
        #expect(made.client.drift.map(\.path) == [""])
        let native = try await bench.editor.create(["app_type": "native", "client_id": "app"], by: "ops")
        #expect(native.generated == nil && bench.registry.snapshot.client("app")?.isPublic == true)
        #expect(native.client.members["token_endpoint_auth_method"] == "none")
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.create(["client_id": "app"], by: "ops")
            } == "client.exists"
        )
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.create(["client_id": "a b"], by: "ops")
            } == "client_id"
        )
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.create(["client_secret": "short"], by: "ops")
            } == "client_secret"
        )
        let given = try await bench.editor.create(["client_secret": "a secret of an operator"], by: "ops")
        #expect(given.generated == nil)
        var writer = CompactWriter()
        try #require(try await bench.stored(made.client.id)).record.write(to: &writer)
        #expect(!String(decoding: writer.bytes, as: UTF8.self).contains(String(decoding: secret.bytes, as: UTF8.self)))
    }

    @Test("A secret in place of the file's counts until null takes it away; without a file null is refused")
    func secrets() async throws {
        let bench = try EditorBench()
        let file = try #require(bench.registry.snapshot.client("web")).clientSecrets
        let outcome = try await bench.editor.update("web", ["client_secret": "another secret of web"], by: "ops")
        #expect(outcome.client.drift.map(\.path) == ["client_secret"] && outcome.changed == ["client_secret"])
        #expect(bench.registry.snapshot.client("web")?.clientSecrets == [Secret(Array("another secret of web".utf8))])
        _ = try await bench.editor.update("web", ["client_secret": .null], by: "ops")
        #expect(bench.registry.snapshot.client("web")?.clientSecrets == file)
        let made = try await bench.editor.create([:], by: "ops").client.id
        #expect(
            await self.refusal { () throws(NotDone) in
                try await bench.editor.update(made, ["client_secret": .null], by: "ops")
            } == "client_secret"
        )
        _ = try await bench.editor.update(made, ["token_endpoint_auth_method": "none"], by: "ops")
        #expect(bench.registry.snapshot.client(made)?.isPublic == true)
    }

    @Test("A client of the file that was deleted stays so, is told, and can be made again")
    func deleted() async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.delete("native", by: "ops")
        #expect(bench.registry.snapshot.client("native") == nil && bench.registry.catalogue.client("native") == nil)
        #expect(bench.registry.catalogue.deleted.map(\.id) == ["native"])
        #expect(bench.registry.catalogue.deleted.first?.mark?.by == "ops")
        #expect(
            await self.refusal { () throws(NotDone) in try await bench.editor.delete("native", by: "ops") }
                == "client.unknown"
        )
        let members: JSONValue = [
            "client_id": "native", "app_type": "native",
            "session_transfer": ["can_create_session_transfer_token": true],
        ]
        bench.clock.advance(by: .seconds(1))
        let again = try await bench.editor.create(members, by: "ops")
        #expect(bench.registry.snapshot.client("native")?.canCreateTransferToken == true)
        #expect(again.client.drift.isEmpty && bench.registry.catalogue.deleted.isEmpty)
        // What is kept of it is when it began.
        #expect(try await bench.stored("native")?.record.patch == [:])
        let made = try await bench.editor.create(["app_type": "spa"], by: "ops").client.id
        _ = try await bench.editor.delete(made, by: "ops")
        #expect(try await bench.stored(made) == nil && bench.registry.snapshot.client(made) == nil)
    }

    private func keeps(_ bench: EditorBench, _ id: String, _ seconds: Int64) -> Bool {
        bench.registry.hasExisted(id, of: .default, since: bench.clock.now.advanced(by: .seconds(seconds)))
    }

    @Test("A client that was never deleted keeps what it got at any time, whatever is changed of it")
    func kept() async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.update("native", ["name": "App"], by: "ops")
        _ = try await bench.editor.update("web", ["client_secret": "another secret of the web client"], by: "ops")
        for id in ["native", "web"] { #expect(self.keeps(bench, id, -100_000_000)) }
        #expect(!bench.registry.hasExisted("native", of: Realm("other"), since: bench.clock.now))
        #expect(!self.keeps(bench, "nobody", 0))
    }

    @Test("A client that is made again has nothing of what another with its id had, of the file or made at run time")
    func beginning() async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.create(["client_id": "shop", "app_type": "spa"], by: "ops")
        bench.clock.advance(by: .seconds(60))
        #expect(self.keeps(bench, "shop", -60))
        for id in ["native", "shop"] {
            let former = bench.registry.snapshot
            _ = try await bench.editor.delete(id, by: "ops")
            #expect(!self.keeps(bench, id, 100))
            #expect(bench.registry.snapshot.losses(since: former) == [.client(id, before: nil)])
            bench.clock.advance(by: .seconds(60))
            _ = try await bench.editor.create(["client_id": .string(id), "app_type": "native"], by: "ops")
            bench.clock.advance(by: .seconds(60))
            // A change, also one back to what the file says, and a secret move nothing.
            _ = try await bench.editor.update(id, ["name": "Shop"], by: "ops")
            _ = try await bench.editor.update(id, ["name": .null], by: "ops")
            #expect(self.keeps(bench, id, -60) && !self.keeps(bench, id, -61))
            // Another gateway of the store judges alike.
            let other = try EditorBench(sharing: bench.store)
            await other.overlay.refresh()
            let time = bench.clock.now.advanced(by: .seconds(-61))
            #expect(!other.registry.hasExisted(id, of: .default, since: time))
            #expect(other.registry.hasExisted(id, of: .default, since: time.advanced(by: .seconds(1))))
        }
    }

    @Test("What is left of a client that the file does not have any more is no client")
    func orphan() async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.update("native", ["name": "App"], by: "ops")
        let file = EditorBench.file.replacing("client_id: native\n", with: "client_id: renamed\n")
        let other = try EditorBench(file, sharing: bench.store)
        await other.overlay.refresh()
        #expect(other.registry.snapshot.client("native") == nil && other.registry.catalogue.client("native") == nil)
        #expect(other.registry.catalogue.clients.map(\.id) == ["renamed", "web"])
        _ = try await other.editor.create(["client_id": "native", "app_type": "spa"], by: "ops")
        #expect(other.registry.catalogue.client("native")?.members["name"] == nil)
    }

    @Test("One that leaves the file and comes back has nothing of what it had")
    func departure() async throws {
        let bench = try EditorBench()
        let without = try EditorBench.registry(
            EditorBench.file.replacing("client_id: native\n", with: "client_id: app\n")
        )
        bench.overlay.attach(without)
        bench.overlay.noteDepartures(of: bench.registry.base.ids, from: without.base)
        let back = try EditorBench.registry(EditorBench.file)
        bench.overlay.attach(back)
        let now = bench.clock.now
        #expect(!back.hasExisted("native", of: .default, since: now.advanced(by: .seconds(-1))))
        #expect(back.hasExisted("native", of: .default, since: now.advanced(by: .seconds(1))))
        #expect(back.hasExisted("web", of: .default, since: now.advanced(by: .seconds(-100_000))))
    }

    @Test("Before the changes are read, nobody knows that a client is gone")
    func unread() async throws {
        let bench = try EditorBench()
        #expect(self.keeps(bench, "nobody", -1))
        await bench.overlay.refresh()
        #expect(!self.keeps(bench, "nobody", -1))
    }

    @Test("Another gateway of the store follows, and a file that a change does not fit withholds that client alone")
    func others() async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.update("web", ["is_token_endpoint_ip_header_trusted": true], by: "ops")
        _ = try await bench.editor.update("native", ["name": "App"], by: "ops")
        let other = try EditorBench(
            EditorBench.file.replacing("    client_secret_file: web.secret\n", with: ""),
            sharing: bench.store
        )
        await other.overlay.refresh()
        #expect(other.registry.snapshot.client("web") == nil && other.registry.snapshot.client("native") != nil)
        #expect(other.registry.catalogue.withheld["web"]?.key == "is_token_endpoint_ip_header_trusted")
        #expect(other.registry.catalogue.client("native")?.members["name"] == "App")
        #expect(other.registry.catalogue.client("web")?.fault != nil)
        _ = try await other.editor.update("web", ["is_token_endpoint_ip_header_trusted": .null], by: "ops")
        #expect(other.registry.snapshot.client("web") != nil)
    }

    @Test("After a rotation of the gateway's secret the changes are sealed under the new one")
    func resealed() async throws {
        let bench = try EditorBench()
        let made = try await bench.editor.create([:], by: "ops")
        let rotated = try EditorBench(
            sharing: bench.store,
            secrets: ["another secret of the tests of clients", "a secret of the tests of clients"]
        )
        await rotated.overlay.refresh()
        let late = try EditorBench(sharing: bench.store, secrets: ["another secret of the tests of clients"])
        await late.overlay.refresh()
        #expect(late.registry.snapshot.client(made.client.id)?.clientSecrets == [try #require(made.generated)])
    }

    @Test("Changes that cannot be read leave the last ones in use")
    func unreadable() async throws {
        let bench = try EditorBench()
        _ = try await bench.editor.update("web", ["name": "Shop"], by: "ops")
        let other = try EditorBench(sharing: bench.store, secrets: ["a secret that opens nothing of it"])
        await other.overlay.refresh()
        #expect(other.overlay.isUnreadable && !other.overlay.hasRead)
        #expect(other.registry.snapshot.client("web")?.binding == .asn)
    }
}
