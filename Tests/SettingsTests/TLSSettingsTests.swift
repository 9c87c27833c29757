import AddressIntelligence
import Settings
import Testing
import Vocabulary

private let pairOfFiles = "tls: {certificate_file: own.pem, key_file: own.key}\n"
/// With authorities, and clients that are asked for certificates.
private let askingPair =
    "tls: {certificate_file: own.pem, key_file: own.key, client_certificates: optional, client_ca_file: ca.pem}\n"

@Suite("Settings of TLS at the gateway's own addresses")
struct TLSSettingsTests {
    /// Reads certificates for `app.example.com` and `*.shop.example`.
    private static func facts(_ chain: [UInt8]) throws(CertificateFault) -> CertificateFacts {
        if chain.isEmpty { throw CertificateFault(isOfKey: true, found: "another key", fix: "name the right one") }
        return CertificateFacts(
            names: ["app.example.com", "*.shop.example"],
            addresses: [IPAddress("192.0.2.1")].compactMap(\.self),
            from: UnixTime(seconds: 0),
            until: UnixTime(seconds: 100 * 86_400),
            key: "P-256",
            isECDSA: true
        )
    }

    private static func bench(environment: [String: String] = [:]) -> SettingsBench {
        var bench = SettingsBench(flags: InsecureFlags(staticUsers: true), environment: environment)
        bench.files["/etc/sallyport/own.pem"] = [1]
        bench.files["/etc/sallyport/own.key"] = Array(canary.utf8)
        bench.files["/etc/sallyport/bad.pem"] = []
        bench.judges.certificate = { chain, _ throws(CertificateFault) in try Self.facts(chain) }
        bench.judges.now = { UnixTime(seconds: 50 * 86_400) }
        return bench
    }

    private static let pair = pairOfFiles

    @Test("a pair makes every address secure that does not say otherwise, and needs no proxy")
    func pair() throws {
        let loaded = try Self.bench().load(
            SettingsBench.base + Self.pair + "listen: [\":1\", {address: \":2\", tls: true}]\n"
        ).get()
        #expect(loaded.settings.listen.map(\.isSecure) == [true, true])
        #expect(loaded.settings.tls?.certificates.map(\.isDefault) == [true])
        #expect(loaded.settings.tls?.minVersion == .v12)
        #expect(!loaded.warnings.contains { $0.contains("trusted_proxies") }, "\(loaded.warnings)")
        #expect(!loaded.describe().contains(canary))
        #expect(try Self.bench().load(SettingsBench.base + Self.pair).get().settings.listen[0].isSecure)
    }

    @Test("an address without TLS beside others has a proxy in front that must be named, as where there is no tls")
    func plainBeside() throws {
        func listen(_ second: String, _ more: String = "") throws -> [String] {
            try Self.bench().load(
                SettingsBench.base + Self.pair + "listen: [\":1\", \(second)]\n" + more
            ).get().warnings.filter { $0.contains("trusted_proxies is empty") }
        }
        #expect(try listen("{address: \":2\", tls: false}").count == 1)
        #expect(try listen("{address: \":2\", tls: false, proxy_protocol: {from: 192.0.2.1}}") == [])
        #expect(try listen("{address: \":2\", tls: false}", "trusted_proxies: [192.0.2.1]\n") == [])
        let bound = "routes: [{path: /**, binding: ip}]\n"
        let base = SettingsBench.base.split(separator: "\n").filter { !$0.hasPrefix("routes") }.map { "\($0)\n" }
            .joined()
        let problems = Self.bench().problems(
            base + bound + Self.pair + "listen: [\":1\", {address: \"127.0.0.1:2\", tls: false}]\n"
        )
        #expect(problems.contains { "\($0)".contains("listen is 127.0.0.1:2") }, "\(problems)")
    }

    @Test("authorities that nobody is asked for are told of")
    func unusedAuthorities() throws {
        func warnings(_ listen: String) throws -> [String] {
            try Self.bench().load(
                SettingsBench.base + "tls: {certificate_file: own.pem, key_file: own.key, client_ca_file: ca.pem}\n"
                    + listen
            ).get().warnings.filter { $0.contains("client_ca_file") }
        }
        #expect(try warnings("").count == 1)
        #expect(try warnings("listen: [\":1\", {address: \":2\", client_certificates: optional}]\n") == [])
        let authorization = "authorization: {listen: {address: \"127.0.0.1:9\", tls: true}, peers: [10.0.0.0/8]"
        #expect(try warnings(authorization + "}\n").count == 1)
        #expect(try warnings(authorization + ", peer_certificate: {san_any: [proxy.internal]}}\n") == [])
    }

