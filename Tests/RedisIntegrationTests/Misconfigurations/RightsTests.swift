import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// The message names exactly the rights that the gateway's user lacks.
@Suite("check --network: rights", .blocking) struct RightsTests {
    private static let types = [
        "s", "t", "h", "p", "w", "b", "v", "j", "k", "n", "x", "a", "q", "r", "z",
        "m", "i", "g", "f", "e", "u", "l", "o", "c", "d", "y",
    ]
    private static let channel = "&__redis__:invalidate"

    /// The rules of the documented user without the name and the password.
    private static func rules() throws -> [String] {
        let acl = try String(contentsOf: Gateway.root.appending(path: "deploy/redis/users.acl"), encoding: .utf8)
        let line = try #require(acl.split(separator: "\n").first { $0.hasPrefix("user sallyport ") })
        return line.split(separator: " ").dropFirst(2).map(String.init).filter { $0 != "#PASSWORD_SHA256" }
    }

    private static func make(_ user: String, _ rules: [String], at server: RedisServer) throws {
        try server.command(["ACL", "SETUSER", user, ">\(Mistake.password)"] + rules)
    }

    private static func url(_ user: String, _ server: RedisServer, _ scheme: String = "redis", _ path: String = "")
        -> String
    {
        "\(scheme)://\(user):\(Mistake.password)@\(loopback):\(server.port)\(path)"
    }

    @Test("Each command that is missing is named")
    func commands() async throws {
        let rules = try Self.rules()
        let commands = rules.filter { $0.hasPrefix("+") }
        try await RedisServer.with { server in
            var mistakes: [Mistake] = []
            func add(_ name: String, _ rules: [String], path: String = "", says: String...) throws {
                let user = "user\(mistakes.count)"
                try Self.make(user, rules, at: server)
                let words = says.map { $0.replacing("NAME", with: user) }
                var mistake = Mistake(name, Self.url(user, server, "redis", path))
                if let first = words.first { mistake = Mistake(name, mistake.url, says: first) }
                mistakes.append(mistake)
            }
            for command in commands {
                let others = rules.filter { $0 != command }
                switch command {
                case "+select":
                    try add("select is not needed", others)
                    try add(
                        "select",
                        others,
                        path: "/1",
                        says: "commands: the ACL user lacks +select: ACL SETUSER NAME +select"
                    )
                case "+asking", "+cluster|slots":
                    try add("\(command) is not needed", others)
                case "+client|setname":
                    try add(
                        command,
                        others,
                        says: "name: connections have no name in CLIENT LIST: ACL SETUSER NAME +client|setname"
                    )
                case "+append", "+getrange", "+strlen":
                    try add(
                        command,
                        others,
                        says:
                            "sessions: sallyport sessions finds sessions only by user or address, and live sessions are "
                            + "not counted: ACL SETUSER NAME \(command)"
                    )
                default:
                    try add(
                        command,
                        others,
                        says: "commands: the ACL user lacks \(command): ACL SETUSER NAME \(command)"
                    )
                }
            }
            try add("with a database", rules, path: "/1")
            try add(
                "several",
                rules.filter { !["+info", "+evalsha", "~sp:*", Self.channel].contains($0) } + ["%R~sp:*"],
                says:
                    "commands: the ACL user lacks +evalsha +info; the ACL user may read, but not write, the keys sp:*; "
                    + "the ACL user may not subscribe to the channel __redis__:invalidate: "
                    + "ACL SETUSER NAME +evalsha +info ~sp:* \(Self.channel)"
            )
            try add(
                "a category",
                ["on", "~sp:*", Self.channel, "+@all", "-@scripting", "-@connection", "+auth"],
                says: "commands: the ACL user lacks +eval +evalsha +wait +client|id +client|tracking: "
                    + "ACL SETUSER NAME +eval +evalsha +wait +client|id +client|tracking"
            )
            #expect(mistakes.count > 20)
            // Removing the category also removes the right to set the connection's name.
            let last = mistakes.removeLast()
            mistakes.append(
                Mistake(
                    last.name,
                    last.url,
                    says: last.says[0],
                    "name: connections have no name in CLIENT LIST: ACL SETUSER user\(mistakes.count) +client|setname"
                )
            )
            try await Mistake.expect(mistakes)
        }
    }

