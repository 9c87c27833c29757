import Foundation
import NIOCore
import NIOPosix
import RedisServers
import RedisStore
import Sessions
import TestSupport
import Testing
import Vocabulary

/// Real servers that are stopped, hung and started again; and the ways to connect: socket, user, database, TLS.
@Suite struct RedisFaultTests {
    @Test("Without a server every command fails at once, and all works when it is back")
    func restart() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let session = try await bench.signIn()
                server.kill()
                try await client.waitUntilDisconnected()
                await #expect(throws: StoreError.unavailable) { try await bench.session(session.key) }
                await #expect(throws: StoreError.unavailable) { try await bench.signIn() }
                await #expect(throws: StoreError.unavailable) {
                    try await bench.store.end(session.key, on: loops.next()).get()
                }
                let reply = client.send(RedisCommand("PING"), on: loops.next())
                await #expect(throws: RedisError.notSent(.notConnected)) { try await reply.get() }
                try await server.start()
                try await client.waitUntilConnected()
                // It had its data in memory: absent now, which is an answer.
                #expect(try await bench.session(session.key) == nil)
                #expect(try await bench.session(try await bench.signIn().key) != nil)
            }
        }
    }

    @Test("A client that starts before its server finds it later")
    func lateServer() async throws {
        try await RedisServer.with { server in
            server.kill()
            try await withClient(server.configuration()) { client in
                #expect(client.connectedLoops == 0)
                try await server.start()
                try await client.waitUntilConnected()
                #expect(try await client.ask("PING") == .status("PONG"))
            }
        }
    }

    @Test("A server that hangs costs one deadline, then no command waits; it is used again when it continues")
    func hangs() async throws {
        try await RedisServer.with { server in
            var configuration = server.configuration(commandTimeout: .milliseconds(200))
            configuration.connectTimeout = .milliseconds(250)
            try await withClient(configuration) { client in
                try await client.waitUntilConnected()
                let loop = loops.next()
                try await waitUntil("a write") {
                    (try? await client.send(RedisCommand("SET", "a", "1"), on: loop).get()) == .status("OK")
                }
                server.pause()
                let asked = ["a", "b", "c"].map { client.send(RedisCommand("GET", $0), on: loop) }
                for answer in asked {
                    await #expect(throws: RedisError.unanswered(.timedOut)) { try await answer.get() }
                }
                // The kernel accepts connections for it, but its handshake is never answered.
                await #expect(throws: RedisError.notSent(.notConnected)) {
                    try await client.send(RedisCommand("PING"), on: loop).get()
                }
                server.resume()
                try await waitUntil("an answer") {
                    let reply = try? await client.send(RedisCommand("GET", "a"), on: loop).get()
                    if let reply { #expect(reply == .bulk([0x31])) }
                    return reply != nil
                }
            }
        }
    }

    @Test("A connection that Redis kills is renewed by itself")
    func killed() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                for _ in 0..<5 {
                    try await client.waitUntilConnected()
                    try await waitUntil("each loop's connection is killed") {
                        let count = Int(try server.command("CLIENT", "KILL", "TYPE", "normal"))
                        return count.map { $0 >= client.status.loops } ?? false
                    }
                }
                try await waitUntil("an answer") { (try? await client.ask("PING")) == .status("PONG") }
            }
        }
    }

    @Test("A unix socket, an ACL user, a database and a name")
    func access() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { admin in
                #expect(
                    try await admin.ask(
                        "ACL",
                        "SETUSER",
                        "gate",
                        "on",
                        ">wo:rd",
                        "~sp:*",
                        "+@all",
                        "-@dangerous",
                        "+info",
                        "+client|list"
                    ) == .status("OK")
                )
                let url = "redis+unix://gate:wo%3Ard@\(server.socketPath)?db=3"
                var configuration = try RedisConfiguration(url: Secret(url))
                configuration.commandTimeout = .seconds(20)
                configuration.connectTimeout = .seconds(5)
                try await withClient(configuration) { client in
                    try await client.waitUntilConnected()
                    let bench = RedisStoreBench(client)
                    let parent = try await bench.signIn()
                    let token = try await bench.mint(from: parent)
                    let draft = bench.draft(lineage: parent.key.lineage)
                    #expect(
                        try await bench.consume(token, creating: draft, attempt: bench.authority.newAttempt())
                            == .done
                    )
                    try await bench.store.touch(draft.key, on: loops.next()).get()
                    try await bench.store.end(subject: "alice", on: loops.next()).get()
                    guard case .bulk(let list) = try await client.ask("CLIENT", "LIST") else {
                        Issue.record("no list")
                        return
                    }
                    let text = String(decoding: list, as: UTF8.self)
                    #expect(text.contains("name=sallyport") && text.contains("user=gate") && text.contains("db=3"))
                    guard case .error(let error) = try await client.ask("SET", "other", "1") else {
                        Issue.record("a key outside the user's was written")
                        return
                    }
                    #expect(error.code == "NOPERM")
                }
                // A wrong password is a refusal that is reported, not a timeout.
                configuration.password = Secret("wrong")
                try await withClient(configuration) { client in
                    let loop = loops.next()
                    #expect(client.status.nodes.first?.refusal?.code == "WRONGPASS")
                    await #expect(throws: RedisError.notSent(.notConnected)) {
                        try await client.send(RedisCommand("PING"), on: loop).get()
                    }
                }
            }
        }
    }

    @Test("A server that requires a password and gets none is unavailable")
    func noPassword() async throws {
        try await RedisServer.with(["--requirepass", "word"]) { server in
            try await withClient(server.configuration()) { client in
                #expect(client.status.nodes.first?.refusal?.code == "NOAUTH")
                await #expect(throws: StoreError.unavailable) { try await RedisStoreBench(client).signIn() }
            }
        }
    }

    @Test("TLS with an authority, a name and a client certificate")
    func tls() async throws {
        let certificates = try Certificates()
        try await RedisServer.with(access: .tls(certificates)) { server in
            func configuration(_ query: String) throws -> RedisConfiguration {
                var configuration = try RedisConfiguration(url: Secret("rediss://\(loopback):\(server.port)?\(query)"))
                configuration.commandTimeout = .seconds(20)
                configuration.connectTimeout = .seconds(5)
                return configuration
            }
            let own = "cert=\(certificates.client)&key=\(certificates.clientKey)"
            let authority = "ca=\(certificates.authority)"
            try await withClient(try configuration("\(authority)&\(own)&server_name=\(Certificates.serverName)")) {
                client in
                let answer = try await client.ask("PING")
                #expect(answer == .status("PONG"))
            }
            // Another name, an authority that did not sign it, or no client certificate: each alone is refused.
            for query in [
                "\(authority)&\(own)&server_name=other.example", "\(authority)&\(own)",
                "\(own)&server_name=\(Certificates.serverName)", "\(authority)&server_name=\(Certificates.serverName)",
            ] {
                try await withClient(try configuration(query)) { client in
                    #expect(client.connectedLoops == 0)
                }
            }
            #expect(throws: (any Error).self) {
                try RedisClient(configuration: try configuration("ca=/nonexistent/ca.pem"), group: loops)
            }
        }
    }
}
