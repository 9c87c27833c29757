import ArgumentParser
import Glibc
import Operating
import Vocabulary

/// `sallyport`: one program with a subcommand for each task.
@main
struct Sallyport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sallyport",
        abstract: "A session gateway: native-to-web single sign-on in front of any web app.",
        version: Version.current,
        subcommands: [RunCommand.self, DemoCommand.self] + OperatorCommands.all
            + [CompletionCommand.self, ManCommand.self]
    )

    /// Command names of other programs, with the command to suggest.
    private static let foreign = [
        "serve": "run", "start": "run", "server": "run", "up": "run", "daemon": "run", "gateway": "run",
        "validate": "check", "test": "check", "lint": "check", "config": "check", "verify-config": "check",
        "version": "--version", "status": "healthcheck", "health": "healthcheck", "ping": "healthcheck",
        "passwd": "hash-password", "password": "hash-password", "hash": "hash-password", "htpasswd": "hash-password",
        "new": "init", "setup": "init", "generate": "init", "servers": "upstreams", "backends": "upstreams",
        "sign-out": "sessions end", "logout": "sessions end", "users": "sessions", "who": "sessions",
        "manpage": "man", "completions": "completion", "trace": "explain", "debug": "explain", "cert": "certificate",
    ]

    static func main() async {
        // Writing to a closed pipe then fails, instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        Process.occupyStandardDescriptors()
        let words = Process.words
        if ["run", "demo"].contains(words.first) { ServingSignals.outlive() }
        Process.end(Console.status(after: await self.carryOut(words)))
    }

    /// Runs the command in the arguments. Prints the error if it fails.
    ///
    /// - Returns: The exit status.
    private static func carryOut(_ words: [String]) async -> Int32 {
        do {
            if let fix = self.fix(of: words) ?? self.emptyValue(in: words) { throw ValidationError(fix) }
            var command = try await self.asyncParseAsRoot(words)
            switch command {
            case let command as any WiredCommand: try await command.run(with: .gateway)
            case var command as any AsyncParsableCommand: try await command.run()
            default: try command.run()
            }
            return ExitCode.success.rawValue
        } catch {
            // A request for help is also thrown, with a successful status.
            let (status, text) = (self.exitCode(for: error), self.fullMessage(for: error))
            if !text.isEmpty { status.isSuccess ? Console.say(text) : Console.complain(text) }
            return status.rawValue
        }
    }

    /// Returns an error for an empty value, e.g. of an unset shell variable. The parser would accept it.
    private static func emptyValue(in words: some Sequence<String>) -> String? {
        var option = ""
        for word in words.prefix(while: { $0 != "--" }) {
            if word.isEmpty { return option.isEmpty ? "there is an empty argument" : "\(option) has no value" }
            guard word.hasPrefix("--") else { continue }
            option = String(word.prefix { $0 != "=" })
            if word.utf8.count == option.utf8.count + 1 { return "\(option) has no value" }
        }
        return nil
    }

    /// Suggests a command for an unknown word. The parser would only report an unexpected argument.
    private static func fix(of words: some Sequence<String>) -> String? {
        var commands = self.configuration.subcommands
        for word in words {
            guard !word.hasPrefix("-"), word != "help" else { return nil }
            if let command = commands.first(where: { $0.configuration.commandName == word }) {
                commands = command.configuration.subcommands
            } else {
                let names = commands.compactMap { $0.configuration.commandName }
                let meant = Self.foreign[word] ?? Spelling.nearest(to: word, in: names)
                return meant.map { "there is no command \(word); did you mean \($0)?" }
            }
        }
        return nil
    }
}