    @Test("Each kind of key that may not be used, read or written is named, and so is the channel")
    func keys() async throws {
        let rules = try Self.rules().filter { $0 != "~sp:*" }
        try await RedisServer.with { server in
            var mistakes: [Mistake] = []
            func add(_ name: String, _ patterns: [String], _ words: String, _ grant: String) throws {
                let user = "user\(mistakes.count)"
                try Self.make(user, rules + patterns, at: server)
                mistakes.append(
                    Mistake(
                        name,
                        Self.url(user, server),
                        says: "commands: the ACL user may \(words): ACL SETUSER \(user) \(grant)"
                    )
                )
            }
            for type in Self.types {
                let others = Self.types.filter { $0 != type }.map { "~sp:\($0):*" }
                try add("without \(type)", others, "not use the keys sp:\(type):*", "~sp:\(type):*")
                try add(
                    "\(type) can only be read",
                    others + ["%R~sp:\(type):*"],
                    "read, but not write, the keys sp:\(type):*",
                    "~sp:\(type):*"
                )
            }
            let rest = Self.types.dropFirst().map { "sp:\($0):*" }.joined(separator: " ")
            let grants = Self.types.dropFirst().map { "~sp:\($0):*" }.joined(separator: " ")
            try add("sessions only", ["~sp:s:*"], "not use the keys \(rest)", grants)
            try add(
                "sessions only, the rest read",
                ["~sp:s:*", "%R~sp:*"],
                "read, but not write, the keys \(rest)",
                grants
            )
            try add("read only", ["%R~sp:*"], "read, but not write, the keys sp:*", "~sp:*")
            try add("write only", ["%W~sp:*"], "write, but not read, the keys sp:*", "~sp:*")
            try add("none", [], "not use the keys sp:*", "~sp:*")
            try add("another prefix", ["~app:*"], "not use the keys sp:*", "~sp:*")
            for channels in [["resetchannels"], ["resetchannels", "&other"]] {
                try add(
                    "channels \(channels)",
                    ["~sp:*"] + channels,
                    "not subscribe to the channel __redis__:invalidate",
                    Self.channel
                )
            }
            try await Mistake.expect(mistakes)
        }
    }

    @Test("A password that is wrong, missing or not wanted, and a user who is off or unknown")
    func credentials() async throws {
        let rules = try Self.rules()
        let wrong = "connection: the user or the password in the URL is wrong, or the user is disabled"
        try await RedisServer.with(["--requirepass", Mistake.password]) { server in
            let address = "\(loopback):\(server.port)"
            let admin = ["-a", Mistake.password, "--no-auth-warning"]
            try server.command(admin + ["ACL", "SETUSER", "off", ">\(Mistake.password)"] + rules + ["off"])
            try server.command(admin + ["ACL", "SETUSER", "gate", ">\(Mistake.password)"] + rules)
            try await Mistake.expect([
                Mistake("default user", "redis://:\(Mistake.password)@\(address)"),
                Mistake("user", "redis://gate:\(Mistake.password)@\(address)"),
                Mistake(
                    "none",
                    "redis://\(address)",
                    says: "connection: it requires a password: write user:password@ into the URL"
                ),
                Mistake("wrong default", "redis://:not-\(Mistake.password)@\(address)", says: wrong),
                Mistake("wrong", "redis://gate:not-\(Mistake.password)@\(address)", says: wrong),
                Mistake("unknown user", "redis://nobody:\(Mistake.password)@\(address)", says: wrong),
                Mistake("off", "redis://off:\(Mistake.password)@\(address)", says: wrong),
            ])
        }
        try await RedisServer.with { server in
            try await Mistake.expect([
                Mistake(
                    "not wanted",
                    "redis://:\(Mistake.password)@\(loopback):\(server.port)",
                    says: "connection: it has no password: remove it from the URL or, better, set one in Redis"
                )
            ])
        }
    }

    @Test("In a cluster")
    func cluster() async throws {
        let rules = try Self.rules()
        try await RedisServer.with(["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]) { server in
            try server.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            try await waitUntil("a cluster that serves") {
                try server.command("CLUSTER", "INFO").contains("cluster_state:ok")
            }
            var mistakes = [Mistake("all is well", "redis+cluster://\(loopback):\(server.port)")]
            for command in ["+cluster|slots", "+asking", "+get"] {
                let user = "user\(mistakes.count)"
                try Self.make(user, rules.filter { $0 != command }, at: server)
                mistakes.append(
                    Mistake(
                        command,
                        Self.url(user, server, "redis+cluster"),
                        says: "commands: the ACL user lacks \(command): ACL SETUSER \(user) \(command)"
                    )
                )
            }
            try Self.make("narrow", rules.filter { $0 != "~sp:*" } + ["~sp:s:*", "%R~sp:*"], at: server)
            let rest = Self.types.dropFirst()
            mistakes.append(
                Mistake(
                    "narrow",
                    Self.url("narrow", server, "redis+cluster"),
                    says: "commands: the ACL user may read, but not write, the keys "
                        + rest.map { "sp:\($0):*" }.joined(separator: " ") + ": ACL SETUSER narrow "
                        + rest.map { "~sp:\($0):*" }.joined(separator: " ")
                )
            )
            try await Mistake.expect(mistakes)
        }
    }
}
