import Foundation
import GatewayBench
import Testing

/// Apache with mod_auth_openidc as an app that believes the assertion alone. It reads keys over https only, from a proxy
/// in front of the gateway.
@Suite("mod_auth_openidc as a resource server", .blocking) struct ResourceServerTests {
    private static let modules = "/usr/lib/apache2/modules"

    /// Each assertion is for one minute, and the module keeps the keys for an hour.
    private static func apache(_ folder: URL, port: Int, keysPort: Int) -> String {
        let loaded = [
            "mpm_event", "authn_core", "authz_core", "authz_user", "headers", "dir", "auth_openidc",
        ].map { "LoadModule \($0)_module \(Self.modules)/mod_\($0).so" }
        return """
            ServerRoot \(folder.path)
            ServerName \(Request.host)
            Listen 127.0.0.1:\(port)
            PidFile \(folder.path)/apache.pid
            ErrorLog \(folder.path)/error.log
            \(loaded.joined(separator: "\n"))
            DocumentRoot \(folder.path)/root
            DirectoryIndex index.html
            OIDCOAuthVerifyJwksUri https://127.0.0.1:\(keysPort)/.sallyport/jwks.json
            OIDCOAuthSSLValidateServer Off
            OIDCOAuthRemoteUserClaim sub
            OIDCCryptoPassphrase none
            RequestHeader set Authorization "expr=Bearer %{req:X-Auth-Assertion}" early
            Header always set X-User "expr=%{REMOTE_USER}"
            <Location />
            AuthType oauth20
            <RequireAll>
            Require claim iss:\(Request.origin)
            Require claim aud:\(Request.origin)
            Require claim groups:staff
            </RequireAll>
            </Location>
            """
    }

    private static func nginx(_ folder: URL, port: Int, gateway: Int) -> String {
        """
        daemon off;
        pid \(folder.path)/nginx.pid;
        events {}
        http {
            access_log off;
            client_body_temp_path \(folder.path)/body;
            proxy_temp_path \(folder.path)/proxy;
            fastcgi_temp_path \(folder.path)/fastcgi;
            uwsgi_temp_path \(folder.path)/uwsgi;
            scgi_temp_path \(folder.path)/scgi;
            server {
                listen 127.0.0.1:\(port) ssl;
                ssl_certificate server.pem;
                ssl_certificate_key server.key;
                location / {
                    proxy_pass http://127.0.0.1:\(gateway);
                    proxy_set_header Host \(Request.host);
                }
            }
        }
        """
    }

    @Test(
        "It signs users in by their assertion alone, also after the secret was rotated while it keeps the former keys"
    )
    func signsIn() throws {
        guard let apache = Servers.find(["/usr/sbin/apache2"]), let nginx = Servers.find(["/usr/sbin/nginx"]),
            FileManager.default.fileExists(atPath: Self.modules + "/mod_auth_openidc.so")
        else { return Servers.missing("apache2 with libapache2-mod-auth-openidc, or nginx") }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appending(path: name).path }
        let made = try Servers.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=127.0.0.1", "-keyout", path("server.key"), "-out", path("server.pem"),
            ]
        )
        #expect(made.status == 0, "\(made.output)")
        try FileManager.default.createDirectory(atPath: path("root"), withIntermediateDirectories: true)
        try "the page".write(toFile: path("root/index.html"), atomically: true, encoding: .utf8)
        let (appPort, keysPort, port) = (try ServerPorts.take(), try ServerPorts.take(), try ServerPorts.take())
        try Self.apache(folder, port: appPort, keysPort: keysPort)
            .write(toFile: path("apache.conf"), atomically: true, encoding: .utf8)
        try Self.nginx(folder, port: keysPort, gateway: port)
            .write(toFile: path("nginx.conf"), atomically: true, encoding: .utf8)
        let settings = Config.file(
            upstream: appPort,
            listen: "127.0.0.1:\(port)",
            more: AssertionBench.on + "secret_file: secret\n"
        )
        let next = String(repeating: "a second secret, ", count: 4)
        let first = AssertionBench.firstSecret
        let app = try Servers.Running(apache, ["-X", "-f", path("apache.conf")], in: folder, port: appPort)
        defer { app.stop() }

        let keys = try Servers.Running(
            nginx,
            ["-p", folder.path, "-c", "nginx.conf", "-e", "error.log"],
            in: folder,
            port: keysPort
        )
        defer { keys.stop() }
        try Gateway.with(settings, files: ["secret": "\(first)\n\(next)\n"]) { try Self.check($0, appPort) }
        // The module cannot ask for keys any more.
        keys.stop()
        try Gateway.with(settings, files: ["secret": "\(next)\n\(first)\n"]) { try Self.check($0, appPort) }
    }

    private static func check(_ gateway: Gateway, _ appPort: Int) throws {
        let answer = try gateway.get("/", ["Cookie: sallyport=\(try gateway.browser())"])
        #expect(answer.status == 200 && answer.text == "the page", "\(answer.lines)")
        #expect(answer.values("x-user") == ["user-1815"])
        // Mary is in no group.
        let mary = try gateway.get("/", ["Cookie: sallyport=\(try gateway.browser(.mary))"])
        #expect([401, 403].contains(mary.status), "\(mary.lines)")
        for forged in ["", "X-Auth-Assertion: a.b.c\r\n"] {
            let direct = try Wire(to: appPort).request("GET / HTTP/1.1\r\nHost: \(Request.host)\r\n\(forged)\r\n")
            #expect(direct.status == 401, "\(direct.lines)")
        }
    }
}
