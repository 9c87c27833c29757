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
            RunCommand.self, DemoCommand.self, CheckCommand.self, ExplainCommand.self, HealthcheckCommand.self,
            LimitsCommand.self, TextsCommand.self,
            KeysCommand.self, HashPasswordCommand.self, VerifyCommand.self, DPoPProofCommand.self,
        ]
    )
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let names = Self.configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
        if let word = arguments.first, !word.hasPrefix("-"), !names.contains(word),
            let name = Spelling.nearest(to: word, in: names)
        {
            Self.exit(withError: ValidationError("found no command \(word); did you mean \(name)?"))
        }
        await Self.main(arguments)
    }
}
