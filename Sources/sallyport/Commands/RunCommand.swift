import ArgumentParser
import Settings

/// `sallyport run`: serves until it is stopped.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Serve. SIGHUP reloads the settings, SIGTERM drains and stops, a second SIGTERM stops at once."
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var insecure: InsecureOptions

    func run() async throws {
        Process.reportFatalSignals()
        let options = self.options
        let flags = self.insecure.flags
        let gateway: Gateway
        do {
            let loaded = try options.load(flags)
            gateway = try await Gateway.start(loaded, reload: { try options.load(flags) })
        } catch {
            throw Console.failure("\(error)")
        }
        await gateway.runUntilSignalled()
    }
}
