import CommandParsing
import Settings

/// `sallyport healthcheck`: prints one line and exits with 0 or 1, for `HEALTHCHECK` in images without a shell.
struct HealthcheckCommand: Command {
    static let summary = CommandSummary(
        name: "healthcheck",
        abstract: "Ask the running gateway's admin listener whether it is ready; exit status 0 or 1.",
        discussion: """
            The address is that of --admin, else SALLYPORT_ADMIN_LISTEN, else admin.listen in the settings file. \
            No other setting is read.
            """
    )

    let options: SettingsOptions
    let admin: String?
    let live: Bool
    let timeout: Int

    init(_ form: inout CommandForm) {
        self.options = SettingsOptions(&form)
        self.admin = form.option(
            "admin",
            "address:port",
            "The address of the admin listener, instead of the one in the settings."
        )
        self.live = form.flag("live", "Ask only whether the gateway is alive.")
        self.timeout = form.option("timeout", "seconds", default: 3, in: 1...60, "Give up after this many seconds.")
    }

    func validate() throws(UsageError) {
        guard self.admin.map({ ListenAddress($0) != nil }) ?? true else {
            throw UsageError("--admin must be an address and a port, e.g. 127.0.0.1:9090.")
        }
    }

    func run() throws {
        let address: ListenAddress
        do {
            guard
                let admin = try self.admin.flatMap({ ListenAddress($0) })
                    ?? SettingsLoader.adminListen(file: self.options.config, environment: Process.environment)
            else {
                Console.complain("there is no admin listener to ask")
                throw CommandFailure()
            }
            address = admin
        } catch let failure as SettingsFailure {
            Console.complain("invalid settings: \(failure.problems[0])")
            throw CommandFailure()
        }
        do {
            let answer = try AdminProbe.get(self.live ? "/healthz" : "/readyz", at: address, seconds: self.timeout)
            Console.say("\(answer.status) \(answer.line)")
            guard answer.status == 200 else { throw CommandFailure() }
        } catch let failure as AdminProbe.Failure {
            Console.complain(failure.description)
            throw CommandFailure()
        }
    }
}