    @Test(
        "A certificate that cannot be read brings no problem about the hosts that it may cover",
        arguments: ["bad.pem", "missing.pem"]
    )
    func unreadable(_ file: String) {
        let text =
            "tls: {certificates: [{certificate_file: own.pem, key_file: own.key}, {certificate_file: \(file), key_file: own.key}]}\n"
            + "provider: {static: {users: [{identifier: ada, password_hash: \(passwordHash)}]}}\n"
            + "hosts: [{public_url: \"https://app.example.com\", upstream: \"http://127.0.0.1:1\", endpoints: true}, "
            + "{public_url: \"https://other.example\", upstream: \"http://127.0.0.1:2\"}]\n"
        let keys = Self.bench().problems(text).map(\.key)
        #expect(keys.count == 1 && keys[0].hasPrefix("tls.certificates[1]."), "\(keys)")
        let covered = text.replacing(", {certificate_file: \(file), key_file: own.key}", with: "")
        #expect(Self.bench().problems(covered).map(\.key) == ["hosts[1].public_url"])
    }

    @Test("a certificate that no client is shown is warned of")
    func hidden() throws {
        var bench = Self.bench()
        bench.files["/etc/sallyport/two.pem"] = [2]
        bench.files["/etc/sallyport/rsa.pem"] = [3]
        bench.files["/etc/sallyport/address.pem"] = [4]
        bench.judges.certificate = { chain, _ throws(CertificateFault) in
            var facts = try Self.facts(chain)
            if chain == [3] { facts.isECDSA = false }
            if chain == [4] { facts.names = [] }
            return facts
        }
        func warnings(_ files: [String]) throws -> [String] {
            let pairs = files.map { "{certificate_file: \($0).pem, key_file: own.key}" }.joined(separator: ", ")
            return try bench.load(SettingsBench.base + "tls: {certificates: [\(pairs)]}\n").get().warnings
                .filter { $0.contains("never shown") }
        }
        #expect(try warnings(["own", "two"]).map { $0.contains("certificates[1]") } == [true])
        #expect(try warnings(["own", "rsa"]) == [])
        #expect(try warnings(["own", "address"]).map { $0.contains("default: true") } == [true])
        #expect(try warnings(["own"]) == [])
    }

