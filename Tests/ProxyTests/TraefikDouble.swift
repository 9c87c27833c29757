import Foundation
import GatewayBench
import Synchronization

/// What Traefik 3 does with ForwardAuth, by its documentation and source (`pkg/middlewares/auth/forward.go`,
/// `pkg/middlewares/forwardedheaders`, and Go's HTTP server below them): which fields the check has, which answers let a
/// request pass, what is copied from it, and how a refusal reaches the client.
final class TraefikDouble: StoppableProxy {
    private let server: FakeUpstream

    /// The fields of a request or answer, in Go's spelling of their names.
    typealias Fields = [(name: String, value: String)]

    /// - Parameter printed: Its dynamic configuration.
    init(_ places: ProxyPlaces, _ printed: String) throws {
        let settings = try TraefikSettings(printed)
        self.server = try FakeUpstream(port: places.proxy) { link in
            while let request = link.next() {
                guard var turn = TraefikTurn(request, from: link.wire.peer, settings) else {
                    link.answer("400 Bad Request")
                    return
                }
                guard let isDone = try? turn.run(link, places), isDone else { return }
            }
        }
    }

    func stop() { self.server.stop() }

    /// Go's spelling: upper case at the start and after each hyphen. An underscore stays.
    static func canonical(_ name: String) -> String {
        name.split(separator: "-", omittingEmptySubsequences: false)
            .map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
            .joined(separator: "-")
    }
}

/// What the double takes from the dynamic configuration.
private struct TraefikSettings: Sendable {
    /// The paths of each host that go to the gateway: the expression of its first router.
    let ownPaths: [String: String]
    /// `authResponseHeadersRegex`, or `authResponseHeaders` as one expression.
    let copied: String
    /// `addAuthCookiesToResponse`.
    let cookies: Set<String>
    /// The host and the path of the address that is asked; nil: the gateway's own.
    var asked: (host: String, path: String)?
    /// What the middleware `errors` asks for in place of an answer with one of these statuses, and the status that it gives
    /// a 401.
    var errors: (query: String, statuses: ClosedRange<Int>, rewritten: Int)?

