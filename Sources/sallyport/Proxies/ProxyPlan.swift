import AddressIntelligence
import RequestPath
import Settings

/// What the configuration of a proxy that asks has to say of the gateway, taken from the gateway's settings.
struct ProxyPlan {
    /// A host that the proxy serves.
    struct Host {
        let url: PublicURL
        /// A regular expression of the paths that the gateway itself answers, by PCRE and RE2.
        let ownPaths: String
        /// The app behind each path, by a regular expression of decoded paths; the most specific path comes first.
        let apps: [(paths: String, app: App)]
        /// A path to one of several apps that no regular expression here says exactly.
        let unwritablePath: String?
        /// The name in variables and lists: letters, digits and `_`.
        let label: String

        /// The port at which the proxy listens.
        var port: Int { self.url.port ?? (self.url.isHTTPS ? 443 : 80) }
        /// The app of all paths that no other one has.
        var app: App { self.apps.last?.app ?? App(label: self.label) }
        var otherApps: ArraySlice<(paths: String, app: App)> { self.apps.dropLast() }
    }

    /// An app, to which the proxy forwards.
    struct App: Equatable {
        let label: String
        var isHTTPS = false
        var host = "127.0.0.1"
        var port = 3000
        /// The name in its certificate.
        var tlsName = ""
        /// Whether the settings do not say where the app is.
        var isPlaceholder = true

        var address: String { "\(self.host):\(self.port)" }
        var url: String { "\(self.isHTTPS ? "https" : "http")://\(self.address)" }
    }

    let hosts: [Host]
    /// Each app of the hosts, once.
    let apps: [App]
    /// Where browsers' requests for the gateway's own paths go.
    let gateway: ListenAddress
    /// Where the proxy asks.
    let checks: ListenAddress
    let settings: Settings
    let authorization: AuthorizationSettings
    /// The fields in which the app learns who the user is. A client's must never reach it.
    let fields: [String]
    private let managed: ManagedNames

    /// - Parameter ownPaths: The paths of a host that the gateway answers itself.
    init(_ settings: Settings, _ authorization: AuthorizationSettings, ownPaths: (HostSettings) -> [String]) {
        self.settings = settings
        self.authorization = authorization
        self.gateway = Self.reachable(settings.listen[0])
        self.checks = Self.reachable(authorization.listen)
        let identity = IdentityProfile(settings.identity)
        var fields = identity.fields.map(\.name)
        if settings.identity.basic != nil { fields.append("Authorization") }
        if settings.identity.assertion != nil { fields.append(AssertionSigner.field) }
        self.fields = fields
        self.managed = identity.managed
        self.hosts = settings.hosts.map { Self.host($0, settings.upstreams, ownPaths($0)) }
        var apps: [App] = []
        for host in self.hosts {
            for app in host.apps.map(\.app) + [host.app] where !apps.contains(app) { apps.append(app) }
        }
        self.apps = apps
    }

    /// What of the settings cannot be written so that the proxy reads it as meant; nil: all of it can.
    var fault: String? {
        if let field = self.fields.first(where: { !$0.utf8.allSatisfy(Self.isPlain) }) {
            return "identity.headers: proxies cannot name \(field): use letters, digits, - and _"
        }
        let labels = self.hosts.map { $0.label.lowercased() }
        if let twice = labels.first(where: { label in labels.count { $0 == label } > 1 }) {
            return "two hosts would both be called \(twice) in the proxy's configuration: write it by hand"
        }
        let apps = self.apps.map { $0.label.lowercased() }
        if let twice = apps.first(where: { label in apps.count { $0 == label } > 1 }) {
            return
                "upstreams: two apps would both be called \(twice) in the proxy's configuration: give one another name"
        }
        if let path = self.hosts.lazy.compactMap(\.unwritablePath).first {
            return "the path \(path) leads to an app of its own and cannot be written for every proxy: write it by hand"
        }
        return nil
    }

    /// A letter, a digit, `-` or `_`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Where the proxy listens.
    var ports: [Int] { Set(self.hosts.map(\.port)).sorted() }

    /// An address to connect to: every address is also this machine's own.
    private static func reachable(_ address: ListenAddress) -> ListenAddress {
        let isEvery = address.host.isEmpty || IPAddress(address.host)?.isUnspecified == true
        return isEvery ? ListenAddress(host: "127.0.0.1", port: address.port) : address
    }

