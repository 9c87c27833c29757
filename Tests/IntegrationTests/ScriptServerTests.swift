import Foundation
import GatewayBench
import Testing

/// A server that runs scripts by CGI (RFC 3875). It runs `/secret.sh` for `/secret.sh/x`, and it writes every byte of a
/// field's name that is neither a letter nor a digit as `_`.
@Suite("A server with CGI scripts", .blocking) struct ScriptServerTests {
    private func withScripts(_ routes: String, _ body: (Gateway) throws -> Void) throws {
        guard let program = Servers.find(["/usr/sbin/lighttpd"]) else { try Servers.missing("lighttpd") }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let root = folder.appending(path: "root")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let script = "printf 'Content-Type: text/plain\\r\\n\\r\\n'\necho \"ran $SCRIPT_NAME\"\nenv\n"
        for name in ["secret.sh", "open.sh"] {
            try script.write(to: root.appending(path: name), atomically: true, encoding: .utf8)
        }
        let port = try ServerPorts.take()
        let settings = """
            server.document-root = "\(root.path)"
            server.bind = "127.0.0.1"
            server.port = \(port)
            server.errorlog = "\(folder.path)/error.log"
            server.modules = ("mod_cgi")
            cgi.assign = (".sh" => "/bin/sh")
            """
        let file = folder.appending(path: "lighttpd.conf")
        try settings.write(to: file, atomically: true, encoding: .utf8)
        let running = try Servers.Running(program, ["-D", "-f", file.path], in: folder, port: port)
        defer { running.stop() }
        try Gateway.with(Config.file(upstream: port, routes: routes)) { try body($0) }
    }

    private static let routes = """
          - path: /**
            auth: public
            allow_encoded_slashes: true
          - path: /secret.sh
            allow_encoded_slashes: true
        """

    @Test("No path that continues a protected script's path runs the script for an anonymous client")
    func pathInfo() throws {
        try self.withScripts(Self.routes) { gateway in
            #expect(try gateway.get("/open.sh/x").text.contains("PATH_INFO=/x"), "path information reaches scripts")
            #expect(try gateway.get("/secret.sh").status == 401)
            let token = "Authorization: Bearer \(try gateway.native())"
            #expect(try gateway.get("/secret.sh", [token]).text.contains("ran /secret.sh"))
            for path in [
                "/secret.sh/x", "/secret.sh/", "/secret.sh//x", "/secret.sh/x/y", "/secret.sh%2Fx", "/%73ecret.sh/x",
                "/secret%2Esh/x", "//secret.sh/x", "/secret.sh/x;y", "/secret.sh/%20",
            ] {
                let answer = try gateway.get(path)
                #expect(answer.status == 400 && answer.reason == "path.ambiguous", "\(path): \(answer.lines)")
            }
        }
    }

    @Test("path_info: follow serves continuations of a protected script's path to users who may run it")
    func follow() throws {
        try self.withScripts(Self.routes + "\n    path_info: follow\n") { gateway in
            #expect(try gateway.get("/secret.sh/x").status == 401)
            let token = "Authorization: Bearer \(try gateway.native())"
            let answer = try gateway.get("/secret.sh/x", [token])
            #expect(answer.text.contains("PATH_INFO=/x"), "\(answer.text)")
            #expect(answer.text.contains("HTTP_X_AUTH_SUBJECT=user-1815"), "\(answer.text)")
        }
    }

    @Test("No field with a name that a script would read as the gateway's reaches the script")
    func forgedNames() throws {
        try self.withScripts(Self.routes) { gateway in
            #expect(
                try gateway.get("/open.sh", ["X!Other: kept"]).text.contains("HTTP_X_OTHER=kept"),
                "names are folded"
            )
            for mark in "!#$%&'*+.^`|~" {
                let fields = [
                    "X\(mark)Auth\(mark)Email: evil", "X\(mark)Auth\(mark)Groups: evil", "X-Auth\(mark)Subject: evil",
                    "Remote\(mark)User: evil", "X\(mark)Forwarded\(mark)Host: evil", "X\(mark)Real\(mark)IP: evil",
                ]
                let answer = try gateway.get("/open.sh", fields)
                #expect(answer.status == 200 && !answer.text.contains("evil"), "\(mark): \(answer.text)")
            }
        }
    }
}
