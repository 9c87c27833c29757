import ArgumentParser
import Settings
import Vocabulary

/// The options of commands that call admin listeners with an operator's token.
struct OperatorOptions: ParsableArguments {
    @OptionGroup var settings: SettingsOptions

    @Option(
        help: ArgumentHelp("A file with the operator's token (- for standard input).", valueName: "file"),
        completion: .file()
    )
    var tokenFile: String

    @OptionGroup var listeners: AdminListeners

    /// A gateway to call, with the operator's token.
    struct Gateway {
        /// The time limit for an answer in seconds.
        private static let patience = 5

        fileprivate let target: AdminTarget
        fileprivate let token: String

        var address: String { "\(self.target.address)" }

        /// Sends a request and returns the answer. Throws unless the status is 2xx.
        func ask(
            _ method: String,
            _ path: String,
            _ document: JSONValue? = nil
        ) throws(AdminProbe.Failure) -> AdminProbe.Answer {
            let answer = try AdminProbe.get(
                path,
                method: method,
                token: self.token,
                document: document,
                at: self.target,
                seconds: Self.patience
            )
            guard (200...299).contains(answer.status) else {
                let reason = JSONText.decode(Array(answer.body.utf8))?["reason"]?.string
                throw AdminProbe.Failure(
                    description: "\(self.address) answers \(answer.status): \(Self.advice(answer.status))",
                    status: answer.status,
                    reason: reason.flatMap { Reason(rawValue: $0) }
                )
            }
            return answer
        }

        /// Sends a request about a session; `nil` if the session does not exist.
        func find(_ method: String, _ path: String) throws(AdminProbe.Failure) -> AdminProbe.Answer? {
            do throws(AdminProbe.Failure) {
                return try self.ask(method, path)
            } catch {
                guard error.reason == .sessionUnknown else { throw error }
                return nil
            }
        }

        private static func advice(_ status: Int) -> String {
            switch status {
            case 400: "the provider or session is unknown, or --provider is missing although there are several"
            case 401: "the token is not in its admin.tokens_file"
            case 403: "the token needs the scope read to show, and sessions to end or clear"
            case 404: "it has no admin.tokens_file"
            case 503: "its store does not answer, or its audit stream is full"
            default: "see its log"
            }
        }
    }

    /// Calls `body` for each gateway. If it throws for any, throws after the last gateway.
    func forEach(_ body: (Gateway) throws(AdminProbe.Failure) -> Void) throws {
        let token = Console.readToken(self.tokenFile) ?? []
        guard !token.isEmpty, token.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ValidationError("The file of --token-file must contain an operator's token.")
        }
        try self.listeners.forEach(self.settings, sendsSecret: true) { target throws(AdminProbe.Failure) in
            try body(Gateway(target: target, token: String(decoding: token, as: UTF8.self)))
        }
    }
}

/// The option that names admin listeners.
struct AdminListeners: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address of an admin listener, instead of the one in the settings. Write https:// in front for TLS. Repeatable.",
            valueName: "address:port"
        )
    )
    var admin: [String] = []

    func validate() throws {
        guard self.admin.allSatisfy({ AdminTarget.read($0) != nil }) else {
            throw ValidationError("--admin must be \(AdminTarget.allowed).")
        }
    }

    /// Calls `body` for each listener. After a failed call the remaining listeners are called, then the command fails.
    ///
    /// - Parameter sendsSecret: True if the listeners must prove with TLS that they are gateways with these settings.
    func forEach(
        _ settings: SettingsOptions,
        sendsSecret: Bool,
        _ body: (AdminTarget) throws(AdminProbe.Failure) -> Void
    ) throws {
        var hasFailed = false
        for target in try settings.adminTargets(self.admin, sendsSecret: sendsSecret) {
            do throws(AdminProbe.Failure) {
                try body(target)
            } catch {
                Console.complain(error.description)
                hasFailed = true
            }
        }
        if hasFailed { throw ExitCode.failure }
    }
}
