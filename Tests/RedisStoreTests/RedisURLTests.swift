import RedisStore
import Testing
import Vocabulary

@Suite struct RedisURLTests {
    private func read(_ url: String) throws -> RedisConfiguration {
        try RedisConfiguration(url: Secret(url))
    }

    @Test("Host, port, database and credentials are read")
    func tcp() throws {
        #expect(try self.read("redis://cache").deployment == .standalone(.tcp(host: "cache", port: 6379)))
        #expect(try self.read("redis://[::1]:7000/").deployment == .standalone(.tcp(host: "::1", port: 7000)))
        let full = try self.read("redis://gate:p%40ss%2F%3A@10.0.0.1:7000/3")
        #expect(full.deployment == .standalone(.tcp(host: "10.0.0.1", port: 7000)))
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
        let empty = try #require(plain.tls)
        #expect(empty.authorityFile == nil && empty.certificateFile == nil && empty.serverName == nil)
        let full = try self.read("rediss://cache?ca=/etc/ca%20s.pem&cert=/c.pem&key=/k.pem&server_name=r.example")
        let tls = try #require(full.tls)
        #expect(tls.authorityFile == "/etc/ca s.pem" && tls.certificateFile == "/c.pem" && tls.keyFile == "/k.pem")
        #expect(tls.serverName == "r.example")
    }

    @Test("A password with @ in it is told how it is written")
    func escapes() throws {
        let error = try #require(throws: RedisURLError.self) { try self.read("redis://default:p@ss@host:6379") }
        #expect(error.description.contains("%40 for an @"))
    }

    @Test("A unix socket is read")
    func unix() throws {
        let url = try self.read("redis+unix://gate:word@/run/redis.sock?db=2")
        #expect(url.deployment == .standalone(.unix(path: "/run/redis.sock")))
        #expect(url.user == "gate" && url.database == 2)
    }

    @Test("Sentinels, and their name for the primary, are read")
    func sentinel() throws {
        let url = try self.read(
            "redis+sentinel://gate:word@s1,s2:7000,[::1]:7001/my%20master/2?sentinel_user=u&sentinel_password=p&tls=true&ca=/c"
        )
        guard case .sentinel(let sentinels) = url.deployment else {
            return #expect(Bool(false), "\(url.deployment)")
        }
        let endpoints = [RedisEndpoint.tcp(host: "s1", port: 26_379), .tcp(host: "s2", port: 7000)]
        #expect(sentinels.endpoints == endpoints + [.tcp(host: "::1", port: 7001)])
        #expect(sentinels.primaryName == "my master" && sentinels.user == "u" && sentinels.password == Secret("p"))
        #expect(url.user == "gate" && url.password == Secret("word") && url.database == 2)
        #expect(url.tls?.authorityFile == "/c" && url.tls?.certificateFile == nil)
        #expect(try self.read("redis+sentinel://s/main").tls == nil)
    }

    @Test("The seeds of a cluster are read")
    func cluster() throws {
        let url = try self.read("redis+cluster://gate:word@a,b:7000?tls=true")
        #expect(url.deployment == .cluster(seeds: [.tcp(host: "a", port: 6379), .tcp(host: "b", port: 7000)]))
        #expect(url.isCluster && url.user == "gate" && url.tls != nil)
    }

    @Test(
        "An invalid URL is refused without quoting the password",
        arguments: [
            "", "redis", "http://:hunter2@a", "redis://", "redis://:hunter2@", "redis://a:0", "redis://a:70000",
            "redis://a:+1", "redis://a/x", "redis://a/-1", "redis://a/+1", "redis://::1", "redis://[::1",
            "redis://[::1]x",
            "redis://hunter2@a", "redis://:@a", "redis://u:p@hunter2@a", "redis://:hunter2%4@a",
            "redis://:hunter2%zz@a",
            "redis://a#x", "redis://a b", "redis://a\n", "redis://a?ca=/x", "rediss://a?cert=/x", "rediss://a?x=1",
            "rediss://a?ca=1&ca=2", "rediss://a?ca", "redis+unix://", "redis+unix://host/path", "redis+unix:///",
            "redis://:hunter2%00@a", "redis://:hunter2%ff@a", "redis+unix:///" + String(repeating: "a", count: 108),
            "redis+sentinel://:hunter2@a", "redis+sentinel://a/", "redis+sentinel://a,/main", "redis+sentinel:///main",
            "redis+sentinel://a/main/x", "redis+sentinel://a/main?sentinel_user=hunter2",
            "redis+sentinel://a/main?ca=/x", "redis+sentinel://a/main?tls=yes", "redis+cluster://",
            "redis+cluster://:hunter2@a,", "redis+cluster://a/1", "redis+cluster://a?tls=true&cert=/x",
        ]
    )
    func refused(url: String) throws {
        let error = try #require(throws: RedisURLError.self) { try self.read(url) }
        #expect(!error.description.contains("hunter2"))
        #expect(error.description.hasSuffix("."))
    }
}
