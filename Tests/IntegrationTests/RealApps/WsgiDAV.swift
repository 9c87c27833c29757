import Foundation
import GatewayBench
import Testing

/// A WebDAV server that knows nothing of its prefix, and the protocol's own test suite as its client.
@Suite("WsgiDAV below a prefix", .blocking) struct WsgiDAVTests {
    private static let python = RealApp.python(with: "wsgidav")
    private static let litmus = Servers.find(["/usr/bin/litmus"])

    /// Runs litmus against the app below `prefix`, and returns what it prints.
    private static func report(below prefix: String) throws -> String {
        guard let python = Self.python else { try Servers.missing("wsgidav", isOptional: true) }
        guard let litmus = Self.litmus else { try Servers.missing("litmus") }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let root = folder.appending(path: "root")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let settings = """
            host: 127.0.0.1
            port: \(port)
            provider_mapping: {"/": "\(root.path)"}
            simple_dc: {user_mapping: {"*": true}}
            http_authenticator: {accept_basic: false, accept_digest: false, default_to_digest: false}
            lock_storage: true
            property_manager: true

            """
        let file = folder.appending(path: "wsgidav.yaml")
        try settings.write(to: file, atomically: true, encoding: .utf8)
        let start =
            "import sys; from wsgidav.server.server_cli import run; sys.argv[1:] = ['-c', '\(file.path)']; run()"
        let app = try Servers.Running(python, ["-c", start], in: folder, port: port, within: 60)
        defer { app.stop() }
        let own = try ServerPorts.take()
        let config = Config.file(
            upstream: port,
            routes: "  - {path: \(prefix)/**, auth: public, strip_prefix: \(prefix)}",
            publicURL: "http://127.0.0.1:\(own)",
            listen: "127.0.0.1:\(own)"
        )
        var report = ""
        try Gateway.with(config) { _ in
            // It writes a log where it runs.
            let command = "cd '\(folder.path)' && exec \(litmus) -k http://127.0.0.1:\(own)\(prefix)/"
            report = try Servers.run("/bin/sh", ["-c", command]).output
        }
        return report
    }

    @Test("litmus passes all of its tests", arguments: ["/dav", "/files/dav"])
    func litmus(prefix: String) throws {
        let report = try Self.report(below: prefix)
        let suites = report.matches(of: /of (\d+) tests run: (\d+) passed, (\d+) failed/)
        let counts = suites.map { [Int($0.1), Int($0.2), Int($0.3)].map { $0 ?? 0 } }
        #expect(counts.map { $0[0] } == [16, 13, 30, 41, 4], "\(report)")
        #expect(counts.allSatisfy { $0[0] == $0[1] && $0[2] == 0 }, "\(report)")
    }
}
