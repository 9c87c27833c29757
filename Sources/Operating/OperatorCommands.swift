package import ArgumentParser

/// The commands for operators, in the order of the help.
package enum OperatorCommands {
    package static let all: [any ParsableCommand.Type] = [
        InitCommand.self, CheckCommand.self, ExplainCommand.self, ReloadCommand.self, HealthcheckCommand.self,
        UpstreamsCommand.self, SessionsCommand.self, LimitsCommand.self, TextsCommand.self, KeysCommand.self,
        CertificateCommand.self, HashPasswordCommand.self, VerifyCommand.self, DPoPProofCommand.self,
    ]
}
