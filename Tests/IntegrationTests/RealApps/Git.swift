import Foundation
import GatewayBench
import TestSupport
import Testing

extension RealApp {
    private static let gitPrograms = ["/usr/bin/git", "/usr/lib/git-core/git-http-backend", "/usr/sbin/fcgiwrap"]

    /// git's own server program over HTTP, which nginx runs by fcgiwrap.
    static let git = RealApp(
        testDescription: "git",
        requireInstalled: {
            if Nginx.program == nil || Self.gitPrograms.contains(where: { Servers.find([$0]) == nil }) {
                try Servers.missing("git with fcgiwrap")
            }
        },
        servers: { folder, port in
            let repository = folder.appending(path: "notes.git").path
            let made = try Servers.run("/usr/bin/git", ["init", "--bare", "-q", "-b", "main", repository])
            guard made.status == 0 else { throw BenchFailure("git init: \(made.output)") }
            // Pushes are for the user whom the web server names.
            let hook = URL(filePath: repository).appending(path: "hooks/post-receive")
            try "#!/bin/sh\necho \"pushed by $REMOTE_USER\"\n".write(to: hook, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: hook.path)
            let backendPort = try ServerPorts.take()
            let nginx = try Nginx.server(
                in: folder,
                port: port,
                """
                \(Nginx.parameters)
                fastcgi_param SCRIPT_FILENAME \(Self.gitPrograms[1]);
                fastcgi_param GIT_PROJECT_ROOT \(folder.path);
                fastcgi_param GIT_HTTP_EXPORT_ALL "";
                fastcgi_param PATH_INFO $uri;
                \(try Self.guide("nginx"))
                fastcgi_pass 127.0.0.1:\(backendPort);
                """
            )
            let backend = Server(
                program: Self.gitPrograms[2],
                arguments: ["-s", "tcp:127.0.0.1:\(backendPort)", "-c", "2"],
                port: backendPort
            )
            return [backend, nginx]
        },
        page: "/notes.git/info/refs?service=git-upload-pack",
        knowsUsers: false,
        use: { visit in
            let folder = visit.folder.appending(path: "git-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            func git(_ arguments: String...) throws -> String {
                let header = "http.extraHeader=Authorization: Bearer \(visit.token)"
                let own = ["-c", "http.sslVerify=false", "-c", header, "-c", "user.name=Ada", "-c", "user.email=a@b"]
                let environment = ["HOME": folder.path, "GIT_TERMINAL_PROMPT": "0"]
                let result = try Servers.run("/usr/bin/git", own + arguments, environment: environment)
                #expect(result.status == 0, "\(arguments) \(result.output)")
                return result.output
            }
            let (work, url) = (folder.appending(path: "work"), visit.place.url("/notes.git"))
            _ = try git("clone", "-q", url, work.path)
            // More than git sends without chunks.
            var noise = SeededNumbers(seed: UInt64(visit.place.prefix.count))
            let bytes = (0..<3 << 20).map { _ in UInt8(truncatingIfNeeded: noise.next()) }
            try Data(bytes).write(to: work.appending(path: "engine.bin"))
            _ = try git("-C", work.path, "add", ".")
            _ = try git("-C", work.path, "commit", "-q", "-m", "Notes at \(visit.place.host)")
            #expect(try git("-C", work.path, "push", "origin", "HEAD:main").contains("pushed by ada"))
            let copy = folder.appending(path: "copy")
            _ = try git("clone", "-q", url, copy.path)
            #expect(try git("-C", copy.path, "log", "-1", "--format=%s") == "Notes at \(visit.place.host)\n")
        },
        isLoaded: nil
    )
}
