import Foundation
import GatewayBench
import Testing

/// Where clients reach an app: on a host of its own, or below a prefix of another host.
struct AppPlace: Sendable, CustomTestStringConvertible {
    let origin: String
    let prefix: String

    var testDescription: String { self.origin + self.prefix }
    /// Host and port.
    var host: String { String(self.origin.dropFirst("https://".count)) }

    /// The public URL of a path of the app.
    func url(_ path: String) -> String { self.origin + self.prefix + path }
}

/// Ada at an app: what she does there works at every place.
struct AppVisit {
    let place: AppPlace
    /// Signed in at the place.
    let client: WebCurl
    /// Ada's session as a program presents it: `Authorization: Bearer`.
    let token: String
    /// For what her programs write.
    let folder: URL

    /// A request for a path of the app, as a script of its pages sends it.
    func send(
        _ method: String,
        _ path: String,
        _ fields: [String] = [],
        body: String? = nil,
        file: String? = nil
    ) throws -> Answer {
        try self.client.send(method, self.place.url(path), fields, body: body, file: file)
    }
}

/// A gateway with TLS and HTTP/2 in front of an app, as an operator would have it: users sign in at one host, the app has
/// another one, and is below a prefix of a third.
struct AppWalk {
    let app: RealApp
    let gateway: Gateway
    let folder: URL
    private let port: Int

    /// The prefix of the app.
    static let prefix = "/tools/app"
    /// Where users sign in.
    var entrance: String { "https://127.0.0.1:\(self.port)" }
    /// A host of the app's own.
    var own: AppPlace {
        AppPlace(origin: "https://127.0.0.2:\(self.port)", prefix: self.app.knowsPrefix ? Self.prefix : "")
    }
    /// A host with the app below a prefix.
    var mixed: AppPlace { AppPlace(origin: "https://127.0.0.3:\(self.port)", prefix: Self.prefix) }
    /// Where the app works.
    var places: [AppPlace] { [self.own, self.mixed] }

    /// Runs `body` with the app and a gateway; they are stopped afterwards.
    static func with(_ app: RealApp, _ body: (AppWalk) throws -> Void) throws {
        try app.requireInstalled()
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let made = try Servers.run(
            "/usr/bin/openssl",
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
                + ["-subj", "/CN=apps", "-addext", "subjectAltName=IP:127.0.0.1,IP:127.0.0.2,IP:127.0.0.3"]
                + ["-keyout", folder.appending(path: "own.key").path, "-out", folder.appending(path: "own.pem").path]
        )
        guard made.status == 0 else { throw BenchFailure("openssl: \(made.output)") }
        let appFolder = folder.appending(path: "app")
        try FileManager.default.createDirectory(at: appFolder, withIntermediateDirectories: true)
        let appPort = try ServerPorts.take()
        let running = try app.start(in: appFolder, port: appPort)
        defer { for server in running { server.stop() } }
        let port = try ServerPorts.take()
        let settings = try Self.settings(app, appPort: appPort, port: port, certificates: folder)
        try Gateway.with(settings, files: ["operator-tokens": OperatorTokens.file]) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            try body(AppWalk(app: app, gateway: gateway, folder: folder, port: port))
            // Nothing of all this failed at the gateway, and browsers' way there is HTTP/2.
            let lines = gateway.output.split(separator: "\n").filter { $0.contains(#""stream":"access""#) }
            let failed = lines.filter { $0.contains(/"status":5\d\d|"reason":"(gateway|path|route)\./) }
            // For which a browser asks at the root of a host.
            #expect(failed.filter { !$0.contains(#""path":"/favicon.ico""#) } == [])
            #expect(lines.contains { $0.contains(#""protocol":"HTTP/2""#) })
        }
    }

    private static func settings(_ app: RealApp, appPort: Int, port: Int, certificates: URL) throws -> String {
        let keys = "upstream: app, client: web\(app.routeKeys)"
        let below = app.knowsPrefix ? keys : "strip_prefix: \(Self.prefix), \(keys)\(app.prefixKeys)"
        return """
            listen: ["127.0.0.1:\(port)", "127.0.0.2:\(port)", "127.0.0.3:\(port)"]
            event_loops: 1
            admin: {listen: "127.0.0.1:0", tokens_file: operator-tokens}
            log: {access: true}
            tls:
              certificate_file: \(certificates.appending(path: "own.pem").path)
              key_file: \(certificates.appending(path: "own.key").path)
            upstreams: {app: {url: "http://127.0.0.1:\(appPort)"}}
            hosts:
              - public_url: https://127.0.0.1:\(port)
                endpoints: true
                upstream: app
              - public_url: https://127.0.0.2:\(port)
                routes: [{path: /**, \(keys)}]
              - public_url: https://127.0.0.3:\(port)
                routes: [{path: \(Self.prefix)/**, \(below)}]
            clients:
            \(Config.clients(binding: "none"))
            provider:
              static:
                users:
            \(Config.users)
            drain: {delay: 0s, timeout: 100ms}
            \(try RealApp.guide("yaml"))
            """
    }

    /// A client without cookies.
    func client() throws -> WebCurl { try WebCurl(in: self.folder) }

    /// Who the app says that its user is, on a page or to a script.
    func user(_ page: WebCurl.Arrival, _ client: WebCurl, at place: AppPlace) throws -> String? {
        let (method, path, body) = self.app.question
        guard path != nil || body != nil else { return self.app.user(page.answer.utf8) }
        return self.app.user(try client.send(method, place.url(path ?? self.app.page), body: body).utf8)
    }

    /// A session of Ada's that a native app has.
    func nativeSession() throws -> String {
        let client = try self.client()
        let flow = try client.send("GET", "\(self.entrance)/self-service/login/api")
        let action = try #require(flow.text.firstMatch(of: /"action":"([^"]+)"/), "\(flow.text)").1
        let answer = try client.send(
            "POST",
            String(action).replacing(#"\/"#, with: "/"),
            ["Content-Type: application/json"],
            body: #"{"method":"password","identifier":"\#(User.ada.identifier)","password":"\#(User.ada.password)"}"#
        )
        return String(try #require(answer.text.firstMatch(of: /"session_token":"([^"]+)"/), "\(answer.text)").1)
    }

    /// A transfer token of a native session for a place.
    func transferToken(_ session: String, for place: AppPlace) throws -> String {
        let form = [
            "client_id=native", "subject_token=\(session)",
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token_type=urn:sallyport:params:oauth:token-type:session_token",
            "requested_token_type=urn:auth0:params:oauth:token-type:session_transfer_token",
            "audience=urn:\(place.host):session_transfer",
        ]
        let answer = try self.client().send(
            "POST",
            "\(self.entrance)/oauth/token",
            ["Content-Type: application/x-www-form-urlencoded"],
            body: form.joined(separator: "&")
        )
        return String(try #require(answer.text.firstMatch(of: /"access_token":"([^"]+)"/), "\(answer.text)").1)
    }

    /// The operator ends all sessions of Ada.
    func signAdaOut() throws {
        let answer = try self.gateway.operate("POST", "/subjects/\(User.ada.id)/sign-out", token: OperatorTokens.all)
        #expect(answer.status == 204, "\(answer.lines)")
    }
}

extension Answer {
    /// The body as UTF-8 text.
    var utf8: String { String(decoding: self.body, as: UTF8.self) }
}
