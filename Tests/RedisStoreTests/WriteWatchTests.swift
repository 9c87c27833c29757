import NIOCore
import RedisServers
import RedisStore
import Synchronization
import TestSupport
import Testing

/// Primaries that can be read and refuse to write.
@Suite struct WriteWatchTests {
    @Test(
        "A refusal to write is recognised by its first word, and where a script's error quotes it",
        arguments: [
            ("OOM command not allowed when used memory > 'maxmemory'.", "OOM"),
            ("NOREPLICAS Not enough good replicas to write.", "NOREPLICAS"),
            (
                "ERR Error running script (call to f_2b1c): @user_script:4: @user_script: 4: -MISCONF Redis is configured",
                "MISCONF"
            ), ("ERR unknown command 'OOM'", nil), ("READONLY You can't write against a read only replica.", nil),
        ] as [(String, String?)]
    )
    func classes(line: String, code: String?) {
        #expect(RedisServerError(line: line).writeRefusal?.code == code)
    }

    @Test(
        "A refusal is reported once for each reason, however many writes meet it, and its end is noticed without a request"
    )
    func toldOnce() async throws {
        let refusal = Mutex<String?>("OOM full")
        let answer: @Sendable ([String]) -> FakeRedis.Act = { command in
            // A script that finds nothing to write is always answered.
            if command.contains("idle") { return FakeRedis.Act(bytes: ":0\r\n") }
            let line = refusal.withLock { $0 }
            return FakeRedis.Act(bytes: line.map { "-\($0)\r\n" } ?? (command[0] == "SET" ? "+OK\r\n" : ":1\r\n"))
        }
        let told = Mutex<[RedisEvent]>([])
        func events() -> [RedisEvent] {
            told.withLock { events in
                events.filter { event in
                    switch event {
                    case .writesRefused, .writesAccepted: true
                    default: false
                    }
                }
            }
        }
        try await FakeRedis.with(answer) { fake in
            let endpoint = RedisEndpoint.tcp(host: "127.0.0.1", port: fake.port)
            let client = try RedisClient(
                configuration: fake.configuration(),
                group: loops,
                observe: { event in told.withLock { $0.append(event) } }
            )
            try await client.start()
            try await client.waitUntilConnected()
            let script = RedisScript("return 1", isDurable: false)
            func write(_ key: String) async throws {
                let call = ScriptCall(script, keys: [Array(key.utf8)], arguments: [])
                _ = try await client.evaluate(call, on: loops.next()).get()
            }
            #expect(client.status.nodes[0].writeRefusal == nil)
            for _ in 0..<5 { try await write("sp:x") }
            try await write("idle")
            #expect(client.status.nodes[0].writeRefusal?.error.code == "OOM")
            #expect(client.meter.refusedWrites("OOM") == 5)
            #expect(events() == [.writesRefused(endpoint, RedisServerError(line: "OOM full"))])

            refusal.withLock { $0 = "MISCONF no disk" }
            try await waitUntil("the other reason is seen") { events().count == 2 }
            #expect(client.status.nodes[0].writeRefusal?.error.code == "MISCONF")
            #expect(client.meter.refusedWrites("MISCONF") == 0)

            refusal.withLock { $0 = nil }
            try await waitUntil("writes are taken") { client.status.nodes[0].writeRefusal == nil }
            try await waitUntil("it is told") { events().last == .writesAccepted(endpoint) }
            #expect(events().count == 3)
            try await client.shutDown()
        }
    }

    @Test("In a cluster the full primary is named, and is tried with a key of its own slots")
    func cluster() async throws {
        try await RedisCluster.with { cluster in
            let seeds = cluster.primaries.map { "\(loopback):\($0.port)" }.joined(separator: ",")
            try await withClient(.of("redis+cluster://\(seeds)")) { client in
                try await client.waitUntilConnected()
                let full = cluster.primaries[1]
                try full.command("CONFIG", "SET", "maxmemory", "1")
                let bench = RedisStoreBench(client)
                try await waitUntil("it has refused") {
                    _ = try? await bench.signIn()
                    return client.status.nodes.contains { $0.writeRefusal != nil }
                }
                let refusing = client.status.nodes.filter { $0.writeRefusal != nil }
                #expect(refusing.map(\.address) == ["\(loopback):\(full.port)"])
                try full.command("CONFIG", "SET", "maxmemory", "0")
                try await waitUntil("it is tried again") { client.status.nodes.allSatisfy { $0.writeRefusal == nil } }
            }
        }
    }
}
