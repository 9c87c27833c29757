import ArgumentParser
import Settings

/// `sallyport healthcheck`: one line and exit 0 or 1, for `HEALTHCHECK` in images that have no shell.
struct HealthcheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Ask the running gateway's admin listener whether it is ready; exit 0 or 1."
    )

    @OptionGroup var options: SettingsOptions

    @Flag(help: "Ask only whether it is alive.")
    var live = false

    @Option(help: ArgumentHelp("Give up after so many seconds.", valueName: "seconds"))
    var timeout = 3

    func validate() throws {
        guard (1...60).contains(self.timeout) else { throw ValidationError("--timeout is 1 to 60 seconds.") }
    }

    func run() throws {
        let address: ListenAddress
        do {
            // Whether the settings are safe to serve is for `run` to judge; here they only say where to ask.
            let flags = InsecureFlags(http: true, staticUsers: true, trustAllProxies: true)
            guard let admin = try self.options.load(flags).settings.adminListen else {
                Console.complain("there is no admin listener to ask")
                throw ExitCode.failure
            }
            address = admin
        } catch let failure as SettingsFailure {
            Console.complain("invalid settings: \(failure.problems[0])")
            throw ExitCode.failure
        }
        do {
            let answer = try HealthProbe.get(self.live ? "/healthz" : "/readyz", at: address, seconds: self.timeout)
            Console.say("\(answer.status) \(answer.line)")
            guard answer.status == 200 else { throw ExitCode.failure }
        } catch let failure as HealthProbe.Failure {
            Console.complain(failure.description)
            throw ExitCode.failure
        }
    }
}