    private static func host(_ host: HostSettings, _ upstreams: [UpstreamSettings], _ ownPaths: [String]) -> Host {
        let label = self.label(host.publicURL.authority)
        let all = "/.sallyport/"
        let paths = ownPaths.filter { !$0.hasPrefix(all) }
        let own = ([all + "**"] + paths).map { self.expression($0) }.joined(separator: "|")
        let routes = host.routes.sorted { self.precedes($0.path, $1.path) }
        // A route without an app is a part of the one that has the least specific path.
        let main = routes.last { $0.upstream != nil }?.upstream
        var apps: [(path: String, app: App)] = []
        for route in routes where route.path != apps.last?.path {
            let upstream = upstreams.first { $0.name == route.upstream ?? main }
            apps.append((route.path, upstream.map { self.app($0) } ?? App(label: label)))
        }
        let kept = apps.indices.filter { index in
            index == apps.endIndex - 1 || !self.goes(apps[index], where: apps.last?.app, before: apps[(index + 1)...])
        }
        return Host(
            url: host.publicURL,
            ownPaths: own,
            apps: kept.map { (self.expression(apps[$0].path), apps[$0].app) },
            unwritablePath: kept.count < 2 ? nil : kept.lazy.map { apps[$0].path }.first { !self.isWritable($0) },
            label: label
        )
    }

    /// Whether a path leads to the app of all paths also without a line of its own: none of the less specific paths that may
    /// have a part of it leads to another app.
    private static func goes(
        _ entry: (path: String, app: App),
        where main: App?,
        before others: ArraySlice<(path: String, app: App)>
    ) -> Bool {
        let own = entry.path.prefix { $0 != "*" }
        return entry.app == main
            && !others.contains { other in
                let prefix = other.path.prefix { $0 != "*" }
                return other.app != main && (own.hasPrefix(prefix) || prefix.hasPrefix(own))
            }
    }

    private static func app(_ upstream: UpstreamSettings) -> App {
        let name = upstream.name.split(separator: "/").last.map(String.init) ?? upstream.name
        return App(
            label: self.label(name) + (upstream.isHTTPS ? "_tls" : ""),
            isHTTPS: upstream.isHTTPS,
            host: upstream.host,
            port: upstream.port,
            tlsName: upstream.serverName ?? upstream.host,
            isPlaceholder: false
        )
    }

    private static func label(_ text: String) -> String {
        String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// Literal segments come before `*` and `{name}`, and these before `**` and longer paths.
    private static func precedes(_ one: String, _ other: String) -> Bool {
        func ranks(_ path: String) -> [Int] {
            path.split(separator: "/").map { $0 == "**" ? 2 : $0 == "*" ? 1 : 0 } + [1]
        }
        let (mine, theirs) = (ranks(one), ranks(other))
        return mine == theirs ? one < other : mine.lexicographicallyPrecedes(theirs)
    }

    /// `/sessions/{id}` as `/sessions/[^/]+`, `/a/**` as `/a(/.*)?`.
    private static func expression(_ path: String) -> String {
        var text = ""
        for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            switch segment {
            case "**": text += text.isEmpty ? "/.*" : "(/.*)?"
            case "*": text += "/[^/]+"
            case let segment where segment.hasPrefix("{"): text += "/[^/]+"
            default: text += "/" + self.escaped(segment)
            }
        }
        return text
    }

    private static func isWritable(_ path: String) -> Bool {
        path.utf8.allSatisfy { self.isPlain($0) || "/*.~@:{}".utf8.contains($0) }
    }

    private static func escaped(_ text: some StringProtocol) -> String {
        // Other characters mean something to some proxy's configuration.
        text.map { character in
            if character.isASCII, character.isLetter || character.isNumber || "-_~/@:".contains(character) {
                return String(character)
            }
            return character == "." ? "\\." : ".+"
        }.joined()
    }

    // MARK: Names of fields

    /// Names that the proxy sets itself for the app.
    private static let forwarded = ["for", "proto", "host"].map { "x-forwarded-\($0)" }
    /// What apps take from fields of forwarding that no proxy sets.
    private static let believed = [
        "access-token", "by", "email", "groups", "method", "port", "prefix", "preferred-username", "scheme", "server",
        "ssl", "uri", "user",
    ].map { "x-forwarded-\($0)" }

