import ArgumentParser
import Settings

/// `sallyport run`: serves until it is stopped.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Serve. SIGHUP reloads the settings, SIGTERM drains and stops, a second SIGTERM stops at once."
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument
    @OptionGroup var insecure: InsecureOptions

    func validate() throws { try self.named.validate(besides: self.options) }

    func run() async throws {
        Process.reportFatalSignals()
        let options = self.options.naming(self.named)
        let flags = self.insecure.flags
        let gateway: Gateway
        do {
            let loaded = try options.load(flags)
            gateway = try await Gateway.start(loaded, reload: { try options.load(flags) })
        } catch let failure as SettingsFailure {
            throw Console.failure(options.report(failure))
        } catch {
            throw Console.failure("\(error)")
        }
        await gateway.runUntilSignalled()
    }
}
