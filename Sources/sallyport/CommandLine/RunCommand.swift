import ArgumentParser
import Observability
import Operating
import Settings

/// `sallyport run`: serves until the process is stopped.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Serve. SIGHUP reloads the settings, SIGTERM drains and stops, a second SIGTERM stops at once."
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument
    @OptionGroup var insecure: InsecureOptions

    @Option(
        help: ArgumentHelp(
            "Write the process id to this file, for `sallyport reload`. The file is removed at the end.",
            valueName: "file"
        ),
        completion: .file()
    )
    var pidFile: String?

    func validate() throws { try self.named.validate(besides: self.options) }

    func run() async throws {
        Process.reportFatalSignals()
        let signals = await ServingSignals()
        let options = self.options.naming(self.named)
        let flags = self.insecure.flags
        let gateway: Gateway
        var (terminal, claimed): (TerminalLog?, String?)
        do {
            let loaded = try options.load(flags)
            if let pidFile {
                try PIDFile.claim(pidFile)
                claimed = pidFile
            }
            terminal = Terminal.log(loaded.settings.logs)
            gateway = try await Gateway.start(loaded, terminal: terminal, signals: signals) {
                try options.load(flags)
            }
            if let pidFile { try PIDFile.write(to: pidFile) }
            terminal?.open(with: loaded.settings.readyLine)
        } catch let failure as SettingsFailure {
            if let claimed { PIDFile.release(claimed) }
            throw Console.failure(options.report(failure))
        } catch {
            terminal?.finish()
            if let claimed { PIDFile.release(claimed) }
            throw Console.failure("\(error)")
        }
        await gateway.runUntilSignalled(pidFile: self.pidFile)
    }
}
