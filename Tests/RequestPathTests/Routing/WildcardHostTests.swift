import Cryptography
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("Hosts with a wildcard") struct WildcardHostTests {
    private static func host(_ name: String, port: Int? = nil, isHTTPS: Bool = true, endpoints: Bool = false)
        -> HostSettings
    {
        HostSettings(
            publicURL: PublicURL(isHTTPS: isHTTPS, host: name, port: port),
            endpoints: endpoints,
            routes: [route("/**", .required) { $0.name = name }]
        )
    }

    /// The longest label.
    private static let long = String(repeating: "a", count: 63)

    private static let operators = PublicURL(isHTTPS: true, host: "ops.example.com", port: nil)

    private static let hosts: [HostSettings] = {
        var settings = Settings(
            hosts: [
                host("*.example.com"), host("id.example.com", endpoints: true), host("*.deep.example.com"),
                host("*.port.example", port: 8443), host("plain.example.com", port: 8080, isHTTPS: false),
            ],
            upstreams: []
        )
        var listener = ListenerSettings(ListenAddress(host: "127.0.0.1", port: 8443))
        listener.publicURL = operators
        settings.management = [listener]
        return settings.hosts
    }()

    private static let table = RouteTable(hosts, upstreams: ["app"], others: [operators])

    @Test(
        "A name has the wildcard's routes and its own public URL, in lower case, whatever spelling asks for it",
        arguments: [
            ("a.example.com", "https://a.example.com"), ("A.eXample.COM", "https://a.example.com"),
            ("a.example.com.", "https://a.example.com"), ("a.example.com:443", "https://a.example.com"),
            ("a.example.com.:443", "https://a.example.com"), ("a.example.com:8443", "https://a.example.com"),
            ("0-9.example.com", "https://0-9.example.com"), ("x.deep.example.com", "https://x.deep.example.com"),
            ("a--b.example.com", "https://a--b.example.com"), ("b.port.example:8443", "https://b.port.example:8443"),
            ("b.port.example", "https://b.port.example:8443"), ("deep.example.com", "https://deep.example.com"),
            ("\(Self.long).example.com", "https://\(Self.long).example.com"),
        ]
    )
    func names(authority: String, url: String) throws {
        let host = try #require(Self.table.host(named: authority))
        #expect(host.publicURL.description == url)
        #expect(String(decoding: host.origin, as: UTF8.self) == url)
        let name = url.dropFirst("https://".count)
        let lines = "X-Forwarded-Host: \(name)\r\nX-Forwarded-Proto: https\r\n"
        #expect(String(decoding: host.forwardedLines, as: UTF8.self) == lines)
        #expect(host.routes[0].name.hasPrefix("*."))
        #expect(Self.table.hosts[host.index].routes[0] === host.routes[0])
    }

    @Test("Hosts of their own win, in every spelling and on another port, and so do the names of operators' listeners")
    func exact() {
        for name in ["id.example.com", "ID.example.com.", "id.example.com:443", "id.example.com:9"] {
            #expect(Self.table.host(named: name) === Self.table.hosts[1], "\(name)")
        }
        for name in ["plain.example.com", "plain.example.com:8080", "PLAIN.example.com:443"] {
            #expect(Self.table.host(named: name) === Self.table.hosts[4], "\(name)")
        }
        for name in ["ops.example.com", "OPS.example.com.", "ops.example.com:443"] {
            #expect(Self.table.host(named: name) == nil, "\(name)")
        }
    }

    @Test(
        "What is no name with one plain label is not served",
        arguments: [
            "*.example.com", "example.com", ".example.com", "a.b.example.com", "..example.com", "a..example.com",
            "a_b.example.com", "-a.example.com", "a-.example.com", "-.example.com", "a.example.com..",
            String(repeating: "a", count: 64) + ".example.com", "xn--80ak6aa92e.example.com", "XN--a.example.com",
            "ab--c.example.com", "%61.example.com", "a%2eb.example.com", "user@a.example.com", "a@b.example.com",
            "a:b@c.example.com", "a.example.com@evil.test", "a.example.com.evil.test", "aexample.com", "a.example.co",
            "a b.example.com", "a\t.example.com", "a\u{0}.example.com", "a/.example.com", "a\\.example.com",
            "\u{E9}.example.com", "\u{FF41}.example.com", "\u{212A}.example.com", "a\u{3002}example.com",
            "a,b.example.com", "a;b.example.com", "a'.example.com", "[a].example.com", "[::1].example.com", ":443",
            "https://a.example.com", "", ".", "*", "a.", "a.*.com", "a.*.example.com", ".:443",
        ]
    )
    func refused(authority: String) {
        #expect(Self.table.host(named: authority)?.publicURL.description == nil)
    }

    @Test("A name is at most 253 bytes long")
    func length() {
        let domain = (0..<3).map { _ in String(repeating: "d", count: 60) }.joined(separator: ".") + ".example.com"
        let table = RouteTable([Self.host("*.\(domain)"), Self.host("id.example.com")], upstreams: ["app"])
        let room = 253 - domain.utf8.count - 1
        #expect(table.host(named: String(repeating: "a", count: room) + "." + domain) != nil)
        #expect(table.host(named: String(repeating: "a", count: room + 1) + "." + domain) == nil)
    }

    @Test("A label in capitals is the same host in a cache; what is kept is bounded, and right after it was replaced")
    func cache() {
        func find(_ name: String, _ cache: NamedHostCache, in table: RouteTable = Self.table) -> HostEntry? {
            Array(name.utf8).withUnsafeBufferPointer { table.host(for: $0, kept: cache) }
        }
        let cache = NamedHostCache()
        let first = find("a.example.com", cache)
        #expect(first != nil)
        #expect(find("A.example.com.", cache) === first)
        #expect(find("a.example.com", NamedHostCache()) !== first)
        // The same label of another wildcard, and of another table.
        #expect(find("a.deep.example.com", cache)?.publicURL.host == "a.deep.example.com")
        let other = RouteTable([Self.host("*.example.com"), Self.host("id.example.com")], upstreams: ["app"])
        #expect(find("a.example.com", cache, in: other)?.routes[0] === other.hosts[0].routes[0])
        for number in 0..<10_000 {
            #expect(find("n\(number).example.com", cache)?.publicURL.host == "n\(number).example.com")
        }
        #expect(cache.count <= 256)
        #expect(find("a.example.com", cache)?.publicURL.host == "a.example.com")
    }

    @Test("At an operators' address a name of a wildcard is a host of another address, as every other host is")
    func elsewhere() {
        let table = RouteTable(
            [HostSettings(publicURL: Self.operators, endpoints: true, routes: [])],
            upstreams: [],
            others: Self.hosts.map(\.publicURL)
        )
        func isElsewhere(_ name: String) -> Bool {
            Array(name.utf8).withUnsafeBufferPointer { table.isElsewhere($0) }
        }
        for name in ["id.example.com", "a.example.com", "A.Example.com.:443", "x.deep.example.com", "b.port.example"] {
            #expect(table.host(named: name) == nil && isElsewhere(name), "\(name)")
        }
        for name in ["a.b.example.com", "other.test", "*.example.com", "xn--a.example.com", "", "127.0.0.1"] {
            #expect(!isElsewhere(name), "\(name)")
        }
        #expect(table.host(named: "ops.example.com") != nil)
    }
}
