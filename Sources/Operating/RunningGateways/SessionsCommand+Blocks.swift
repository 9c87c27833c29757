import ArgumentParser
import Vocabulary

/// The commands that block and unblock users.
extension SessionsCommand {
    /// The options that select one user.
    struct UserOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp("The user's id at the provider, or the subject that apps get.", valueName: "subject")
        )
        var subject: String

        @Option(help: ArgumentHelp("The provider of that user, if there are several.", valueName: "name"))
        var provider: String?

        fileprivate var path: String {
            let query = [(name: "subject", value: self.subject)] + (self.provider.map { [("provider", $0)] } ?? [])
            return "/blocks?\(FormText.encoded(query))"
        }
    }

    struct Block: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign a user out, and refuse every new sign-in.",
            discussion: """
                Ends all sessions and tokens of the user, under all ids that the user has. Sign-ins and tokens of the \
                provider are refused until the block ends or is lifted. A second call replaces the end and the note.
                """
        )

        @OptionGroup var user: UserOptions

        @Option(
            help: ArgumentHelp(
                "When the block ends, e.g. 2030-01-31T00:00:00Z. Without it, the block has to be lifted.",
                valueName: "time"
            )
        )
        var until: String?

        @Option(help: ArgumentHelp("A note for other operators, up to 256 bytes.", valueName: "text"))
        var note: String?

        @OptionGroup var operators: OperatorOptions

        func validate() throws {
            guard self.until.map({ UnixTime(rfc3339: $0) != nil }) != false else {
                throw ValidationError("--until must be a time such as 2030-01-31T00:00:00Z.")
            }
        }

        func run() throws {
            let members = [("until", self.until), ("note", self.note)].compactMap { name, value in
                value.map { (name, JSONValue.string($0)) }
            }
            let terms = JSONValue.object(Dictionary(uniqueKeysWithValues: members))
            try self.operators.forEach { gateway throws(AdminProbe.Failure) in
                let answer = JSONText.decode(Array(try gateway.ask("PUT", self.user.path, terms).body.utf8))
                let hadSession = answer?["signed_out"] == .bool(true)
                Console.say("\(gateway.address): blocked, \(hadSession ? "and signed out" : "but had no session")")
            }
        }
    }

    struct Unblock: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let a blocked user sign in again.",
            discussion: "What ended with the block stays ended: the user signs in anew."
        )

        @OptionGroup var user: UserOptions
        @OptionGroup var operators: OperatorOptions

        func run() throws {
            try self.operators.forEach { gateway throws(AdminProbe.Failure) in
                _ = try gateway.ask("DELETE", self.user.path)
                Console.say("\(gateway.address): not blocked")
            }
        }
    }
}
