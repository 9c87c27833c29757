import Cryptography
import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let registryProgram = Servers.find(["/usr/bin/docker-registry"])

    /// A registry of container images, whose clients follow absolute URLs of its own.
    static let registry = RealApp(
        testDescription: "docker-registry",
        requireInstalled: {
            if Self.registryProgram == nil { try Servers.missing("docker-registry") }
        },
        servers: { folder, port in
            let settings = """
                version: 0.1
                log: {level: error}
                storage: {filesystem: {rootdirectory: \(folder.path)/images}}
                http: {addr: "127.0.0.1:\(port)", secret: "of this test"}
                """
            let file = folder.appending(path: "registry.yml")
            try settings.write(to: file, atomically: true, encoding: .utf8)
            return [Server(program: Self.registryProgram ?? "", arguments: ["serve", file.path], port: port)]
        },
        page: "/v2/_catalog?n=10",
        knowsUsers: false,
        use: { visit in
            let bearer = ["Authorization: Bearer \(visit.token)"]
            let layer = String(repeating: "layer of \(visit.place.host)\n", count: 100_000)
            func digest(_ text: String) -> String { "sha256:\(SHA256.digest(Array(text.utf8)).hexadecimal)" }
            /// A client does not know the prefix: it goes where the registry says.
            func send(_ method: String, _ url: String, _ type: String, body: String) throws -> Answer {
                try visit.client.send(method, url, bearer + ["Content-Type: \(type)"], body: body)
            }
            let blobs = visit.place.url("/v2/engine/blobs/uploads/")
            let begun = try send("POST", blobs, "application/octet-stream", body: "")
            #expect(begun.status == 202, "\(begun.lines)")
            let first = try #require(begun.value("location"))
            #expect(first.hasPrefix(visit.place.url("/v2/engine/blobs/uploads/")), "\(first)")
            let sent = try send("PATCH", first, "application/octet-stream", body: layer)
            #expect(sent.status == 202, "\(sent.lines)")
            let next = try #require(sent.value("location"))
            let done = try send("PUT", "\(next)&digest=\(digest(layer))", "application/octet-stream", body: "")
            #expect(done.status == 201, "\(done.lines) \(done.text)")
            let stored = try visit.send("GET", "/v2/engine/blobs/\(digest(layer))", bearer + ["Range: bytes=0-8"])
            #expect(stored.status == 206 && stored.text == "layer of ", "\(stored.lines)")
            let head = try visit.send("HEAD", "/v2/engine/blobs/\(digest(layer))", bearer)
            #expect(head.value("content-length") == "\(layer.utf8.count)", "\(head.lines)")
        },
        isLoaded: "document.body.innerText.includes('repositories')"
    )

    private static let packagePython = Self.python(with: "pypiserver", in: "apps")

    /// An index of Python packages.
    static let packageIndex = RealApp(
        testDescription: "pypiserver",
        requireInstalled: {
            if Self.packagePython == nil { try Servers.missing("pypiserver", isOptional: true) }
        },
        servers: { folder, port in
            let own = ["run", "-i", "127.0.0.1", "-p", "\(port)", "--disable-fallback", "-a", ".", "-P", "."]
            let arguments = ["-m", "pypiserver"] + own + [folder.path]
            return [Server(program: Self.packagePython ?? "", arguments: arguments, port: port)]
        },
        page: "/simple/?format=html",
        knowsUsers: false,
        use: { visit in
            let name = "engine\(visit.place.prefix.count)"
            let parts = [
                #""name=":action""#, "file_upload", #""name="name""#, name, #""name="version""#, "1.0",
                #""name="content"; filename="\#(name)-1.0.tar.gz""#, "a package",
            ]
            var form = ""
            for index in stride(from: 0, to: parts.count, by: 2) {
                let field = parts[index].dropFirst()
                form += "--b\r\nContent-Disposition: form-data; \(field)\r\n\r\n\(parts[index + 1])\r\n"
            }
            let sent = try visit.send(
                "POST",
                "/",
                ["Content-Type: multipart/form-data; boundary=b"],
                body: form + "--b--\r\n"
            )
            #expect(sent.status == 200, "\(sent.lines) \(sent.text)")
            let list = try visit.send("GET", "/simple/\(name)/", ["Authorization: Bearer \(visit.token)"])
            #expect(list.status == 200 && list.text.contains("\(name)-1.0.tar.gz"), "\(list.lines) \(list.text)")
            #expect(try visit.send("GET", "/packages/\(name)-1.0.tar.gz").text == "a package")
        },
        isLoaded: "document.title === 'Simple Index'"
    )

    private static let prometheusProgram = Servers.find(["/usr/bin/prometheus"])

    /// Prometheus, whose pages ask for its own root: it has a setting for a prefix.
    static let prometheus = RealApp(
        testDescription: "Prometheus",
        requireInstalled: {
            if Self.prometheusProgram == nil { try Servers.missing("prometheus") }
        },
        servers: { folder, port in
            let file = folder.appending(path: "prometheus.yml")
            try "global: {}\n".write(to: file, atomically: true, encoding: .utf8)
            let arguments = [
                "--config.file=\(file.path)", "--storage.tsdb.path=\(folder.path)/data",
                "--web.listen-address=127.0.0.1:\(port)", "--web.external-url=http://127.0.0.1\(AppWalk.prefix)/",
            ]
            return [Server(program: Self.prometheusProgram ?? "", arguments: arguments, port: port)]
        },
        page: "/classic/graph?g0.expr=up&g0.tab=1",
        knowsUsers: false,
        use: { visit in
            let form = ["Content-Type: application/x-www-form-urlencoded"]
            let answer = try visit.send("POST", "/api/v1/query", form, body: "query=1%2B1")
            #expect(answer.status == 200 && answer.text.contains(#""status":"success""#), "\(answer.text)")
        },
        isLoaded: "document.querySelector('#graph_container textarea') !== null",
        knowsPrefix: true
    )
}