    init(_ printed: String) throws {
        // As oauth2-proxy's and Authelia's manuals write it.
        if printed.contains("trustForwardHeader: true"),
            let address = printed.firstMatch(of: /address: '?https?:\/\/([^\/']+)([^\s']+)/)
        {
            let names = printed.firstMatch(of: /authResponseHeaders:\n((?: +- \S+\n)+)/)?.1 ?? ""
            let listed = names.split(separator: "\n").map { $0.drop { " -'".contains($0) }.filter { $0 != "'" } }
            self.copied = listed.isEmpty ? "^$" : "(?i)^(\(listed.joined(separator: "|")))$"
            self.cookies = []
            var paths: [String: String] = [:]
            let routers =
                /rule: ["']Host\(([^)]+)\)(?: && PathPrefix\(`([^`]+)`\))?["'][\s\S]*?service: ["']?([^\s"']+)/
            for router in printed.matches(of: routers) {
                let isOwn = router.3 == "oauth-backend" || router.3 == "authelia@file"
                for host in router.1.matches(of: /`([^`]+)`/).map({ String($0.1) }) {
                    paths[host] = isOwn ? "^\(router.2 ?? "")" : paths[host] ?? "^$"
                }
            }
            self.ownPaths = paths
            self.asked = (String(address.1), String(address.2))
            if let query = printed.firstMatch(of: /query: "([^"]+)"/), printed.contains("\"401-403\"") {
                self.errors = (String(query.1), 401...403, printed.contains("\"401\": 302") ? 302 : 401)
            }
            return
        }
        guard let copied = printed.firstMatch(of: /authResponseHeadersRegex: '([^']+)'/),
            let cookies = printed.firstMatch(of: /addAuthCookiesToResponse:\n((?: +- \S+\n)+)/),
            printed.contains("trustForwardHeader: false"), printed.contains("preserveLocationHeader: true")
        else { throw BenchFailure("no ForwardAuth: \(printed)") }
        self.copied = String(copied.1)
        self.cookies = Set(cookies.1.split(separator: "\n").map { String($0.drop { $0 == " " || $0 == "-" }) })
        var paths: [String: String] = [:]
        for router in printed.matches(of: /rule: 'Host\(`([^`]+)`\) && PathRegexp\(`([^`]+)`\)'\n +priority: 1000/) {
            paths[String(router.1)] = String(router.2)
        }
        self.ownPaths = paths
    }

    static func matches(_ text: String, _ expression: String) -> Bool {
        text.range(of: expression, options: .regularExpression) != nil
    }
}

/// One request at the double.
private struct TraefikTurn {
    private let request: Received
    private let settings: TraefikSettings
    private let peer: String
    private let method: String
    /// `Host`, or the URL's if that is absolute.
    private let host: String
    /// Path and query.
    private let uri: String
    private var fields: TraefikDouble.Fields

    /// Hop-by-hop, as the check leaves them out.
    private static let hop: Set = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailers", "Transfer-Encoding",
        "Upgrade",
    ]
    /// Deleted, in any spelling with underscores, unless the client is trusted.
    private static let managed: Set = [
        "X-Forwarded-Proto", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Server",
        "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Prefix", "X-Forwarded-Scheme", "X-Scheme", "X-Real-Ip",
        "X-Forwarded-Tls-Client-Cert", "X-Forwarded-Tls-Client-Cert-Info",
    ]
    /// nil: Go's server refuses the request.
    init?(_ request: Received, from peer: String, _ settings: TraefikSettings) {
        self.request = request
        self.settings = settings
        self.peer = peer
        self.method = request.method
        let hosts = request.values("host")
        guard hosts.count == 1, request.lines[0].split(separator: " ").count == 3 else { return nil }
        let target = request.target
        if target.hasPrefix("http://") || target.hasPrefix("https://") {
            let rest = target.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)[2]
            self.host = String(rest.prefix { $0 != "/" })
            self.uri = "/" + rest.drop { $0 != "/" }.dropFirst()
        } else {
            guard target.hasPrefix("/") else { return nil }
            self.host = hosts[0]
            self.uri = target
        }
        self.fields = request.lines.dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2
                ? (TraefikDouble.canonical(String(parts[0])), parts[1].trimmingCharacters(in: .whitespaces)) : nil
        }.filter { $0.name != "Host" }
        self.fields.removeAll {
            Self.managed.contains(TraefikDouble.canonical($0.name.replacingOccurrences(of: "_", with: "-")))
        }
        let isUpgrade = self.fields.contains { $0.name == "Connection" && $0.value.lowercased().contains("upgrade") }
        self.set("X-Real-Ip", peer)
        self.set("X-Forwarded-Proto", isUpgrade ? "ws" : "http")
        self.set("X-Forwarded-Port", "80")
        self.set("X-Forwarded-Host", self.host)
        self.set("X-Forwarded-Server", "traefik")
    }

    private mutating func set(_ name: String, _ value: String) {
        self.fields.removeAll { $0.name == name }
        self.fields.append((name, value))
    }

    /// Asks, and answers or forwards; false if the connection is used up.
    mutating func run(_ link: Link, _ places: ProxyPlaces) throws -> Bool {
        // No router has a rule for another host.
        guard let ownPaths = self.settings.ownPaths[self.host] else {
            link.answer("404 Not Found", body: "404 page not found")
            return true
        }
        guard !TraefikSettings.matches(String(self.uri.prefix { $0 != "?" }), ownPaths) else {
            // One service has both the checks and the pages there.
            let port = self.settings.asked == nil ? places.gateway : places.checks
            return try self.forward(link, to: port, cookies: [])
        }
        guard let answer = try? self.check(at: places.checks) else {
            link.answer("500 Internal Server Error")
            return true
        }
        let given: TraefikDouble.Fields = answer.lines.dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (TraefikDouble.canonical(String(parts[0])), parts[1].trimmingCharacters(in: .whitespaces))
        }
        guard (200..<300).contains(answer.status) else {
            if let errors = self.settings.errors, errors.statuses.contains(answer.status) {
                return try self.replace(answer.status, errors.query, errors.rewritten, link, at: places.checks)
            }
            let lines = given.filter { !Self.hop.contains($0.name) && $0.name != "Content-Length" }
                .map { "\($0.name): \($0.value)\r\n" }
            link.answer(String(answer.lines[0].dropFirst(9)), lines.joined(), body: answer.text)
            return true
        }
        self.fields.removeAll { TraefikSettings.matches($0.name, self.settings.copied) }
        self.fields += given.filter { TraefikSettings.matches($0.name, self.settings.copied) }
        let cookies = given.filter { field in
            field.name == "Set-Cookie" && self.settings.cookies.contains(String(field.value.prefix { $0 != "=" }))
        }
        return try self.forward(link, to: places.app, cookies: cookies.map(\.value))
    }

    /// Answers with the page that `errors` names (`pkg/middlewares/customerrors`): the fields of the request go along, the
    /// status stays.
    private func replace(_ status: Int, _ query: String, _ rewritten: Int, _ link: Link, at port: Int) throws -> Bool {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-_.~")
        let url = "http://\(self.host)\(self.uri)".addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        let lines = self.fields.filter { $0.name != "Content-Length" }.map { "\($0.name): \($0.value)\r\n" }.joined()
        let page = try Wire(to: port).request(
            latin1: "GET \(query.replacing("{url}", with: url)) HTTP/1.1\r\nHost: \(self.host)\r\n\(lines)"
                + "X-Forwarded-For: \(self.peer)\r\n\r\n"
        )
        let kept = page.lines.dropFirst().filter { line in
            let name = line.prefix { $0 != ":" }.lowercased()
            return name != "content-length" && name != "connection"
        }
        let status = status == 401 ? rewritten : status
        link.answer("\(status) Replaced", kept.map { $0 + "\r\n" }.joined(), body: page.text)
        return true
    }

    private func check(at port: Int) throws -> Answer {
        var fields = self.fields.filter { !Self.hop.contains($0.name) && $0.name != "Content-Length" }
        func set(_ name: String, _ value: String) {
            fields.removeAll { $0.name == name }
            fields.append((name, value))
        }
        set("X-Forwarded-For", self.peer)
        set("X-Forwarded-Method", self.method)
        set("X-Forwarded-Proto", "http")
        set("X-Forwarded-Host", self.host)
        set("X-Forwarded-Uri", self.uri)
        if !fields.contains(where: { $0.name == "Accept-Encoding" }) { set("Accept-Encoding", "gzip") }
        let asked = self.settings.asked ?? (host: "127.0.0.1:\(port)", path: "/authz/forward-auth")
        let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        return try Wire(to: port).request(
            latin1: "GET \(asked.path) HTTP/1.1\r\nHost: \(asked.host)\r\n\(lines)\r\n"
        )
    }

    /// Forwards the request, and the bytes of both sides after an upgrade.
    private func forward(_ link: Link, to port: Int, cookies: [String]) throws -> Bool {
        let wire = try Wire(to: port)
        var lines = self.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        lines += "X-Forwarded-For: \(self.peer)\r\n"
        wire.send(latin1: "\(self.method) \(self.uri) HTTP/1.1\r\nHost: \(self.host)\r\n\(lines)\r\n")
        wire.send(self.request.rawBody)
        let answer = try wire.answer(to: self.method)
        guard answer.status == 101 else {
            let kept = answer.lines.dropFirst().filter { line in
                let name = line.prefix { $0 != ":" }.lowercased()
                return name != "content-length" && name != "transfer-encoding" && name != "connection"
            }
            let all = kept.map { $0 + "\r\n" } + cookies.map { "Set-Cookie: \($0)\r\n" }
            let length = self.method == "HEAD" ? "" : "Content-Length: \(answer.body.count)\r\n"
            let hasBody = self.method != "HEAD" && answer.status != 204
            link.wire.send(latin1: "\(answer.lines[0])\r\n\(all.joined())\(answer.status == 204 ? "" : length)\r\n")
            if hasBody { link.wire.send(answer.body) }
            return self.method != "HEAD"
        }
        link.wire.send(answer.head)
        let back = Thread {
            while case .bytes(let bytes) = wire.receive(seconds: 20) { link.wire.send(bytes) }
            link.wire.finish()
        }
        back.start()
        while case .bytes(let bytes) = link.wire.receive(seconds: 20) { wire.send(bytes) }
        wire.close()
        return false
    }
}

extension Wire {
    /// Sends each character as one byte.
    func send(latin1 text: String) {
        self.send(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    }

    /// The same, and reads the answer.
    func request(latin1 text: String) throws -> Answer {
        self.send(latin1: text)
        return try self.answer(to: text.hasPrefix("HEAD ") ? "HEAD" : "GET")
    }
}