    /// Names of fields that the app must not get from a client, for proxies that cannot remove fields by a pattern.
    /// Fields of the identity are not among them: they are set or removed.
    var removedNames: [String] {
        let presets = IdentitySettings.Preset.allCases.flatMap { preset in
            var identity = IdentitySettings()
            identity.preset = preset
            return IdentityProfile(identity).fields.map(\.name)
        }
        let names = self.managed.names + Self.believed + ["x-original-method", "x-original-url", "x-rewrite-url"]
        let all = Set((names + presets + [AssertionSigner.field]).map { $0.lowercased() })
        return all.subtracting(self.fields.map { $0.lowercased() }).subtracting(Self.forwarded).sorted()
    }

    /// A regular expression of all such names, those of the identity among them, in every spelling that an app may take for
    /// one; letters are lower-case.
    var removedPattern: String {
        func spellings(_ name: String) -> String { String(name.map { $0 == "-" ? "." : $0 }) }
        let prefixes = self.managed.prefixes.filter { $0 != "x-forwarded-" }
        let names = (self.managed.names + Self.believed).filter { name in
            !prefixes.contains { name.hasPrefix($0) }
        }
        return "^(\((prefixes.map { spellings($0) + ".*" } + names.map(spellings)).joined(separator: "|")))$"
    }

    // MARK: Comments

    /// What stands above the configuration.
    func comment(for proxy: ProxyKind) -> [String] {
        var lines = [
            "Made by `sallyport check --for \(proxy.rawValue)`. The proxy asks Sallyport at \(self.checks) whether a request is",
            "allowed (dialect \(proxy.dialect.rawValue)) and forwards it itself; Sallyport's own paths go to \(self.gateway).",
        ]
        let isPlaced = !self.apps.contains(where: \.isPlaceholder)
        if !isPlaced {
            lines.append("Write the app's own address for 127.0.0.1:3000: the settings do not name it (upstream).")
        }
        lines += self.warnings(for: proxy).flatMap { ["", "WARNING: \($0)"] }
        lines += ["", "What cannot work beside another proxy:"]
        lines += self.limits(of: proxy).map { "- \($0)" }
        return lines.map { $0.isEmpty ? "#" : "# \($0)" }
    }

    private func warnings(for proxy: ProxyKind) -> [String] {
        let passes = proxy.passesCookiesOnSuccess
        var warnings: [String] = []
        if self.authorization.cookiesOnSuccess, !passes {
            warnings.append(
                "write authorization.cookies_on_success: false. This proxy drops the cookies of an answer that allows a request."
            )
        }
        if !self.authorization.cookiesOnSuccess, passes {
            warnings.append("cookies_on_success: false costs a redirect that this proxy does not need.")
        }
        return warnings
    }

    private func limits(of proxy: ProxyKind) -> [String] {
        var limits = [
            "Open WebSockets and event streams do not end at a sign-out: the next request is refused.",
            "Rules for answers (Cache-Control: private, cookies of the app), limits of bodies and time limits of routes do not apply.",
            "The proxy reads the path again in its own way; what is ambiguous is refused.",
            "Only the proxy vouches for the fields: an assertion (identity.assertion) is the proof that an app can verify.",
        ]
        if proxy == .envoy {
            limits.append(
                "failure_mode_allow: true would let every request pass while Sallyport cannot answer: **never set it**."
            )
        } else {
            limits.append("The session cookie and Authorization reach the app: it must not show or log them.")
        }
        if !proxy.passesCookiesOnSuccess {
            limits.append(
                "A cookie that is due on an allowed request comes by a redirect, and is not cleared otherwise."
            )
        }
        if proxy.dialect != .extAuthz {
            limits.append(
                "Sallyport does not answer preflights of other origins (routes[].cors): they need a public route."
            )
        }
        limits.append("A cached decision outlives the session: never cache the answers to checks.")
        return limits
    }
}

extension [String] {
    /// The lines, each further to the right; empty ones stay empty.
    func indented(_ count: Int) -> [String] {
        self.map { $0.isEmpty ? "" : String(repeating: " ", count: count) + $0 }
    }
}