    @Test("strict_transport_security where no host has https is told of")
    func strictTransport() throws {
        func warnings(_ base: String) throws -> [String] {
            try Self.bench().load(base + "strict_transport_security: {max_age: 1d}\n").get().warnings
                .filter { $0.contains("strict_transport_security") }
        }
        #expect(
            try warnings(SettingsBench.base.replacing("https://app.example.com", with: "http://localhost")).count == 1
        )
        #expect(try warnings(SettingsBench.base) == [])
    }

    @Test("a renewed certificate that lacks the name of a host is a fault, as at a start")
    func renewed() throws {
        let more =
            Self.pair
            + "listen: [\":1\", {address: \":2\", role: management, public_url: \"https://a.shop.example\"}]\n"
        var bench = Self.bench()
        bench.files["/etc/sallyport/tokens"] = Array(
            "ops read \(String(repeating: "0", count: 63))1\n".utf8
        )
        let settings = try bench.load(SettingsBench.base + more + "admin: {tokens_file: tokens}\n").get().settings
        var tls = try #require(settings.tls)
        #expect(tls.fault(for: settings) == nil)
        tls.certificates[0].facts?.names = ["app.example.com"]
        #expect("\(try #require(tls.fault(for: settings)))".contains("none for https://a.shop.example"))
        tls.certificates[0].facts?.names = ["*.shop.example"]
        #expect("\(try #require(tls.fault(for: settings)))".contains("none for https://app.example.com"))
        var behind = settings
        behind.trustedProxies = [try #require(CIDRBlock("192.0.2.1"))]
        #expect(tls.fault(for: behind) == nil)
        let problems = bench.problems(
            SettingsBench.base + more.replacing("a.shop.example", with: "manage.example")
                + "admin: {tokens_file: tokens}\n"
        )
        #expect(problems.map(\.key) == ["listen[1].public_url"], "\(problems)")
    }

    @Test("variables name a pair")
    func variables() throws {
        let environment = [
            "SALLYPORT_TLS_CERTIFICATE_FILE": "/etc/sallyport/own.pem",
            "SALLYPORT_TLS_KEY_FILE": "/etc/sallyport/own.key",
        ]
        let settings = try Self.bench(environment: environment).load(SettingsBench.base).get().settings
        #expect(settings.tls?.certificates.first?.certificateFile == "/etc/sallyport/own.pem")
        #expect(settings.listen[0].isSecure)
    }

    @Test("the listener's own client_certificates win over those of tls")
    func clientCertificates() throws {
        let text = """
            tls: {certificate_file: own.pem, key_file: own.key, client_certificates: required, client_ca_file: ca.pem}
            listen: [":1", {address: ":2", client_certificates: optional}, {address: ":3", tls: false}]

            """
        let settings = try Self.bench().load(SettingsBench.base + text).get().settings
        #expect(settings.listen.map(\.clientCertificates) == [.required, .optional, .none])
    }

    @Test("the listeners for operators and for other proxies have TLS only where they say so")
    func inner() throws {
        func load(_ text: String) throws -> Settings {
            try Self.bench().load(SettingsBench.base + Self.pair + text).get().settings
        }
        let admin = try load("admin: {listen: {address: \"127.0.0.1:9\", tls: true}}\n").adminListen
        #expect(admin?.address.port == 9 && admin?.isSecure == true && admin?.acceptsAnyHostName == true)
        for text in ["", "admin: {listen: 127.0.0.1:9}\n", "admin: {listen: {address: \"127.0.0.1:9\"}}\n"] {
            #expect(try load(text).adminListen?.isSecure == false, "\(text)")
        }
        let listen = "listen: {address: \"127.0.0.1:9\", tls: true}, peers: [10.0.0.0/8]"
        let plain = try load("authorization: {\(listen)}\n").authorization
        #expect(plain?.listen.isSecure == true && plain?.listen.clientCertificates == ClientCertificates.none)
        let proven = try Self.bench().load(
            SettingsBench.base + Self.pair.replacing("}", with: ", client_ca_file: ca.pem}")
                + "authorization: {\(listen), peer_certificate: {san_any: [proxy.internal]}}\n"
        ).get().settings.authorization
        #expect(proven?.listen.clientCertificates == .required)
        #expect(proven?.peerCertificate?.names.map(\.text) == ["proxy.internal"])
    }

    @Test(
        "TLS of these listeners that cannot be is refused where it is written",
        arguments: [
            ("", "admin: {listen: {address: \"127.0.0.1:9\", tls: true}}", "admin.listen.tls", 1, 47),
            ("", "admin: {listen: {tls: false}}", "admin.listen.address", 1, 17),
            ("", "admin: {listen: {address: \"127.0.0.1:9\", protocols: h2}}", "admin.listen.protocols", 1, 42),
            (
                "", "authorization: {listen: {address: \"127.0.0.1:9\", tls: true}, peers: [127.0.0.1]}",
                "authorization.listen.tls", 1, 55
            ),
            (
                pairOfFiles,
                "authorization: {listen: 127.0.0.1:9, peers: [127.0.0.1], peer_certificate: {san_any: [a]}}",
                "authorization.peer_certificate", 2, 76
            ),
            (
                pairOfFiles,
                "authorization: {listen: {address: \"127.0.0.1:9\", tls: true}, peers: [127.0.0.1], peer_certificate: {san_any: [a]}}",
                "authorization.peer_certificate", 2, 100
            ),
            (
                askingPair,
                "authorization: {listen: {address: \"127.0.0.1:9\", tls: true}, peers: [127.0.0.1], peer_certificate: {}}",
                "authorization.peer_certificate", 2, 100
            ),
            (
                askingPair,
                "authorization: {listen: {address: \"127.0.0.1:9\", tls: true}, peers: [127.0.0.1], peer_certificate: {issuer: 'CN=A', san_any: []}}",
                "authorization.peer_certificate.san_any", 2, 126
            ),
        ]
    )
    func wrongInner(tls: String, text: String, key: String, line: Int, column: Int) {
        let problems = Self.bench().problems(SettingsBench.base + tls + text + "\n")
        #expect(problems.map(\.key) == [key], "\(text): \(problems)")
        let places: [[Int?]] = problems.map { [$0.line, $0.column] }
        #expect(places == [[7 + line, column]], "\(text): \(problems)")
    }

    @Test(
        "what cannot be is refused where it is written",
        arguments: [
            ("tls: {}", "tls.certificate_file", 6), ("tls: {certificate_file: own.pem}", "tls.key_file", 25),
            ("tls: {key_file: own.key}", "tls.certificate_file", 17),
            ("tls: {certificate_file: none.pem, key_file: own.key}", "tls.certificate_file", 25),
            ("tls: {certificate_file: bad.pem, key_file: own.key}", "tls.key_file", 44),
            ("tls: {certificate_file: own.pem, key_file: own.key, certificates: []}", "tls.certificates", 67),
            ("tls: {certificate_file: own.pem, key_file: own.key, min_version: \"1.1\"}", "tls.min_version", 66),
            (
                "tls: {certificate_file: own.pem, key_file: own.key, client_certificates: optional}",
                "tls.client_ca_file", 74
            ),
            (
                "tls: {certificates: [{certificate_file: own.pem, key_file: own.key, default: true}, {certificate_file: own.pem, key_file: own.key, default: true}]}",
                "tls.certificates[1].default", 141
            ),
            ("listen: {address: \":1\", tls: true}", "listen[0].tls", 30),
            ("listen: {address: \":1\", client_certificates: required}", "listen[0].client_certificates", 46),
        ]
    )
    func refused(text: String, key: String, column: Int) throws {
        let problem = try #require(Self.bench().problems(adding: text).first)
        #expect(problem.key == key && problem.line == 8 && problem.column == column, "\(problem)")
        #expect(!"\(problem)".contains(canary))
    }

    @Test("an https host that no certificate covers is refused, unless a proxy may be in front")
    func covering() throws {
        func problems(_ url: String, _ more: String = "") -> [SettingsProblem] {
            let file = SettingsBench.base.replacing("https://app.example.com", with: url)
            return Self.bench().problems(file + Self.pair + more)
        }
        for url in [
            "https://app.example.com", "https://app.example.com:8443", "https://a.shop.example", "https://192.0.2.1",
        ] {
            #expect(problems(url) == [], "\(url)")
        }
        for url in ["https://example.com", "https://shop.example", "https://a.b.shop.example", "https://192.0.2.2"] {
            #expect(problems(url).map(\.key) == ["public_url"], "\(url)")
            #expect(problems(url, "trusted_proxies: [10.0.0.1]\n") == [], "\(url)")
        }
    }

    @Test("clients of an address send no name, so the default certificate must cover it")
    func address() throws {
        var bench = Self.bench()
        bench.files["/etc/sallyport/address.pem"] = [4]
        bench.judges.certificate = { chain, _ throws(CertificateFault) in
            var facts = try Self.facts(chain)
            if chain == [4] { facts.names = [] } else { facts.addresses = [] }
            return facts
        }
        func problems(_ url: String, _ keys: String = "", more: String = "") -> [SettingsProblem] {
            bench.problems(
                SettingsBench.base.replacing("https://app.example.com", with: url)
                    + "tls: {certificates: [{certificate_file: own.pem, key_file: own.key}, "
                    + "{certificate_file: address.pem, key_file: own.key\(keys)}]}\n" + more
            )
        }
        let problem = try #require(problems("https://192.0.2.1").first)
        #expect(problem.key == "public_url" && "\(problem)".contains("write default: true"), "\(problem)")
        #expect(problems("https://192.0.2.1", ", default: true") == [])
        #expect(problems("https://192.0.2.1", more: "trusted_proxies: [10.0.0.1]\n") == [])
        #expect(problems("https://app.example.com") == [])
    }

    @Test("a certificate that expires in less than 14 days is warned of")
    func expiry() throws {
        var bench = Self.bench()
        bench.judges.now = { UnixTime(seconds: 90 * 86_400) }
        let warnings = try bench.load(SettingsBench.base + Self.pair).get().warnings
        #expect(warnings.contains { $0.contains("app.example.com expires in 10 days") }, "\(warnings)")
    }

    @Test(
        "who else can read a key decides: nobody, or the group of another user's file",
        arguments: [
            (0o600, true, 1000, false), (0o400, true, 1000, false), (0o640, true, 1000, true),
            (0o604, true, 1000, true),
            (0o440, false, 0, false), (0o640, false, 0, false), (0o644, false, 0, true), (0o640, true, 0, false),
            (0o660, false, 1000, false), (0o601, true, 1000, true),
        ] as [(UInt32, Bool, UInt32, Bool)]
    )
    func standing(mode: UInt32, isOwn: Bool, owner: UInt32, isExposed: Bool) {
        let standing = FilePermissions(mode: mode, owner: owner, group: 0, isOwn: isOwn)
        #expect(standing.isExposed == isExposed, "\(standing)")
    }
}
