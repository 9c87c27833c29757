import ArgumentParser
import Vocabulary

/// `sallyport`: one binary, a subcommand for each thing an operator does with it.
@main
struct Sallyport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sallyport",
        abstract: "A session gateway: native-to-web single sign-on in front of any web app.",
        version: Version.current,
        subcommands: [
            RunCommand.self, DemoCommand.self, InitCommand.self, CheckCommand.self, ExplainCommand.self,
            ReloadCommand.self, HealthcheckCommand.self,
            UpstreamsCommand.self, SessionsCommand.self, LimitsCommand.self, TextsCommand.self,
            KeysCommand.self, CertificateCommand.self, HashPasswordCommand.self, VerifyCommand.self,
            DPoPProofCommand.self, CompletionCommand.self, ManCommand.self,
        ]
    )

    /// What the commands of other programs are called here.
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
        let words = Process.words
        if let mend = self.mend(of: words) ?? self.emptyValue(in: words) {
            self.exit(withError: ValidationError(mend))
        }
        await self.main(words)
    }

    /// An option without its value, mostly a variable of a script that is not set. The parser takes it for an empty one.
    private static func emptyValue(in words: some Sequence<String>) -> String? {
        var option = ""
        for word in words.prefix(while: { $0 != "--" }) {
            if word.isEmpty { return option.isEmpty ? "there is an empty word" : "\(option) has no value" }
            guard word.hasPrefix("--") else { continue }
            option = String(word.prefix { $0 != "=" })
            if word.utf8.count == option.utf8.count + 1 { return "\(option) has no value" }
        }
        return nil
    }

    /// Which command may be meant by a word that is none: the parser says only that it does not expect the word.
    private static func mend(of words: some Sequence<String>) -> String? {
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
