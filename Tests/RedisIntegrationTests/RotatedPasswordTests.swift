import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// A password of Redis that is replaced while gateways run.
@Suite("A rotated password of Redis", .blocking) struct RotatedPasswordTests {
    private static let passwords = ["redis-password-canary-1111111111", "redis-password-canary-2222222222"]

    private static func url(_ user: String, _ password: String, _ server: RedisServer) -> String {
        "redis://\(user):\(password)@\(loopback):\(server.port)\n"
    }

    private static func settings(_ app: FakeUpstream) -> String {
        Config.file(
            upstream: app.port,
            more: """
                secret_file: secret
                store:
                  redis:
                    url_file: redis-url
                """
        )
    }

    private static func withGateway(
        _ body: (Gateway, RedisServer, _ settings: String) async throws -> Void
    ) async throws {
        for password in self.passwords { Secrets.shared.note(password) }
        try await RedisServer.with { server in
            for user in ["one", "two"] {
                try server.command("ACL", "SETUSER", user, "on", ">\(self.passwords[0])", "~*", "&*", "+@all")
            }
            let app = try FakeUpstream { link in
                while let request = link.nextHead() { link.answer(body: request.text) }
            }
            defer { app.stop() }
            let settings = self.settings(app)
            let secret = String(repeating: "s", count: 48)
            let gateway = try Gateway(
                settings,
                files: ["secret": "\(secret)\n", "redis-url": self.url("one", self.passwords[0], server)]
            )
            defer { gateway.stop() }
            try await waitUntil("the gateway is ready") { try gateway.admin("/readyz").status == 200 }
            try await body(gateway, server, settings)
        }
    }

    /// Ends all connections of other clients, as a restart of a proxy in front of Redis does.
    private static func cut(_ server: RedisServer) throws {
        try server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        try server.command("CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes")
    }

    @Test(
        "After a reload, new connections use the new password, and no sign-in fails meanwhile",
        arguments: ["one", "two"]
    )
    func takesEffect(_ user: String) async throws {
        try await Self.withGateway { gateway, server, settings in
            let cookie = ["Cookie: sallyport=\(try patiently { try gateway.browser() })"]
            try server.command("ACL", "SETUSER", user, ">\(Self.passwords[1])")
            let file = gateway.folder.appending(path: "redis-url")
            try Self.url(user, Self.passwords[1], server).write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            #expect(!gateway.output.contains("store: takes effect at the next start"), "\(gateway.output.suffix(900))")
            // The connections that serve have signed in again.
            #expect(
                eventually {
                    let clients = (try? server.command("CLIENT", "LIST", "TYPE", "normal")) ?? ""
                    return clients.contains("user=\(user) ")
                }
            )
            try server.command("ACL", "SETUSER", "one", "<\(Self.passwords[0])")
            try server.command("ACL", "SETUSER", "two", "<\(Self.passwords[0])")
            try Self.cut(server)
            try await waitUntil("the gateway is ready with the new password") {
                try gateway.get("/", cookie).status == 200 && gateway.admin("/readyz").status == 200
            }
            _ = try patiently { try gateway.browser(.grace) }
            let detail = try gateway.admin("/readyz?verbose").text
            #expect(!detail.contains("is wrong"), "\(detail)")
        }
    }

    @Test("A wrong password is told in the log at the reload, and what is connected goes on")
    func wrongPassword() async throws {
        try await Self.withGateway { gateway, server, settings in
            let file = gateway.folder.appending(path: "redis-url")
            try Self.url("one", "redis-password-canary-3333333333", server)
                .write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            #expect(eventually { gateway.output.contains("the user or the password in the URL is wrong") })
            _ = try patiently { try gateway.browser() }
            #expect(
                try gateway.admin("/readyz").status == 200 || gateway.admin("/readyz?verbose").text.contains("wrong")
            )
        }
    }

    @Test("Another host in the URL takes effect at the next start, as before")
    func anotherHost() async throws {
        try await Self.withGateway { gateway, server, settings in
            let file = gateway.folder.appending(path: "redis-url")
            let url = "redis://one:\(Self.passwords[0])@localhost:\(server.port)\n"
            try url.write(to: file, atomically: true, encoding: .utf8)
            try gateway.reload(settings)
            #expect(eventually { gateway.output.contains("store: takes effect at the next start") })
        }
    }
}
