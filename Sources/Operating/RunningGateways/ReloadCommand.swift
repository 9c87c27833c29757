import ArgumentParser

#if canImport(Glibc)
import Glibc
#endif

/// `sallyport reload`: makes a running gateway on this machine reload its settings.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Check the settings, then have the running gateway read them again (SIGHUP).",
        discussion: """
            The gateway is that of --pid-file, which `sallyport run --pid-file` wrote, or of --pid. Settings that `sallyport \
            check` would refuse are not sent: the gateway would go on with the former ones and say so in its log. What became \
            of the reload is in its log, and at /readyz?verbose.
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
            throw ValidationError("Name the gateway by --pid-file or by --pid.")
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
            throw Console.failure("process \(process) is no running gateway of this program")
        }
        guard kill(process, SIGHUP) == 0 else {
            throw Console.failure("process \(process) cannot be told: \(String(cString: strerror(errno)))")
        }
        Console.say("process \(process) reads its settings again; its log says what became of it")
    }
}
