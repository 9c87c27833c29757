import Settings
import Testing
import Vocabulary

@Suite("The store's settings")
struct StoreTests {
    private static let secret = ["SALLYPORT_SECRET_FILE": "/etc/sallyport/secret"]
    private static let url = "redis://sallyport:\(canary)@127.0.0.1:6379/2"

    private static func bench(_ environment: [String: String]) -> SettingsBench {
        var bench = SettingsBench(environment: secret.merging(environment) { $1 })
        bench.files["/etc/sallyport/redis-url"] = Array("\(self.url)\n".utf8)
        bench.judges.redisURL = { $0.bytes.contains(UInt8(ascii: "!")) ? "an exclamation mark is no port" : nil }
        return bench
    }

    @Test("one variable moves sessions from memory to Redis, and nothing else changes")
    func oneVariable() throws {
        var expected = try #require(
            try? SettingsBench(environment: Self.secret).load(SettingsBench.base).get().settings
        )
        #expect(expected.store.redis == nil)
        expected.store.redis = RedisSettings(url: Secret(Self.url))
        for environment in [
            ["SALLYPORT_REDIS_URL": Self.url], ["SALLYPORT_REDIS_URL_FILE": "/etc/sallyport/redis-url"],
        ] {
            #expect(try Self.bench(environment).load(SettingsBench.base).get().settings == expected)
        }
    }

    @Test("the file names Redis by a URL or by a file with one, and a variable beats either")
    func inTheFile() throws {
        let other = "rediss://other"
        for key in ["url: \"\(Self.url)\"", "url_file: redis-url"] {
            let text = SettingsBench.base + "store: {redis: {\(key), require_safe: false, require_appendonly: true}}\n"
            var redis = RedisSettings(url: Secret(Self.url))
            redis.requireSafe = false
            redis.requireAppendOnly = true
            #expect(try Self.bench([:]).load(text).get().settings.store.redis == redis)
            redis.url = Secret(other)
            #expect(try Self.bench(["SALLYPORT_REDIS_URL": other]).load(text).get().settings.store.redis == redis)
        }
    }

    @Test("Redis without the secret that gateways share does not start, and the problem names both")
    func needsSecret() {
        let problems = SettingsBench(environment: ["SALLYPORT_REDIS_URL": Self.url]).problems(SettingsBench.base)
        #expect(problems.map(\.key) == ["secret_file"])
        let text = problems.first?.description ?? ""
        #expect(text.contains("store.redis") && text.contains("SALLYPORT_SECRET_FILE"), "\(text)")
        // A secret that is there and wrong is one problem, not two.
        var bench = Self.bench(["SALLYPORT_REDIS_URL": Self.url])
        bench.files["/etc/sallyport/secret"] = []
        #expect(bench.problems(SettingsBench.base).map(\.found) == ["no secret"])
    }

    @Test("a wrong URL is reported with its place and advice, and never shown")
    func wrongURLs() {
        let wrong = [
            (["SALLYPORT_REDIS_URL": "redis://u:\(canary)!@h"], "", "store.redis.url", "exclamation mark"),
            (["SALLYPORT_REDIS_URL": canary], "", "store.redis.url", "write redis://"),
            (["SALLYPORT_REDIS_URL": "redis://\(canary) @h"], "", "store.redis.url", "without spaces"),
            (["SALLYPORT_REDIS_URL": "redisx://\(canary)"], "", "store.redis.url", "write redis://"),
            ([:], "url: \"redis://:\(canary)!@h\"", "store.redis.url", "exclamation mark"),
            ([:], "url_file: secret", "store.redis.url_file", "write redis://"),
            ([:], "url_file: /nowhere", "store.redis.url_file", "check the path"),
            ([:], "url: \"\(Self.url)\", url_file: redis-url", "store.redis.url_file", "remove one"),
            ([:], "require_safe: true", "store.redis.url", "SALLYPORT_REDIS_URL"),
        ]
        for (environment, redis, key, fix) in wrong {
            let text = SettingsBench.base + (redis.isEmpty ? "" : "store: {redis: {\(redis)}}\n")
            let problems = Self.bench(environment).problems(text)
            #expect(problems.map(\.key) == [key], "\(redis): \(problems)")
            #expect(problems.first?.fix.contains(fix) == true, "\(problems)")
            #expect(!SettingsFailure(problems).description.contains(canary), "\(problems)")
        }
    }

    @Test("what check prints holds neither the URL nor a warning of it")
    func description() throws {
        let loaded = try Self.bench(["SALLYPORT_REDIS_URL": Self.url])
            .load(SettingsBench.base + "store: {memory: {max_sessions: 5}}\n").get()
        #expect(loaded.describe().contains("store.redis.url: <redacted>  # SALLYPORT_REDIS_URL"))
        #expect(!loaded.describe().contains(canary) && !String(describing: loaded.settings).contains(canary))
        let warnings = loaded.warnings.filter { !$0.hasPrefix("trusted_proxies is empty") }
        #expect(warnings.count == 1 && warnings.first?.contains("store.memory") == true)
    }
}

