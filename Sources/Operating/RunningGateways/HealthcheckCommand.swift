import ArgumentParser
import Settings

/// `sallyport healthcheck`: a command for `HEALTHCHECK` in images without a shell.
struct HealthcheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Ask the running gateway's admin listener whether it is ready. The exit status is 0 or 1.",
        discussion: """
            The address comes from --admin, SALLYPORT_ADMIN_LISTEN or admin.listen in the settings file, in this order. \
            No other setting is read. If the listener has TLS, its certificate is not verified, as orchestrators do not \
            verify it either: nothing secret is sent.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument

    @Option(
        help: ArgumentHelp(
            "The address of the admin listener, instead of the one in the settings. Write https:// in front for TLS.",
            valueName: "address:port"
        )
    )
    var admin: String?

    @Flag(help: "Ask only whether the gateway is alive.")
    var live = false

    @Option(help: ArgumentHelp("Give up after this many seconds.", valueName: "seconds"))
    var timeout = 3

    func validate() throws {
        try self.named.validate(besides: self.options)
        guard (1...60).contains(self.timeout) else { throw ValidationError("--timeout must be 1 to 60 seconds.") }
        guard self.admin.map({ AdminTarget.read($0) != nil }) ?? true else {
            throw ValidationError("--admin must be \(AdminTarget.allowed).")
        }
    }

    func run() throws {
        let options = self.options.naming(self.named)
        let targets = try options.adminTargets(self.admin.map { [$0] } ?? [], sendsSecret: false)
        do {
            for target in targets {
                let answer = try AdminProbe.get(self.live ? "/healthz" : "/readyz", at: target, seconds: self.timeout)
                Console.say("\(answer.status) \(answer.line)")
                guard answer.status == 200 else { throw ExitCode.failure }
            }
        } catch let failure as AdminProbe.Failure {
            throw Console.failure(failure.description)
        }
    }
}
