import ArgumentParser
import RequestPath
import Settings

/// `sallyport check`: whether the settings can be served, and what they come to.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validate the settings and print what they come to, without secrets. Exit 0 when valid, else 1."
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var insecure: InsecureOptions

    @Flag(help: "Only the verdict, the problems and the warnings.")
    var quiet = false

    func run() throws {
        let loaded: LoadedSettings
        let draft: Draft
        do {
            loaded = try self.options.load(self.insecure.flags)
            draft = try Draft(loaded.settings)
        } catch let failure as SettingsFailure {
            let count = failure.problems.count
            Console.say("invalid: \(count) problem\(count == 1 ? "" : "s")")
            for problem in failure.problems { Console.say("  \(problem)") }
            throw ExitCode.failure
        } catch {
            Console.say("invalid: it cannot start")
            for line in "\(error)".split(separator: "\n") { Console.say("  \(line)") }
            throw ExitCode.failure
        }
        Console.say("valid")
        self.say("warnings", loaded.warnings + draft.findings)
        guard !self.quiet else { return }
        self.say("settings", loaded.describe().split(separator: "\n").map(String.init))
        for host in loaded.settings.hosts {
            self.say("routes of \(host.publicURL)", host.routes.map { Self.line($0, on: host) })
            self.say("paths of \(host.publicURL) that the gateway answers itself", draft.ownPaths(of: host))
        }
    }

    private func say(_ title: String, _ lines: [String]) {
        guard !lines.isEmpty else { return }
        Console.say("\n\(title):")
        for line in lines { Console.say("  \(line)") }
    }

    /// `/admin/**  GET, POST  required  -> app  (admin)`
    private static func line(_ route: RouteSettings, on host: HostSettings) -> String {
        let methods = route.methods.isEmpty ? "any method" : route.methods.joined(separator: ", ")
        var words = [route.path, methods, "auth \(route.auth.rawValue)", "-> \(route.upstream)"]
        if route.handoff, let client = route.client { words.append("handoff as \(client)") }
        if route.name != host.publicURL.authority + route.path { words.append("(\(route.name))") }
        return words.joined(separator: "  ")
    }
}
