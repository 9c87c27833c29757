import Settings
import Testing

@Suite("Strict decoding")
struct DecoderTests {
    private let bench = SettingsBench()

    @Test("a problem says file, line, column, key, what was found, what is allowed and how to mend it")
    func problemIsComplete() throws {
        let problem = try #require(self.bench.problems(adding: "session:\n  idle: 5 minutes\n").first)
        #expect(
            problem.description
                == "/etc/sallyport/sallyport.yaml:9:9: session.idle: found \"5 minutes\"; "
                + "allowed: a duration from 1m to 30d; "
                + "use exactly one of the units ms, s, m, h, d: 90m, not 1h30m"
        )
    }

    @Test("every problem of a file is reported, in the order of its lines")
    func collectsAll() {
        let text = """
            sesion: {}
            listen: [nonsense, "127.0.0.1:99999"]
            event_loops: 0
            event_loops: 2
            log: {level: loud, access: yes}
            limits: {body: 1MB, field: 1}
            limits: {}
            hosts: 7
            """
        let problems = self.bench.problems(adding: text)
        #expect(problems.map(\.line) == problems.map(\.line).sorted { $0 ?? 0 < $1 ?? 0 })
        let keys = Set(problems.map(\.key))
        for key in ["sesion", "listen[0]", "listen[1]", "event_loops", "log.level", "log.access", "limits", "hosts"] {
            #expect(keys.contains(key), "\(key)")
        }
    }

    @Test(
        "an unknown key is answered with the key that was meant",
        arguments: [
            ("sesion: {}", "sesion", "did you mean session?"),
            ("session: {idel: 5m}", "session.idel", "did you mean idle?"),
            ("trustedProxies: []", "trustedProxies", "did you mean trusted_proxies?"),
            ("limits: {max_sessions: 5}", "limits.max_sessions", "move it: the key is store.memory.max_sessions"),
            ("provider: {kratos: {public_ur: x}}", "provider.kratos.public_ur", "did you mean public_url?"),
            ("redis: {url: x}", "redis", "the key is store.redis"),
            ("secret: abc", "secret", "put the secret into its own file"),
        ]
    )
    func suggests(line: String, key: String, fix: String) {
        let text =
            SettingsBench.base.replacing("provider:\n", with: line.hasPrefix("provider") ? "x:\n" : "provider:\n")
            + line
        let problem = self.bench.problems(text).first { $0.key == key }
        #expect(problem?.fix.hasPrefix(fix) == true, "\(String(describing: problem))")
    }

    @Test("each repeated key is reported with both places, at any depth and in any quotes")
    func repeatedKeys() {
        let text = """
            log: {level: info, level: debug, "level": error}
            drain:
              delay: 1s
              'delay': 2s
            asn: {csv: a}
            asn: {csv: b}
            """
        let problems = self.bench.problems(adding: text).filter { $0.found.contains("second time") }
        #expect(problems.map(\.key) == ["log.level", "log.level", "drain.delay", "asn"])
        #expect(problems.map(\.line) == [8, 8, 11, 13])
        #expect(problems.map(\.column) == [20, 34, 3, 1])
        #expect(problems.last?.fix == "remove one: the other is at /etc/sallyport/sallyport.yaml:12:1")
    }

    @Test("a key that stands a hundred times is reported a hundred times less one")
    func oftenRepeatedKey() {
        let problems = self.bench.problems(adding: String(repeating: "event_loops: 2\n", count: 100))
        #expect(problems.count == 99 && problems.allSatisfy { $0.key == "event_loops" })
    }

    @Test(
        "durations are one whole number and one unit",
        arguments: [
            ("30s", true), ("5m", true), ("12h", true), ("7d", true), ("250ms", true), ("0s", true), ("30", false),
            ("30 s", false), ("1h30m", false), ("-1s", false), ("1.5s", false), ("05s", false), ("5M", false),
            ("1w", false),
            ("99999999999999999999s", false), ("s", false), ("\"\"", false), ("1e3s", false), ("８s", false),
            ("366000d", false),
        ]
    )
    func durations(text: String, isValid: Bool) {
        let key =
            text == "250ms"
            ? "timeouts: {connect: \(text)}"
            : text == "7d" ? "session: {idle: 1h, absolute: \(text)}" : "drain: {delay: \(text)}"
        let isInRange = !["12h"].contains(text)
        #expect(self.bench.problems(adding: key).isEmpty == (isValid && isInRange), "\(text)")
    }

    @Test(
        "sizes are bytes or a power of 1024",
        arguments: [
            ("4096", 4096), ("8KiB", 8192), ("1MiB", 1 << 20), ("2GiB", 2 << 30), ("\"8KiB\"", 8192), ("8KB", nil),
            ("8k", nil),
            ("8 KiB", nil), ("-1", nil), ("1.5MiB", nil), ("0x10", nil), ("1_000", nil), ("999999999999999GiB", nil),
        ] as [(String, Int?)]
    )
    func sizes(text: String, bytes: Int?) {
        #expect(self.bench.settings(adding: "limits: {body: \(text)}")?.limits.body == bytes)
        #expect(self.bench.problems(adding: "limits: {body: \(text)}").isEmpty == (bytes != nil))
    }

    @Test(
        "the queue of an app may be closed and has an end",
        arguments: [(0, true), (7, true), (-1, false), (1_000_001, false)]
    )
    func queues(count: Int, isValid: Bool) {
        let text = "upstreams: {more: {url: \"http://127.0.0.1:3001\", max_queue: \(count)}}"
        let upstream = self.bench.settings(adding: text)?.upstreams.first { $0.name == "more" }
        #expect(upstream?.maxQueue == (isValid ? count : nil))
        #expect(self.bench.problems(adding: text).isEmpty == isValid)
    }

    @Test("booleans and numbers are unquoted, and yes is not true")
    func plainTypes() {
        for text in ["yes", "on", "True", "1", "\"true\"", "~"] {
            #expect(!self.bench.problems(adding: "log: {access: \(text)}").isEmpty, "\(text)")
        }
        for text in ["\"2\"", "2.0", "0x2", "02", "+2", "1e1", "257", "0"] {
            #expect(!self.bench.problems(adding: "event_loops: \(text)").isEmpty, "\(text)")
        }
        #expect(self.bench.settings(adding: "event_loops: 2\nlog: {access: false}")?.eventLoops == 2)
    }

    @Test(
        "addresses to listen on",
        arguments: [
            ("127.0.0.1:8080", true), (":8080", true), ("[::1]:8080", true), ("[::]:0", true), ("8080", false),
            ("localhost:80", false), ("::1:8080", false), ("127.0.0.1", false), ("127.0.0.1:65536", false),
            ("127.1:80", false),
            ("[127.0.0.1]:80", false), ("127.0.0.1:", false), ("127.0.0.1:+80", false), ("[::1:80", false),
        ]
    )
    func addresses(text: String, isValid: Bool) {
        var bench = self.bench
        bench.flags.staticUsers = true
        #expect(bench.problems(adding: "listen: \"\(text)\"").isEmpty == isValid)
    }

    @Test("YAML beyond mappings, lists and one-line values is refused and cannot expand")
    func refusesYAMLTricks() {
        let bomb =
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + zip("bcdefghi", "abcdefgh").map {
                "\($0): &\($0) [\(Array(repeating: "*\($1)", count: 9).joined(separator: ","))]\n"
            }.joined()
        let tricks = [
            bomb, bomb + "? *i\n: x\n", "log: &l {level: info}\n", "log: *l\n", "log: !!map {level: info}\n",
            "<<: *x\n",
            "log: !ruby/object:Foo {}\n", "log:\n  level: |\n    info\n", "? log\n: {level: info}\n",
            "%YAML 1.2\n---\n",
            "---\nlog: {level: info}\n", "--- *a\n", "...\nlog: {}\n", "[log, x]: y\n", "{a: b}: y\n",
            "limits: \"a\n  b\"\n",
        ]
        for trick in tricks { #expect(!self.bench.problems(adding: trick).isEmpty, "\(trick.prefix(40))") }
        #expect(self.bench.problems("---\n" + SettingsBench.base).isEmpty)
    }

    @Test("a file has at most 1 MiB and 32 levels, and a deeper one is refused at once")
    func isBounded() {
        #expect(!self.bench.problems(String(repeating: "#", count: 1 << 20) + "\n").isEmpty)
        for count in [40, 900, 5000, 200_000] {
            let flow = String(repeating: "[", count: count)
            #expect(!self.bench.problems(adding: "listen: \(flow)").isEmpty)
            let block = String(repeating: "- ", count: count) + "x"
            #expect(!self.bench.problems(adding: "listen:\n  \(block)\n").isEmpty)
        }
        let deep = (0..<60).map { String(repeating: " ", count: $0) + "a:\n" }.joined()
        #expect(!self.bench.problems(deep).isEmpty)
    }

    @Test("a byte order mark and Windows line ends make no difference")
    func windowsText() {
        #expect(self.bench.problems("\u{FEFF}" + SettingsBench.base.replacing("\n", with: "\r\n")).isEmpty)
    }

    @Test("an empty file and one that is not a mapping are refused with a line")
    func emptyFiles() {
        for text in ["", "\n\n", "# nothing\n", "~", "just text", "[]", "- a\n- b\n"] {
            let problems = self.bench.problems(text)
            #expect(!problems.isEmpty && problems.allSatisfy { $0.line != nil }, "\(text)")
        }
    }
}
