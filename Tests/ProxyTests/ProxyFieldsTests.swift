import Foundation
import GatewayBench
import Testing

/// What the app learns of the user, of the client and of its own name: the same behind each proxy, as `check` prints its
/// configuration, as behind the gateway itself.
@Suite("The fields that the app gets behind another proxy", .blocking) struct ProxyFieldsTests {
    /// Names that begin so are the gateway's or a proxy's.
    private static let prefixes = [
        "x-auth-", "x-sallyport-", "x-forwarded", "remote-", "x-kratos-", "x-original-", "x-rewrite-",
        "x-ssl-", "x-wsgi-",
    ]

    /// Names that some app, framework or proxy believes.
    private static let believed = [
        "X-Auth-Subject", "X-Auth-Session-Id", "X-Auth-Email", "X-Auth-Name", "X-Auth-Groups", "X-Auth-Aal",
        "X-Auth-Methods", "X-Auth-Authenticated-At", "X-Auth-Origin", "X-Auth-Actor", "X-Auth-Assertion",
        "X-Auth-Client-Certificate-Sha256", "X-Auth-Request-User", "X-Auth-Request-Email", "X-Auth-User", "Remote-User",
        "Remote-Email", "Remote-Name", "Remote-Groups", "X-Remote-User", "X-Kratos-Authenticated-Identity-Id",
        "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Protocol", "X-Forwarded-Port",
        "X-Forwarded-Prefix", "X-Forwarded-Server", "X-Forwarded-Scheme", "X-Forwarded-Ssl", "X-Forwarded-User",
        "X-Forwarded-Email", "X-Forwarded-Groups", "X-Forwarded-Preferred-Username", "X-Forwarded-Access-Token",
        "X-Forwarded-By", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Client-Cert",
        "X-Forwarded-Tls-Client-Cert", "X-Forwarded-Tls-Client-Cert-Info", "X-Forwarded", "Forwarded", "X-Original-URL",
        "X-Original-Uri", "X-Original-Host", "X-Original-Method", "X-Original-Forwarded-For", "X-Rewrite-URL",
        "X-Real-IP", "X-Client-IP", "X-Cluster-Client-IP", "True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP",
        "Client-IP", "X-ProxyUser-IP", "WL-Proxy-Client-IP", "Client-Cert", "Client-Cert-Chain", "X-Host",
        "X-HTTP-Host-Override", "X-Envoy-External-Address", "X-Envoy-Original-Path", "X-Remote-Addr", "X-Remote-IP",
        "Proxy", "X-Script-Name", "Script-Name", "Path-Info", "X-Forwarded-Script-Name", "X-WSGI-Url-Scheme",
        "X-VHM-Host",
        "X-VHM-Root", "X-Scheme", "X-Url-Scheme", "Front-End-Https", "X-Https", "HTTPS", "X-ARR-SSL",
        "X-ARR-ClientCert",
        "X-Proxied-Https", "WL-Proxy-SSL", "CF-Visitor", "CloudFront-Forwarded-Proto", "X-AppEngine-Https",
        "X-AppEngine-User-IP", "Fly-Client-IP", "X-Azure-ClientIP", "X-Azure-SocketIP", "X-Originating-IP",
        "X-True-Client-IP", "Proxy-Auth-Cert", "Proxy-SSL-Id", "SSL-Client-Cert", "SSL-Client-Verify",
        "X-SSL-Client-Verify", "X-SSL-Cert", "X-Client-Verify", "X-Client-DN", "X-Client-Cert", "X-Sendfile-Type",
        "X-Accel-Mapping",
    ]

    /// Names that nobody has listed.
    private static let unlisted = [
        "X-Auth-Of-Nobody", "X-Sallyport-Of-Nobody", "X-Forwarded-Of-Nobody", "Remote-Of-Nobody", "X-Kratos-Of-Nobody",
        "X-Original-Of-Nobody", "X-Rewrite-Of-Nobody", "X-SSL-Of-Nobody", "X-WSGI-Of-Nobody", "X-Forwarded-F",
        "X-Forwarded-Fo", "X-Forwarded-Fort",
    ]

    /// The names, in all spellings, that the proxy keeps from the app.
    private static func names(for proxy: Proxy) -> [String] {
        var names = Self.believed
        // nginx removes by name only.
        if proxy != .nginx { names += Self.unlisted }
        let plain = names.flatMap { name in
            [name, name.uppercased(), name.replacing("-", with: "_"), name.lowercased()]
        }
        // Caddy knows these two spellings only.
        guard proxy != .caddy, proxy != .oldCaddy else { return plain }
        return plain
            + names.filter { $0.contains("-") }.flatMap { name in
                let last = name.lastIndex(of: "-") ?? name.startIndex
                return [
                    name.replacing("-", with: "."), name.replacing("-", with: "~"),
                    name.replacingCharacters(in: last...last, with: "."),
                    name.replacingCharacters(in: last...last, with: "_"),
                ]
            }
    }

