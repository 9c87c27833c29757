import ArgumentParser
import Glibc

/// `sallyport reload`: makes a running gateway on this machine reload its settings.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Check the settings, then make the running gateway reload them (SIGHUP).",
        discussion: """
            The gateway is the process in --pid-file, which `sallyport run --pid-file` has written, or in --pid. If `sallyport \
            check` would refuse the settings, no signal is sent: the gateway would keep the old ones and say so in its log. \
            The result of the reload is in the gateway's log, and at /readyz?verbose.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument
    @OptionGroup var insecure: InsecureOptions

    @Option(help: ArgumentHelp("The file with the process id of the gateway.", valueName: "file"), completion: .file())
    var pidFile: String?

    @Option(help: ArgumentHelp("The process id of the gateway.", valueName: "number"))
    var pid: Int32?

    func validate() throws {
        try self.named.validate(besides: self.options)
        guard (self.pid == nil) != (self.pidFile == nil) else {
            throw ValidationError("Use either --pid-file or --pid.")
        }
    }

    func run() throws {
        let options = self.options.naming(self.named)
        do {
            _ = try options.load(self.insecure.flags)
        } catch {
            throw Console.failure(options.report(error))
        }
        let process = try self.pid ?? self.pidFile.map(PIDFile.read) ?? 0
        guard PIDFile.isGateway(process) else {
            throw Console.failure("process \(process) is not a running gateway of this program")
        }
        guard kill(process, SIGHUP) == 0 else {
            throw Console.failure("process \(process) cannot be signalled: \(String(cString: strerror(errno)))")
        }
        Console.say("process \(process) reloads its settings; the result is in its log")
    }
}
