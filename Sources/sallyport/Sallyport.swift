import ArgumentParser

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
}
