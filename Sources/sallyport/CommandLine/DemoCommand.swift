import ArgumentParser
import Glibc
import Observability
import Operating
import RequestPath
import Settings

/// `sallyport demo`: runs a gateway and an app in one process on loopback, and prints commands to try.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Start a gateway, a sample app and two users on loopback, and print curl commands to try them."
    )

    @Option(help: ArgumentHelp("The port of the gateway on loopback; 0 selects a free one.", valueName: "port"))
    var port = 8080

    @Option(
        help: ArgumentHelp(
            "Listen on this address instead, for containers and phones, e.g. 0.0.0.0:8080. Anybody who can reach it can sign in, because the passwords are public.",
            valueName: "address"
        )
    )
    var listen: String?

    @Option(
        name: .customLong("public-url"),
        help: ArgumentHelp(
            "The URL that browsers use, if it is not localhost with the port.",
            valueName: "URL"
        )
    )
    var publicURL: String?

    @Flag(help: "Also print twelve curl commands that show what the gateway does.")
    var walk = false

    @Flag(
        help:
            "Also print all curl commands: with OAuth, DPoP, and an app that signs in through the browser without OAuth."
    )
    var longWalk = false

    @Flag(help: "Also write the access log and the audit stream.")
    var logs = false

    @Flag(help: "Print the demo's settings and exit.")
    var printSettings = false

    func validate() throws {
        guard (0...65_535).contains(self.port) else {
            throw ValidationError("--port must be a number from 0 to 65535.")
        }
        guard self.listen == nil || self.port == 8080 else {
            throw ValidationError("Write the port in --listen and remove --port.")
        }
        do {
            _ = try DemoPlace(listen: self.listen, port: self.port, publicURL: self.publicURL) { 1 }
        } catch let fault as DemoPlace.Fault {
            throw ValidationError(fault.sentence)
        }
    }

    func run() async throws {
        let place = try DemoPlace(listen: self.listen, port: self.port, publicURL: self.publicURL) {
            try self.printSettings ? 8080 : Self.freePort()
        }
        if self.printSettings { return Console.say(DemoSettings(place, appPort: 3000, logs: self.logs).yaml) }
        Process.reportFatalSignals()
        let signals = await ServingSignals()
        let app = try await DemoApp.start(at: place)
        let gateway: Gateway
        var terminal: TerminalLog?
        do {
            let loaded = try DemoSettings(place, appPort: app.port, logs: self.logs).load()
            terminal = Terminal.log(loaded.settings.logs)
            gateway = try await Gateway.start(loaded, terminal: terminal, signals: signals, reload: nil)
        } catch {
            terminal?.finish()
            Console.complain("the demo cannot start: \(error)")
            Console.complain("If port \(place.port) is in use, `sallyport demo --port 0` selects a free one.")
            throw ExitCode.failure
        }
        Console.say(self.introduction(place, adminPort: gateway.adminPort))
        if self.walk || self.longWalk { Console.say(self.walk(at: place)) }
        let user = DemoUser.all[0]
        Console.say("\nOpen \(place.origin)/  \(user.identifier) / \(user.password)")
        terminal?.open(with: "")
        await gateway.runUntilSignalled()
        await app.close()
    }

    private func walk(at place: DemoPlace) -> String {
        let program = realpath("/proc/self/exe", nil).map { path in
            defer { free(path) }
            return String(cString: path)
        }
        let walk = DemoWalk(
            origin: place.origin,
            host: place.host,
            program: program ?? "sallyport",
            user: DemoUser.all[0],
            isWhole: self.longWalk,
            isBound: place.seesAddresses
        )
        return "# In a terminal: paste the lines below into bash, one by one or all at once.\n\(walk.text)"
    }

    private func introduction(_ place: DemoPlace, adminPort: Int?) -> String {
        let users = DemoUser.all.map { "#   \($0.identifier)  \($0.password)" }
        let admin = adminPort.map { "# Health and metrics: http://127.0.0.1:\($0)/readyz?verbose and /metrics\n" } ?? ""
        let reach =
            place.isLocal
            ? "nothing leaves this machine."
            : "reachable at \(place.listen): anybody who can reach it can sign in, because the passwords are public."
        return """
            # Sallyport demo: gateway and app in one process, sessions in memory, \(reach)
            # The page shows what the gateway does, and has a button that acts as the native app.
            # Users and passwords:
            \(users.joined(separator: "\n"))
            \(admin)# Commands to try in a terminal: sallyport demo --walk
            # Press Ctrl-C to stop.
            """
    }

    /// Returns a free port. The public URL contains it, so it must be known before the gateway listens.
    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 ? getsockname(descriptor, pointer, &length) : -1
            }
        }
        guard result == 0 else { throw StartRefusal(description: "no free port on 127.0.0.1") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
