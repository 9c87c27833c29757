import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// A Redis that can be reached and denies some of the gateway's daily work.
@Suite("Redis that denies rights", .blocking) struct MissingRightsTests {
    /// A right of the gateway's user that is taken away.
    struct Right: Sendable, CustomTestStringConvertible {
        /// The rule that takes it away, and the rule that grants it.
        let without: [String]
        let with: [String]
        /// What readiness and log say.
        let finding: String

        init(without: String..., with: String..., finding: String) {
            (self.without, self.with, self.finding) = (without, with, finding)
        }

        var testDescription: String { self.without.joined(separator: " ") }

        static func command(_ name: String) -> Right {
            Right(without: "-\(name)", with: "+\(name)", finding: "lacks +\(name): ACL SETUSER sallyport +\(name)")
        }

        static let all =
            ["evalsha", "eval", "mget", "get", "time", "set", "del", "exists", "pttl", "pexpire", "wait", "info"]
            .map { Right.command($0) }
            + ["client|tracking", "client|id", "subscribe"].map { Right.command($0) }
            + [
                Right(
                    without: "resetkeys",
                    "~other:*",
                    with: "resetkeys",
                    "~sp:*",
                    finding: "may not use the keys sp:*: ACL SETUSER sallyport ~sp:*"
                ),
                Right(
                    without: "resetkeys",
                    "%R~sp:*",
                    with: "resetkeys",
                    "~sp:*",
                    finding: "may read, but not write, the keys sp:*"
                ),
            ]
    }

    private static func rules() throws -> [String] {
        let acl = try String(contentsOf: Gateway.root.appending(path: "deploy/redis/users.acl"), encoding: .utf8)
        let line = try #require(acl.split(separator: "\n").first { $0.hasPrefix("user sallyport ") })
        return line.split(separator: " ").dropFirst(2).map(String.init).filter { $0 != "#PASSWORD_SHA256" }
    }

    private static func withFleet(
        _ taken: [String] = [],
        _ body: (Fleet, RedisServer) async throws -> Void
    ) async throws {
        try await RedisServer.with { server in
            try server.command(["ACL", "SETUSER", "sallyport", ">\(Mistake.password)"] + self.rules() + taken)
            let url = "redis://sallyport:\(Mistake.password)@\(loopback):\(server.port)"
            try await Fleet.with([url]) { try await body($0, server) }
        }
    }

    private static func expectNamed(_ right: Right, at gateway: Gateway) async throws {
        try await waitUntil("the gateway is not ready for lack of \(right.testDescription)") {
            try gateway.admin("/readyz").status == 503
                && gateway.admin("/readyz?verbose").text.contains(right.finding)
        }
        let isLogged = eventually {
            gateway.output.split(separator: "\n").contains {
                $0.contains("denies what the gateway needs") && $0.contains(right.finding)
            }
        }
        #expect(isLogged, "\(gateway.output.suffix(2000))")
        #expect(try !gateway.admin("/readyz?verbose").text.contains("no write is refused"))
        #expect(eventually { (try? gateway.metric(#"sallyport_redis_down{reason="noperm"}"#)) == 1 })
    }

    @Test(
        "Without a right from the start, the gateway is not ready, names the right, and recovers when it is granted",
        arguments: Right.all
    )
    func fromTheStart(_ right: Right) async throws {
        try await Self.withFleet(right.without) { fleet, server in
            try await Self.expectNamed(right, at: fleet[0])
            try server.command(["ACL", "SETUSER", "sallyport"] + right.with)
            try await fleet.waitUntilReady()
            _ = try patiently { try fleet[0].browser() }
        }
    }

    @Test(
        "When a right is taken away at run time, the same happens, with requests and without",
        arguments: [Right.command("evalsha"), .command("set"), .command("mget"), .command("time")]
    )
    func atRunTime(_ right: Right) async throws {
        try await Self.withFleet { fleet, server in
            try await fleet.waitUntilReady()
            _ = try patiently { try fleet[0].browser() }
            try server.command(["ACL", "SETUSER", "sallyport"] + right.without)
            try await Self.expectNamed(right, at: fleet[0])
            let before = fleet[0].output
            try server.command(["ACL", "SETUSER", "sallyport"] + right.with)
            try await fleet.waitUntilReady()
            _ = try patiently { try fleet[0].browser() }
            #expect(eventually { fleet[0].output.dropFirst(before.count).contains("all rights again") })
        }
    }

    @Test("Without EVAL, the gateway is not ready before Redis has forgotten the scripts, and after")
    func scriptsAreForgotten() async throws {
        let right = Right.command("eval")
        try await Self.withFleet { fleet, server in
            try await fleet.waitUntilReady()
            _ = try patiently { try fleet[0].browser() }
            try server.command(["ACL", "SETUSER", "sallyport"] + right.without)
            try server.command("SCRIPT", "FLUSH")
            #expect(throws: BenchFailure.self) { try fleet[0].browser(.grace) }
            try await Self.expectNamed(right, at: fleet[0])
            try server.command(["ACL", "SETUSER", "sallyport"] + right.with)
            try await fleet.waitUntilReady()
            _ = try patiently { try fleet[0].browser() }
        }
    }

    @Test("Without the rights that only an operator would miss, users sign in and the gateway stays ready")
    func courtesies() async throws {
        let right = Right.command("mget")
        try await Self.withFleet(["-append", "-getrange", "-strlen", "-client|setname"]) { fleet, server in
            try await fleet.waitUntilReady()
            // Each sign-in is noted in a list that the gateway may not write.
            _ = try patiently { try fleet[0].browser() }
            #expect(eventually { (try? server.command("ACL", "LOG").contains("lua")) == true })
            // The gateway has tried its rights since then as soon as the attempt to append is logged again.
            try server.command("ACL", "LOG", "RESET")
            #expect(eventually { (try? server.command("ACL", "LOG").contains("append")) == true })
            try server.command(["ACL", "SETUSER", "sallyport"] + right.without)
            try await Self.expectNamed(right, at: fleet[0])
            try server.command(["ACL", "SETUSER", "sallyport"] + right.with)
            try await fleet.waitUntilReady()
            #expect(!fleet[0].output.contains("seems to have the right"), "\(fleet[0].output.suffix(2000))")
        }
    }
}
