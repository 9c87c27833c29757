import ArgumentParser
import Settings

#if canImport(Glibc)
import Glibc
#endif

/// `sallyport demo`: the gateway, an app behind it and two users in one process on loopback, with commands to try.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Start a gateway, a sample app and two users on loopback, and print curl commands to try them."
    )

    @Option(help: ArgumentHelp("The port of the gateway; 0 takes a free one.", valueName: "port"))
    var port = 8080

    @Flag(help: "Also write the access log and the audit stream.")
    var logs = false

    @Flag(help: "Print the demo's settings and exit.")
    var printSettings = false

    func validate() throws {
        guard (0...65_535).contains(self.port) else {
            throw ValidationError("--port must be a number from 0 to 65535.")
        }
    }

    func run() async throws {
        if self.printSettings { return Console.say(DemoSettings(port: self.port, appPort: 3000, logs: self.logs).yaml) }
        Process.reportFatalSignals()
        let port = try self.port == 0 ? Self.freePort() : self.port
        let origin = "http://127.0.0.1:\(port)"
        let app = try await DemoApp.start(gateway: origin)
        let gateway: Gateway
        do {
            let loaded = try DemoSettings(port: port, appPort: app.port, logs: self.logs).load()
            gateway = try await Gateway.start(loaded, reload: nil)
        } catch {
            Console.complain("the demo cannot start: \(error)")
            Console.complain("If port \(port) is in use, `sallyport demo --port 0` takes a free one.")
            throw ExitCode.failure
        }
        Console.say(self.introduction(origin: origin, adminPort: gateway.adminPort))
        let program = realpath("/proc/self/exe", nil).map { path in
            defer { free(path) }
            return String(cString: path)
        }
        let walk = DemoWalk(
            origin: origin,
            host: "127.0.0.1",
            program: program ?? "sallyport",
            user: DemoUser.all[0]
        )
        Console.say(walk.text)
        Console.say("\nServing \(origin)/ until you press Ctrl-C.")
        await gateway.runUntilSignalled()
        await app.close()
    }

    private func introduction(origin: String, adminPort: Int?) -> String {
        let users = DemoUser.all.map { "#   \($0.identifier)  \($0.password)" }
        let admin = adminPort.map { "# Health and metrics: http://127.0.0.1:\($0)/readyz?verbose and /metrics\n" } ?? ""
        return """
            # Sallyport demo: gateway and app in one process, sessions in memory, nothing leaves this machine.
            #
            # In a browser: \(origin)/hello
            # The page \(origin)/public/ has a button that plays the native app.
            # Users and passwords:
            \(users.joined(separator: "\n"))
            \(admin)#
            # In a terminal: paste the lines below into bash, one by one or all at once.
            """
    }

    /// A port that is free now. The public URL contains the port, so it must be known before the gateway listens.
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
