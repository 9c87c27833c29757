import Foundation
import GatewayBench
import RedisServers
import Testing

/// Each way in which TLS fails has its own message.
@Suite("check --network: encryption", .blocking) struct EncryptionTests {
    private static let day = 86_400
    private let name = "server_name=\(Certificates.serverName)"

    private static func skewed(byDays days: Int) throws -> [String: String] {
        try FakeTime.environment(aheadBy: .seconds(days * Self.day))
    }

    private static func date(inDays days: Int) -> String {
        Date().addingTimeInterval(Double(days * Self.day)).formatted(.iso8601.year().month().day())
    }

    private static func url(_ server: RedisServer, _ parameters: [String]) -> String {
        "rediss://\(loopback):\(server.port)?" + parameters.joined(separator: "&")
    }

    @Test("The server's certificate")
    func server() async throws {
        let good = try Certificates()
        let others = try Certificates()
        let old = try Certificates(environment: try Self.skewed(byDays: -10))
        let own = ["cert=\(good.client)", "key=\(good.clientKey)"]
        let authority = "ca=\(good.authority)"
        try await RedisServer.with(access: .tls(good)) { server in
            let stranger = "connection: its certificate is not signed by an authority that is trusted here: "
            try await Mistake.expect([
                Mistake("good", Self.url(server, [authority, self.name] + own)),
                Mistake(
                    "ca of others",
                    Self.url(server, ["ca=\(others.authority)", self.name] + own),
                    says: stranger + "ca= of the URL contains another one"
                ),
                Mistake("the system's", Self.url(server, [self.name] + own), says: stranger + "write ca= into the URL"),
                Mistake(
                    "by its address",
                    Self.url(server, [authority] + own),
                    says:
                        "connection: its certificate has another name: connect by that name, or write server_name= into the URL"
                ),
                Mistake(
                    "by another name",
                    Self.url(server, [authority, "server_name=other.example"] + own),
                    says:
                        "connection: its certificate has another name: connect by that name, or write server_name= into the URL"
                ),
                Mistake(
                    "an old authority",
                    Self.url(server, ["ca=\(old.authority)", self.name] + own),
                    says: "certificates: the certificate in ca= of the URL expired on \(Self.date(inDays: -8))"
                ),
            ])
        }
        func with(_ name: String, days: Int, says finding: String) async throws {
            let environment = try Self.skewed(byDays: days)
            let files = try good.issue(name, to: Certificates.serverName, environment: environment)
            let arguments = ["--tls-cert-file", files.certificate, "--tls-key-file", files.key]
            try await RedisServer.with(arguments, access: .tls(good)) { server in
                try await Mistake.expect([Mistake(name, Self.url(server, [authority, self.name] + own), says: finding)])
            }
        }
        try await with(
            "expired",
            days: -10,
            says: "connection: its certificate expired on \(Self.date(inDays: -8)): renew it and let Redis load it"
        )
        try await with(
            "early",
            days: 10,
            says: "connection: its certificate is valid only from \(Self.date(inDays: 10)): "
                + "are its clock and this machine's clock right?"
        )
    }

    @Test("The gateway's certificate, and files that contain none")
    func gateway() async throws {
        let good = try Certificates()
        let others = try Certificates()
        let old = try good.issue("old-client", to: "gateway.example", environment: try Self.skewed(byDays: -10))
        let early = try good.issue("early-client", to: "gateway.example", environment: try Self.skewed(byDays: 10))
        let base = ["ca=\(good.authority)", "server_name=\(Certificates.serverName)"]
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let nonsense = folder.appending(path: "nonsense.pem").path
        try Data("nonsense".utf8).write(to: URL(filePath: nonsense))
        try await RedisServer.with(access: .tls(good)) { server in
            func url(_ certificate: String, _ key: String) -> String {
                Self.url(server, base + ["cert=\(certificate)", "key=\(key)"])
            }
            try await Mistake.expect([
                Mistake(
                    "none",
                    Self.url(server, base),
                    says: "connection: it requires a client certificate: write cert= and key= into the URL"
                ),
                Mistake(
                    "of others",
                    url(others.client, others.clientKey),
                    says: "connection: it does not trust the gateway's certificate (cert=): "
                        + "its tls-ca-cert-file must contain the authority that signed it"
                ),
                Mistake(
                    "expired",
                    url(old.certificate, old.key),
                    says: "certificates: the certificate in cert= of the URL expired on \(Self.date(inDays: -8))"
                ),
                Mistake(
                    "not yet valid",
                    url(early.certificate, early.key),
                    says:
                        "certificates: the certificate in cert= of the URL is valid only from \(Self.date(inDays: 10)): "
                        + "is this machine's clock right?"
                ),
                Mistake(
                    "another's key",
                    url(good.client, others.clientKey),
                    says: "certificates: key= of the URL is not the key of the certificate in cert="
                ),
                Mistake(
                    "missing",
                    url(good.client + "-not", good.clientKey),
                    says: "certificates: cert= of the URL is no file that this user can read: \(good.client)-not"
                ),
                Mistake(
                    "nonsense for a certificate",
                    url(nonsense, good.clientKey),
                    says: "certificates: cert= of the URL is a file without a certificate in PEM: \(nonsense)"
                ),
                Mistake(
                    "nonsense for a key",
                    url(good.client, nonsense),
                    says: "certificates: key= of the URL is a file without a key in PEM: \(nonsense)"
                ),
                Mistake(
                    "nonsense for an authority",
                    Self.url(server, ["ca=\(nonsense)"]),
                    says: "certificates: ca= of the URL is a file without a certificate in PEM: \(nonsense)"
                ),
            ])
        }
    }

    @Test("TLS with a server that has none, and no TLS with a server that needs it")
    func both() async throws {
        let good = try Certificates()
        let plainly =
            "connection: it speaks TLS there: write rediss:// into the URL (tls=true for Sentinel and Cluster)"
        try await RedisServer.with(access: .tls(good)) { server in
            let address = "\(loopback):\(server.port)"
            try await Mistake.expect([
                Mistake("no TLS", "redis://\(address)", says: plainly),
                Mistake("no TLS, with a password", "redis://u:\(Mistake.password)@\(address)", says: plainly),
                Mistake(
                    "no TLS, as a cluster",
                    "redis+cluster://\(address)",
                    says: plainly.replacing("connection", with: "cluster")
                ),
            ])
        }
        let secretly = "connection: it does not speak TLS there: write redis:// into the URL, or use its tls-port"
        try await RedisServer.with { server in
            try await Mistake.expect([Mistake("TLS", "rediss://\(loopback):\(server.port)", says: secretly)])
        }
        try await RedisServer.with(["--requirepass", Mistake.password]) { server in
            try await Mistake.expect([
                Mistake(
                    "TLS, with a password",
                    "rediss://:\(Mistake.password)@\(loopback):\(server.port)",
                    says: secretly
                )
            ])
        }
    }
}