    /// The fields of a request by which the app learns who asks and for what, each as it came, but for the case of its name.
    ///
    /// - Parameter proxy: `nil`: the gateway forwarded it.
    private static func told(_ request: Received, behind proxy: Proxy? = nil) -> [String] {
        let own = Set(Self.believed.map { $0.lowercased() } + ["host"])
        return request.lines.dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0].lowercased().map { $0.isLetter || $0.isNumber ? $0 : "-" })
            guard own.contains(name) || Self.prefixes.contains(where: { name.hasPrefix($0) }) else { return nil }
            let value = parts.count > 1 ? String(parts[1].trimmingPrefix(" ")) : ""
            // It needs a field for each, and says so in a warning.
            guard proxy != .oldCaddy || !value.isEmpty else { return nil }
            return "\(parts[0].lowercased()):\(value)"
        }.sorted()
    }

    @Test(
        "They are those that it gets behind the gateway itself, whatever the client sends and however it spells the host",
        arguments: Proxy.allCases
    )
    func same(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy) { bench in
            let cookie = try bench.session()
            let names = Self.names(for: proxy)
            let batches = stride(from: 0, to: names.count, by: 30).map { Array(names[$0..<min($0 + 30, names.count)]) }
            func request(_ target: String, _ host: String, _ fields: [String]) -> String {
                Kind.fetch.request(target, fields).replacing("Host: \(Request.host)\r\n", with: "Host: \(host)\r\n")
            }
            for (target, credentials) in [("/public/x", []), ("/public/x", [cookie]), ("/page", [cookie])] {
                let direct = try Wire(to: bench.places.gateway, from: ProxyBench.home)
                #expect(try direct.request(request(target, Request.host, credentials)).status == 200)
                let expected = Self.told(try #require(bench.app.requests.last))
                #expect(
                    expected.contains("x-forwarded-for:\(ProxyBench.home)") && expected.contains("host:\(Request.host)")
                )
                for host in [Request.host, "APP.Example.com", "\(Request.host):80", "App.example.COM:80"] {
                    let count = bench.app.requests.count
                    let answer = try bench.connect().request(request(target, host, credentials))
                    #expect(answer.status == 200 && bench.app.requests.count == count + 1, "\(host): \(answer.lines)")
                    let got = Self.told(try #require(bench.app.requests.last), behind: proxy)
                    #expect(got == expected, "\(proxy) \(host) \(target): \(got)")
                }
                for batch in batches {
                    let forged = batch.map { "\($0): forged.example" }
                    let count = bench.app.requests.count
                    let answer = try bench.connect().request(request(target, Request.host, credentials + forged))
                    #expect(answer.status == 200 && bench.app.requests.count == count + 1, "\(answer.lines)")
                    let request = try #require(bench.app.requests.last)
                    #expect(Self.told(request, behind: proxy) == expected, "\(proxy) \(target): \(request.lines)")
                    #expect(!request.text.contains("forged.example"), "\(proxy) \(target): \(request.lines)")
                }
            }
        }
    }

    /// Names that begin like those, and go on with a letter or digit: they are the app's.
    private static let similar = [
        "X-Authorization", "X-Author", "X-Authx", "X-Auth0", "X-Authenticated-Userid", "X-Originality", "Remotebox",
        "Remotely", "X-Forwardedx", "X-Forwarded1", "X-Sallyports", "X-Kratosian", "X-Rewriter", "X-Sslx", "X-Wsgix",
        "Proxyx", "Forwardedx",
    ]

    @Test("A field whose name only begins like one of them reaches the app", arguments: Proxy.allCases)
    func similar(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy) { bench in
            let fields = Self.similar.map { "\($0): of the client" }
            for port in [bench.places.gateway, bench.places.proxy] {
                let count = bench.app.requests.count
                let wire = try Wire(to: port, from: ProxyBench.home)
                let answer = try wire.request(Kind.fetch.request("/public/x", fields))
                #expect(answer.status == 200 && bench.app.requests.count == count + 1, "\(answer.lines)")
                let request = try #require(bench.app.requests.last)
                for name in Self.similar {
                    #expect(request.values(name.lowercased()) == ["of the client"], "\(name): \(request.lines)")
                }
            }
        }
    }

    @Test("What a proxy cannot keep from the app is printed as a warning, and nothing else", arguments: Proxy.allCases)
    func warnings(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy) { bench in
            let printed = try proxy.printed(for: bench.gateway).split(separator: "\n").map(String.init)
            let warnings = printed.filter { $0.hasPrefix("# WARNING: this proxy removes") }
            switch proxy {
            case .nginx: #expect(warnings.count == 1 && warnings[0].contains("by name only"), "\(warnings)")
            case .caddy, .oldCaddy: #expect(warnings.count == 1 && warnings[0].contains("X.Auth.Email"), "\(warnings)")
            case .envoy, .haproxy, .traefik: #expect(warnings.isEmpty, "\(warnings)")
            }
        }
    }
}
