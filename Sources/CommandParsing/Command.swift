/// A command of the program: what it takes, and what it does.
package protocol Command: Sendable {
    static var summary: CommandSummary { get }

    /// Takes the values of the command from `form`, one call for each option and operand. It also runs with an empty form,
    /// to learn for the help what the command takes: it has no effects, and checks nothing (`validate` does).
    init(_ form: inout CommandForm)

    /// Checks what one value alone does not tell.
    ///
    /// - Throws: `UsageError`
    func validate() throws(UsageError)

    /// - Throws: `UsageError`; `CommandFailure` if the command has said what is wrong; else what is wrong.
    func run() async throws
}

extension Command {
    package func validate() throws(UsageError) {}
}

/// The words of the help about a command or group.
package struct CommandSummary: Sendable {
    package let name: String
    /// One line.
    package let abstract: String
    /// Paragraphs, separated by empty lines.
    package let discussion: String

    package init(name: String, abstract: String, discussion: String = "") {
        self.name = name
        self.abstract = abstract
        self.discussion = discussion
    }
}

/// Commands under a common name.
package struct CommandGroup: Sendable {
    package enum Member: Sendable {
        case command(any Command.Type)
        case group(CommandGroup)

        var summary: CommandSummary {
            switch self {
            case .command(let command): command.summary
            case .group(let group): group.summary
            }
        }
    }

    package let summary: CommandSummary
    package let members: [Member]
    /// The command that runs when none is named.
    package let fallback: (any Command.Type)?

    package init(_ summary: CommandSummary, _ members: [Member], fallback: (any Command.Type)? = nil) {
        self.summary = summary
        self.members = members
        self.fallback = fallback
    }
}

/// The words after the program's name make no sense, or a value is out of its range.
package struct UsageError: Error, CustomStringConvertible {
    /// What is wrong, and how to mend it.
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// The command has failed and said why: exit status 1.
package struct CommandFailure: Error {
    package init() {}
}