@Suite("The file of secrets")
struct SecretFileTests {
    private static let one = String(repeating: "1", count: 32)
    private static let two = String(repeating: "2", count: 44)
    private static let three = String(repeating: "3", count: 64)

    private static func ring(_ text: String) throws(SecretFile.Fault) -> [String] {
        try SecretFile(Array(text.utf8)).ring.all.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test("the first secret signs, all are accepted, and blanks that editors leave are ignored")
    func reads() throws {
        for text in [Self.one, "\(Self.one)\n", "\(Self.one)\r\n", "\n \(Self.one)\t\n\n", "# one\n\(Self.one)"] {
            #expect(try Self.ring(text) == [Self.one])
        }
        #expect(try Self.ring("\(Self.two)\r\n\(Self.one)\r\n") == [Self.two, Self.one])
    }

    @Test("a file that is not a list of secrets is reported without showing it")
    func refuses() {
        let wrong = [
            ("", "no secret"), ("\n# \(Self.one)\n", "no secret"),
            (String(Self.one.dropLast()), "a secret of 31 bytes"),
            ("\(Self.one)\nshort\n", "a secret of 5 bytes in line 2"),
            ("\(Self.one)\n\n\(Self.one)", "a secret a second time in line 3"),
            ((0...8).map { "\($0)\(Self.one)\n" }.joined(), "9 secrets"),
        ]
        for (text, found) in wrong {
            let fault = #expect(throws: SecretFile.Fault.self) { try SecretFile(Array(text.utf8)) }
            #expect(fault?.found == found)
            #expect(fault.map { !$0.fix.contains(Self.one) } == true)
        }
    }

    @Test("a rotation adds, promotes and retires, and no step loses a secret that is still needed")
    func rotates() throws {
        func read(_ file: SecretFile) throws -> SecretFile { try SecretFile(file.bytes) }
        let secrets = [Self.one, Self.two, Self.three].map { Secret($0) }
        var file = SecretFile(secrets[0])
        let isPromoted = file.promote()
        #expect(!isPromoted, "nothing waits")
        let isAdded = [file.add(secrets[1]), file.add(secrets[2])]
        #expect(isAdded == [true, false], "one step after the other")
        file = try read(file)
        #expect(file.ring == SecretRing(current: secrets[0], accepted: [secrets[1]]))
        let promotions = [file.promote(), file.promote()]
        #expect(promotions == [true, false], "a step that is done twice takes nothing back")
        file = try read(file)
        #expect(file.ring == SecretRing(current: secrets[1], accepted: [secrets[0]]))
        let again = [file.add(secrets[2]), file.promote()]
        #expect(again == [true, true])
        file = try read(file)
        #expect(file.ring.all == [secrets[2], secrets[1], secrets[0]])
        let retired = file.retire()
        #expect(retired == [secrets[1], secrets[0]])
        #expect(try read(file).ring == SecretRing(current: secrets[2]))
    }
}
