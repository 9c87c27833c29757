import AddressIntelligence
import ArgumentParser
import Settings
import Vocabulary

/// `sallyport limits`: shows or clears the sign-in limits of an address at running gateways.
struct LimitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limits",
        abstract: "Show or clear the sign-in limits of an address at running gateways.",
        discussion: """
            Calls the admin listener with an operator's token (admin.tokens_file). The token needs the scope read to show \
            limits, and sessions to clear them. No limit depends only on an account, so the address is required. Each \
            gateway also counts by itself: pass the admin listener of each. Over TLS the token is sent only to a gateway \
            that presents one of tls.certificates in the settings.
            """,
        subcommands: [Show.self, Clear.self],
        defaultSubcommand: Show.self
    )

    struct Options: ParsableArguments {
        @Option(help: ArgumentHelp("The client's address.", valueName: "address"))
        var address: String

        @Option(
            help: ArgumentHelp(
                "An account that is tried from that address, as the user types it.",
                valueName: "identifier"
            )
        )
        var account: String?

        @OptionGroup var operators: OperatorOptions

        func validate() throws {
            guard IPAddress(self.address) != nil else { throw ValidationError("--address must be an IP address.") }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show how full the limits of an address are.")

        @OptionGroup var options: Options

        func run() throws { try LimitsCommand.ask("GET", self.options) }
    }

    struct Clear: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Clear the limits of an address.")

        @OptionGroup var options: Options

        func run() throws { try LimitsCommand.ask("DELETE", self.options) }
    }
}

extension LimitsCommand {
    fileprivate static func ask(_ method: String, _ options: Options) throws {
        var query = [(name: "address", value: options.address)]
        if let account = options.account { query.append(("account", account)) }
        let target = "/limits?\(FormText.encoded(query))"
        try options.operators.forEach { gateway throws(AdminProbe.Failure) in
            let answer = try gateway.ask(method, target)
            Console.say(method == "GET" ? self.table(answer.body) : "\(gateway.address): cleared")
        }
    }

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
