import ArgumentParser
import Settings
import Vocabulary

/// `sallyport upstreams`: lists the servers of all apps as running gateways see them.
struct UpstreamsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upstreams",
        abstract: "Show the servers of all apps: whether they serve, and what they do now.",
        discussion: """
            Asks the admin listener in --admin, SALLYPORT_ADMIN_LISTEN or admin.listen in the settings file, in this order. \
            Each gateway judges the servers by itself, so pass the admin listener of each. Nothing secret is sent, so with \
            TLS the certificate of the listener is not verified.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument

    @OptionGroup var listeners: AdminListeners

    /// The time limit for an answer in seconds.
    private static let patience = 5

    func validate() throws { try self.named.validate(besides: self.options) }

    func run() throws {
        let options = self.options.naming(self.named)
        try self.listeners.forEach(options, sendsSecret: false) { target throws(AdminProbe.Failure) in
            let answer = try AdminProbe.get("/upstreams", at: target, seconds: Self.patience)
            guard answer.status == 200 else {
                throw AdminProbe.Failure(description: "\(target.address) answers \(answer.status)")
            }
            Console.say(Self.table(answer.body))
        }
    }

    /// Returns a line for each app, with lines for its servers.
    private static func table(_ body: String) -> String {
        guard case .array(let apps)? = JSONText.decode(Array(body.utf8))?["upstreams"] else { return body }
        return apps.flatMap { app -> [String] in
            guard case .array(let servers)? = app["servers"] else { return [] }
            let balance = servers.count > 1 ? " (\(app["balance"]?.string ?? ""))" : ""
            return ["\(app["name"]?.string ?? "")\(balance)"] + servers.map(Self.line)
        }.joined(separator: "\n")
    }

    private static func line(_ server: JSONValue) -> String {
        func number(_ name: String) -> Int64 {
            if case .integer(let number)? = server[name] { number } else { 0 }
        }
        let ejections = number("ejections")
        let counts =
            "in flight \(number("in_flight")), idle \(number("idle")), left out \(ejections) \(ejections == 1 ? "time" : "times")"
        return "  \(server["url"]?.string ?? ""): \(server["state"]?.string ?? ""), \(counts)\(Self.name(of: server))"
    }

    /// Describes the addresses of a server's host name. Empty if the server is configured by address.
    private static func name(of server: JSONValue) -> String {
        guard case .array(let addresses)? = server["addresses"] else { return "" }
        let text = addresses.isEmpty ? "no address" : "at \(addresses.compactMap(\.string).joined(separator: ", "))"
        return server["is_resolved"] == .bool(true) ? ", \(text)" : ", \(text), cannot be resolved now"
    }
}
