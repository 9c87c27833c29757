import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// Reasons why a Redis that can be read refuses to write.
enum WriteRefusal: String, Sendable, CaseIterable {
    case memory = "OOM"
    case replicas = "NOREPLICAS"
    case disk = "MISCONF"

    func begin(_ server: RedisServer) async throws {
        switch self {
        case .memory: try server.command("CONFIG", "SET", "maxmemory", "1")
        case .replicas: try server.command("CONFIG", "SET", "min-replicas-to-write", "1")
        case .disk:
            // Saving fails, because a file cannot be renamed to the name of a directory.
            try FileManager.default.createDirectory(at: Self.dump(server), withIntermediateDirectories: false)
            try await Self.save(server, ends: "err")
        }
    }

    func end(_ server: RedisServer) async throws {
        switch self {
        case .memory: try server.command("CONFIG", "SET", "maxmemory", "0")
        case .replicas: try server.command("CONFIG", "SET", "min-replicas-to-write", "0")
        case .disk:
            try FileManager.default.removeItem(at: Self.dump(server))
            try await Self.save(server, ends: "ok")
        }
    }

    private static func dump(_ server: RedisServer) -> URL { server.directory.appending(path: "dump.rdb") }

    private static func save(_ server: RedisServer, ends status: String) async throws {
        try server.command("BGSAVE")
        try await waitUntil("a save ends with \(status)") { try server.info("rdb_last_bgsave_status") == status }
    }
}

/// What the built binary does with a Redis that answers and refuses writes.
@Suite("Redis that refuses writes", .blocking) struct RefusedWritesTests {
    @Test(
        "Sessions are served; sign-in and handoff get 503 and burn nothing; readiness and one audit event report it",
        arguments: WriteRefusal.allCases
    )
    func refused(_ refusal: WriteRefusal) async throws {
        // Hourly snapshots are configured, because only then a failed save matters.
        try await RedisServer.with(["--save", "3600", "1"]) { server in
            try await Fleet.with([RedisURLs.standalone(server.port)]) { fleet in
                try await fleet.waitUntilReady()
                let gateway = fleet[0]
                let native = try patiently { try gateway.native() }
                let token = try patiently { try gateway.mint(native) }
                let session = ["Cookie: sallyport=\(try patiently { try gateway.browser() })"]
                let leaving = try patiently { try gateway.browser(.grace) }
                try await refusal.begin(server)

                for _ in 0..<5 {
                    expectUnavailable(try gateway.exchange(native), "mint")
                    expectUnavailable(try gateway.get("/?session_transfer_token=\(token)"), "handoff")
                    #expect(throws: BenchFailure.self, "sign-in") { try gateway.browser(.mary) }
                }
                let readiness = try gateway.admin("/readyz")
                #expect(readiness.status == 503 && readiness.text.contains("store_writes"), "\(readiness.text)")
                let detail = try gateway.admin("/readyz?verbose").text
                #expect(detail.contains("(\(refusal.rawValue))"), "\(detail)")
                // The session was not read before, so it comes from Redis and not from memory.
                #expect(eventually { (try? gateway.get("/", session).status) == 200 })
                #expect(try gateway.metric("sallyport_redis_primaries_refusing_writes") == 1)
                let series = #"sallyport_redis_refused_writes_total{code="\#(refusal.rawValue)"}"#
                #expect(try gateway.metric(series) >= 5)

                // A sign-out needs no room, so it works when Redis is out of memory.
                let isEnded = eventually(within: refusal == .memory ? 60 : 5) {
                    (try? gateway.signOut(leaving).status) == 303
                }
                #expect(isEnded == (refusal == .memory))
                try await refusal.end(server)
                // No request is sent in the meantime.
                #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
                #expect(try gateway.metric("sallyport_redis_primaries_refusing_writes") == 0)
                #expect(eventually { gateway.output.contains("store.writes_taken") })
                let lines = gateway.output.split(separator: "\n")
                #expect(lines.count { $0.contains("store.writes_refused") } == 1)
                let consumer = Consumer { gateway.port }
                let outcome = consumer.complete(token)
                if case .signedIn = outcome {} else { Issue.record("the token is gone: \(outcome)") }
            }
        }
    }
}
