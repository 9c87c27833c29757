import Foundation
import TestSupport
import Testing

/// The configurations of proxies in the guide are such as these proxies take.
@Suite struct ProxyGuideTests {
    /// Where the guide's files of keys and certificates are replaced, and sockets stand for ports.
    private let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-proxies-\(UUID())")

    private func path(_ name: String) -> String { self.folder.appending(path: name).path }

    /// Makes a key and a certificate, and a file with both.
    private func makeCertificate() throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let made = try #require(
            try PackageFiles.run([
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "2", "-subj", "/CN=app.example.com", "-keyout", self.path("key.pem"),
                "-out", self.path("certificate.pem"),
            ])
        )
        try #require(made.status == 0, "\(made.output)")
        let both = try ["certificate.pem", "key.pem"].map { try Data(contentsOf: URL(filePath: self.path($0))) }
        try Data(both.joined()).write(to: URL(filePath: self.path("both.pem")))
    }

    /// Expects that a proxy finds nothing wrong with a configuration.
    private func expect(_ text: String, isValidBy command: [String]) throws {
        let file = self.path("configuration")
        try Data(text.utf8).write(to: URL(filePath: file))
        let checked = try #require(try PackageFiles.run(command + [file]), "\(command[0]) is not installed")
        #expect(checked.status == 0, "\(checked.output)\n\(text)")
    }

    @Test func nginxTakesItsBlocks() throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try self.makeCertificate()
        let blocks = try Documents.guide("BehindAProxy").blocks("nginx")
        #expect(blocks.count == 2)
        for block in blocks {
            let site = block.hasPrefix("location") ? "server {\nlisten unix:\(self.path("plain"));\n\(block)}\n" : block
            let own = site.replacing("/etc/nginx/tls/fullchain.pem", with: self.path("certificate.pem"))
                .replacing("/etc/nginx/tls/privkey.pem", with: self.path("key.pem"))
                .replacing("listen 443", with: "listen unix:\(self.path("secure"))")
                .replacing("listen 80;", with: "listen unix:\(self.path("redirect"));")
            try self.expect(
                "pid \(self.path("pid"));\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n\(own)}\n",
                isValidBy: ["/usr/sbin/nginx", "-t", "-c"]
            )
        }
    }

    @Test func haproxyTakesItsBlocks() throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try self.makeCertificate()
        let blocks = try Documents.guide("BehindAProxy").blocks("haproxy")
        #expect(blocks.count == 2)
        for block in blocks {
            let own = block.replacing("/etc/haproxy/tls/app.example.com.pem", with: self.path("both.pem"))
            try self.expect(own, isValidBy: ["/usr/sbin/haproxy", "-c", "-f"])
        }
    }

    @Test func caddyTakesItsBlock() throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let blocks = try Documents.guide("BehindAProxy").blocks("caddyfile")
        #expect(blocks.count == 1)
        for block in blocks {
            try self.expect(block, isValidBy: ["caddy", "adapt", "--validate", "--adapter", "caddyfile", "--config"])
        }
    }
}
