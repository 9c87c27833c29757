import RedisStore
import Testing
import Vocabulary

@Suite struct RedisURLTests {
    private func read(_ url: String) throws -> RedisConfiguration {
        try RedisConfiguration(url: Secret(url))
    }

    @Test("Host, port, database and credentials are read")
    func tcp() throws {
        #expect(try self.read("redis://cache").endpoint == .tcp(host: "cache", port: 6379))
        #expect(try self.read("redis://[::1]:7000/").endpoint == .tcp(host: "::1", port: 7000))
        let full = try self.read("redis://gate:p%40ss%2F%3A@10.0.0.1:7000/3")
        #expect(full.endpoint == .tcp(host: "10.0.0.1", port: 7000))
        #expect(full.user == "gate")
        #expect(full.password == Secret("p@ss/:"))
        #expect(full.database == 3)
        #expect(full.tls == nil)
        let old = try self.read("redis://:word@cache")
        #expect(old.user == nil && old.password == Secret("word"))
    }

    @Test("TLS and its files are read")
    func tls() throws {
        let plain = try self.read("rediss://cache:6380")
        #expect(plain.tls == RedisConfiguration.TLS())
        let full = try self.read("rediss://cache?ca=/etc/ca%20s.pem&cert=/c.pem&key=/k.pem&server_name=r.example")
        #expect(
            full.tls
                == RedisConfiguration.TLS(
                    authorityFile: "/etc/ca s.pem",
                    certificateFile: "/c.pem",
                    keyFile: "/k.pem",
                    serverName: "r.example"
                )
        )
    }

    @Test("A unix socket is read")
    func unix() throws {
        let url = try self.read("redis+unix://gate:word@/run/redis.sock?db=2")
        #expect(url.endpoint == .unix(path: "/run/redis.sock"))
        #expect(url.user == "gate" && url.database == 2)
    }

    @Test(
        "What is not understood is refused, and the password is not quoted",
        arguments: [
            "", "redis", "http://:hunter2@a", "redis://", "redis://:hunter2@", "redis://a:0", "redis://a:70000",
            "redis://a:+1", "redis://a/x", "redis://a/-1", "redis://a/+1", "redis://::1", "redis://[::1",
            "redis://[::1]x",
            "redis://hunter2@a", "redis://:@a", "redis://u:p@hunter2@a", "redis://:hunter2%4@a",
            "redis://:hunter2%zz@a",
            "redis://a#x", "redis://a b", "redis://a\n", "redis://a?ca=/x", "rediss://a?cert=/x", "rediss://a?x=1",
            "rediss://a?ca=1&ca=2", "rediss://a?ca", "redis+unix://", "redis+unix://host/path", "redis+unix:///",
            "redis://:hunter2%00@a", "redis://:hunter2%ff@a", "redis+unix:///" + String(repeating: "a", count: 108),
            "redis+sentinel://:hunter2@a/main", "redis+cluster://:hunter2@a,b",
        ]
    )
    func refused(url: String) throws {
        let error = try #require(throws: RedisURLError.self) { try self.read(url) }
        #expect(!error.description.contains("hunter2"))
        #expect(error.description.hasSuffix("."))
    }
}
