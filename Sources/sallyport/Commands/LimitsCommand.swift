import AddressIntelligence
import ArgumentParser
import Settings
import Vocabulary

/// `sallyport limits`: what a running gateway counts against an address, and how to empty it.
struct LimitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limits",
        abstract: "Show, or clear, what running gateways count against an address at sign-in.",
        discussion: """
            Asks the admin listener with the token of an operator (admin.tokens_file): one with the scope read to show, and \
            sessions to clear. There is no limit of an account alone, so the address is needed. Each gateway also counts \
            by itself: name the admin listener of each. Over TLS the token is sent only to a gateway that shows one of \
            tls.certificates in the settings.
            """,
        subcommands: [Show.self, Clear.self],
        defaultSubcommand: Show.self
    )

    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: ArgumentHelp("The client's address.", valueName: "address"))
        var address: String

        @Option(
            help: ArgumentHelp("An account that is tried from there, as the user types it.", valueName: "identifier")
        )
        var account: String?

        @Option(help: ArgumentHelp("A file with the operator's token; - is standard input.", valueName: "file"))
        var tokenFile: String

        @Option(
            help: ArgumentHelp(
                "The address of an admin listener, instead of the one in the settings; with https:// in front it has TLS. Repeatable.",
                valueName: "address:port"
            )
        )
        var admin: [String] = []

        func validate() throws {
            guard IPAddress(self.address) != nil else { throw ValidationError("--address must be an IP address.") }
            guard self.admin.allSatisfy({ AdminTarget.read($0) != nil }) else {
                throw ValidationError("--admin must be \(AdminTarget.allowed).")
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show how full the limits of an address are.")

        @OptionGroup var options: Options

        func run() throws { try LimitsCommand.ask("GET", self.options) }
    }

    struct Clear: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Empty the limits of an address.")

        @OptionGroup var options: Options

        func run() throws { try LimitsCommand.ask("DELETE", self.options) }
    }
}

extension LimitsCommand {
    /// How long to wait for each gateway.
    private static let patience = 5
    fileprivate static func ask(_ method: String, _ options: Options) throws {
        var query = [(name: "address", value: options.address)]
        if let account = options.account { query.append(("account", account)) }
        let target = "/limits?\(FormText.encoded(query))"
        let token = try self.token(options.tokenFile)
        var hasFailed = false
        for admin in try options.settings.adminTargets(options.admin, sendsSecret: true) {
            let address = admin.address
            do throws(AdminProbe.Failure) {
                let answer = try AdminProbe.get(
                    target,
                    method: method,
                    token: token,
                    at: admin,
                    seconds: self.patience
                )
                guard (200...299).contains(answer.status) else {
                    throw AdminProbe.Failure(
                        description: "\(address) answers \(answer.status): \(self.advice(answer.status))"
                    )
                }
                Console.say(method == "GET" ? self.table(answer.body) : "\(address): cleared")
            } catch {
                Console.complain(error.description)
                hasFailed = true
            }
        }
        if hasFailed { throw ExitCode.failure }
    }

    private static func token(_ file: String) throws -> String {
        let token = Console.readToken(file) ?? []
        guard !token.isEmpty, token.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ValidationError("The file of --token-file must hold an operator's token.")
        }
        return String(decoding: token, as: UTF8.self)
    }

    private static func advice(_ status: Int) -> String {
        switch status {
        case 401: "the token is not in its admin.tokens_file"
        case 403: "the token needs the scope read to show, and sessions to clear"
        case 404: "it has no admin.tokens_file"
        case 503: "its store cannot be asked, or its audit stream is full"
        default: "see its log"
        }
    }

    /// A line for each limit.
    private static func table(_ body: String) -> String {
        guard case .array(let limits)? = JSONText.decode(Array(body.utf8))?["limits"] else { return body }
        return limits.map { limit in
            func number(_ name: String) -> Int64 {
                if case .integer(let number)? = limit[name] { number } else { 0 }
            }
            let wait = number("retry_after_seconds")
            let count = "\(limit["limit"]?.string ?? ""): \(number("used")) of \(number("burst"))"
            return wait == 0 ? count : "\(count), throttled for \(wait) s"
        }.joined(separator: "\n")
    }
}
