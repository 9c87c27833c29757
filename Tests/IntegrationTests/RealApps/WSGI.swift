import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let pythonProgram = Servers.find(["/usr/bin/python3"])

    /// Ends the test without Debian's Python.
    static let requirePython: @Sendable () throws -> Void = {
        if Self.pythonProgram == nil { try Servers.missing("python3") }
    }

    /// A program for Debian's Python, beside this file.
    static func pythonServer(_ script: String, _ arguments: String..., port: Int) -> [Server] {
        [Server(program: Self.pythonProgram ?? "", arguments: [Self.script(script)] + arguments, port: port)]
    }

    /// The demo of Python's `wsgiref`, which prints its environment. One thread serves, with an accept queue of five.
    static let wsgiref = RealApp(
        testDescription: "wsgiref",
        requireInstalled: Self.requirePython,
        servers: { _, port in
            let code = """
                import sys
                from wsgiref.simple_server import demo_app, make_server
                make_server("127.0.0.1", int(sys.argv[1]), demo_app).serve_forever()
                """
            return [Server(program: Self.pythonProgram ?? "", arguments: ["-c", code, "\(port)"], port: port)]
        },
        page: "/report;v=1/2026?a=b&a=%C3%A4",
        user: { text in text.firstMatch(of: /HTTP_X_REMOTE_USER = '([^']+)'\n/).map { String($0.1) } },
        use: { visit in
            let page = try visit.send("GET", "/report").text
            #expect(page.contains("HTTP_X_FORWARDED_PROTO = 'https'\n"), "\(page)")
            #expect(page.contains("HTTP_X_FORWARDED_HOST = '\(visit.place.host)'\n"), "\(page)")
            let prefix = page.firstMatch(of: /HTTP_X_FORWARDED_PREFIX = '([^']+)'\n/).map { String($0.1) }
            #expect(prefix ?? "" == visit.place.prefix, "\(page)")
            // A page with many images, for which a browser asks at once.
            let urls = (0..<40).map { visit.place.url("/image/\($0)") }
            #expect(try visit.client.sendTogether(urls) == urls.map { _ in "200" })
        }
    )

    /// Server-sent events of Python's `http.server`, a thread for each.
    static let events = RealApp(
        testDescription: "server-sent events",
        requireInstalled: Self.requirePython,
        servers: { _, port in Self.pythonServer("event-stream.py", "\(port)", port: port) },
        page: "/board?room=1",
        user: { text in text.firstMatch(of: /user: (\w+)/).map { String($0.1) } },
        use: { visit in
            let stream = try visit.client.listen(visit.place.url("/events"))
            defer { stream.stop() }
            // Each event arrives when it is sent, not when a buffer is full.
            #expect(eventually { stream.text.contains("data: 3\n") }, "\(stream.text)")
        },
        stream: .events("/events")
    )

    /// An app that says how much arrived: two gigabytes in one request.
    static let upload = RealApp(
        testDescription: "an upload of 2 GB",
        requireInstalled: Self.requirePython,
        servers: { _, port in Self.pythonServer("upload.py", "\(port)", port: port) },
        page: "/files?sort=name",
        user: { text in text.firstMatch(of: /user: (\w+)/).map { String($0.1) } },
        routeKeys: ", max_body: 3GiB",
        use: { visit in
            // A sanitizer looks at each byte.
            let size = Gateway.environment["ASAN_OPTIONS"] == nil ? 2 << 30 : 64 << 20
            let file = visit.folder.appending(path: "disk.img")
            try Data().write(to: file)
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: UInt64(size))
            try handle.close()
            let answer = try visit.send("PUT", "/files/disk.img", file: file.path)
            #expect(answer.status == 201 && answer.text == "received: \(size)\n", "\(answer.lines) \(answer.text)")
        }
    )
}
