/// The help about a command or group, and the end of a refusal.
struct CommandHelp {
    private static let width = 80
    /// Where the second column begins.
    private static let column = 26

    /// `sallyport keys make`
    private let name: String
    private let isRoot: Bool

    /// - Parameter path: The names of the program, the groups and the command.
    init(_ path: [String]) {
        self.name = path.joined(separator: " ")
        self.isRoot = path.count == 1
    }

    func text(of command: any Command.Type) -> String {
        let fields = CommandForm.fields(of: command)
        let options = fields.filter { $0.kind != .operand }.map { ($0.form, Self.help(of: $0)) }
        return self.text(
            command.summary,
            usage: self.usage(fields),
            [
                ("ARGUMENTS", fields.filter { $0.kind == .operand }.map { ($0.form, $0.help) }),
                ("OPTIONS", options + [("-h, --help", "Show this help.")]),
            ]
        )
    }

    func text(of group: CommandGroup) -> String {
        let fallback = group.fallback?.summary.name
        let options = [("--version", "Show the version."), ("-h, --help", "Show this help.")]
        return self.text(
            group.summary,
            usage: "\(self.name) <command>",
            [
                ("OPTIONS", self.isRoot ? options : Array(options.dropFirst())),
                (
                    "COMMANDS",
                    group.members.map(\.summary).map { summary in
                        (summary.name, summary.abstract + (summary.name == fallback ? " (default)" : ""))
                    }
                ),
            ]
        ) + "\n\n  See '\(self.name) <command> --help' for what a command takes."
    }

    func refusal(_ error: UsageError, of command: (any Command.Type)? = nil) -> CommandParser.Refusal {
        let usage = command.map { self.usage(CommandForm.fields(of: $0)) } ?? "\(self.name) <command>"
        let text = """
            Error: \(error)
            USAGE: \(usage)
              See '\(self.name) --help' for more information.
            """
        return CommandParser.Refusal(error: error, text: text)
    }

    /// What must be given is named, the rest is in the help.
    private func usage(_ fields: [CommandForm.Field]) -> String {
        var words = [self.name]
        words += fields.filter { $0.isRequired && $0.kind != .operand }.map(\.form)
        if fields.contains(where: { !$0.isRequired }) { words.append("[options]") }
        words += fields.filter { $0.kind == .operand }.map(\.form)
        return words.joined(separator: " ")
    }

    private static func help(of field: CommandForm.Field) -> String {
        switch field.kind {
        case .repeatable: "\(field.help) Repeatable."
        case .flag, .operand: field.help
        case .option: field.help + (field.fallback.map { " (default: \($0))" } ?? "")
        }
    }

    private func text(
        _ summary: CommandSummary,
        usage: String,
        _ sections: [(title: String, rows: [(String, String)])]
    ) -> String {
        var parts = ["OVERVIEW: \(summary.abstract)".wrapped(at: Self.width)]
        if !summary.discussion.isEmpty { parts.append(summary.discussion.wrapped(at: Self.width)) }
        parts.append("USAGE: \(usage)")
        for section in sections where !section.rows.isEmpty {
            parts.append("\(section.title):\n" + section.rows.map(Self.row).joined(separator: "\n"))
        }
        return parts.joined(separator: "\n\n")
    }

    private static func row(_ term: String, _ help: String) -> String {
        let margin = String(repeating: " ", count: self.column)
        let lines = help.wrapped(at: self.width - self.column).split(separator: "\n")
        let start = "  \(term)"
        let gap = start.utf8.count < self.column ? String(margin.dropFirst(start.utf8.count)) : "\n\(margin)"
        return start + gap + lines.joined(separator: "\n\(margin)")
    }
}

extension String {
    /// The text with line breaks at blanks, so that no line is longer than `width` if its words are not.
    fileprivate func wrapped(at width: Int) -> String {
        self.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var lines: [String] = [""]
            for word in line.split(separator: " ") {
                let last = lines[lines.count - 1]
                if last.isEmpty {
                    lines[lines.count - 1] = String(word)
                } else if last.count + 1 + word.count <= width {
                    lines[lines.count - 1] += " \(word)"
                } else {
                    lines.append(String(word))
                }
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
