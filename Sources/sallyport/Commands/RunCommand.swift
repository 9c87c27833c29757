import CommandParsing
import Settings

/// `sallyport run`: serves until it is stopped.
struct RunCommand: Command {
    static let summary = CommandSummary(
        name: "run",
        abstract: "Serve. SIGHUP reloads the settings, SIGTERM drains and stops, a second SIGTERM stops at once."
    )

    let options: SettingsOptions
    let insecure: InsecureFlags

    init(_ form: inout CommandForm) {
        self.options = SettingsOptions(&form)
        self.insecure = InsecureFlags(&form)
    }

    func run() async throws {
        Process.reportFatalSignals()
        let options = self.options
        let flags = self.insecure
        let gateway: Gateway
        do {
            let loaded = try options.load(flags)
            gateway = try await Gateway.start(loaded, reload: { try options.load(flags) })
        } catch let failure as SettingsFailure {
            for problem in failure.problems { Console.complain("\(problem)") }
            throw CommandFailure()
        } catch {
            Console.complain("\(error)")
            throw CommandFailure()
        }
        await gateway.runUntilSignalled()
    }
}
