import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let apacheProgram = Servers.find(["/usr/sbin/apache2"])
    private static let apacheModules = "/usr/lib/apache2/modules"
    private static let litmusProgram = Servers.find(["/usr/bin/litmus"])

    /// A folder of Apache's mod_dav, used by litmus, the test program of WebDAV.
    static let webDAV = RealApp(
        testDescription: "mod_dav",
        requireInstalled: {
            if Self.apacheProgram == nil || Self.litmusProgram == nil { try Servers.missing("apache2-bin and litmus") }
            try Self.requirePython()
        },
        servers: { folder, port in
            for name in ["files", "files/notes", "locks"] {
                // For the user to whom Apache changes.
                try FileManager.default.createDirectory(
                    at: folder.appending(path: name),
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o777]
                )
            }
            try "<p>Notes on the engine</p>\n".write(
                to: folder.appending(path: "files/notes/engine.html"),
                atomically: true,
                encoding: .utf8
            )
            let names = ["mpm_event", "authn_core", "authz_core", "headers", "setenvif", "mime", "dav", "dav_fs"]
            let loaded = names.map { "LoadModule \($0)_module \(Self.apacheModules)/mod_\($0).so" }
            let file = folder.appending(path: "apache.conf")
            let text = """
                ServerRoot \(folder.path)
                ServerName 127.0.0.2
                Listen 127.0.0.1:\(port)
                PidFile \(folder.path)/apache.pid
                ErrorLog \(folder.path)/error.log
                \(loaded.joined(separator: "\n"))
                TypesConfig /dev/null
                AddType text/html .html
                DocumentRoot \(folder.path)/files
                DavLockDB \(folder.path)/locks/db
                \(try Self.guide("apache"))
                \(try Self.guide("apache", 1))
                Header set X-Seen-User expr=%{reqenv:REMOTE_USER}
                <Directory \(folder.path)/files>
                Dav On
                </Directory>

                """
            try text.write(to: file, atomically: true, encoding: .utf8)
            return [Server(program: Self.apacheProgram ?? "", arguments: ["-X", "-f", file.path], port: port)]
        },
        page: "/notes/engine.html?version=1",
        knowsUsers: false,
        use: { visit in
            #expect(try visit.send("GET", "/notes/engine.html").value("x-seen-user") == "ada")
            let destination = "Destination: \(visit.place.url("/notes/kept%20away.html"))"
            #expect(try visit.send("COPY", "/notes/engine.html", [destination]).status == 201)
            #expect(try visit.send("GET", "/notes/kept%20away.html").status == 200)
            #expect(try visit.send("DELETE", "/notes/kept%20away.html").status == 204)
            // litmus can send no bearer token, so a relay does.
            let port = try ServerPorts.take()
            let folder = visit.folder.appending(path: "litmus-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let python = Self.pythonServer("bearer-relay.py", "\(port)", visit.place.host, visit.token, port: port)[0]
            let relay = try Servers.Running(python.program, python.arguments, in: folder, port: port)
            defer { relay.stop() }
            let url = "http://127.0.0.1:\(port)\(visit.place.prefix)/"
            let command = [
                "-c", "cd \"$1\" && exec \"$2\" -k \"$3\"", "sh", folder.path, Self.litmusProgram ?? "", url,
            ]
            let result = try Servers.run("/bin/sh", command)
            let passed = result.output.matches(of: /tests run: (\d+) passed/).compactMap { Int($0.1) }.reduce(0, +)
            #expect(passed == 104 && !result.output.contains("FAIL"), "\(result.output)")
        },
        isLoaded: "document.body.innerText.includes('Notes on the engine')"
    )
}
