import Vocabulary

/// Finds out what the words after the program's name ask for.
package struct CommandParser {
    package enum Outcome {
        case run(any Command)
        /// The help or the version, to be printed.
        case text(String)
    }

    /// What was asked for makes no sense.
    package struct Refusal: Error {
        package let error: UsageError
        /// The error, how the command is used, and where to read more.
        package let text: String
    }

    private let root: CommandGroup
    private let version: String

    package init(_ root: CommandGroup, version: String) {
        self.root = root
        self.version = version
    }

    /// - Throws: `Refusal`
    package func parse(_ words: [String]) throws(Refusal) -> Outcome {
        var path = [self.root.summary.name]
        var group = self.root
        var words = words[...]
        var wantsHelp = false
        while let word = words.first {
            switch word {
            case "--version" where path.count == 1: return .text(self.version)
            case "-h", "--help": return .text(CommandHelp(path).text(of: group))
            case "help":
                wantsHelp = true
                words.removeFirst()
                continue
            case _ where word.hasPrefix("-"):
                guard let fallback = group.fallback else {
                    let options = path.count == 1 ? ["--help", "--version"] : ["--help"]
                    throw CommandHelp(path).refusal(Self.unknownOption(word, options))
                }
                return try self.parse(words, for: fallback, CommandHelp(path + [fallback.summary.name]))
            default: break
            }
            guard let member = group.members.first(where: { $0.summary.name == word }) else {
                throw CommandHelp(path).refusal(Self.unknown(word, "command", group.members.map(\.summary.name)))
            }
            path.append(word)
            words.removeFirst()
            switch member {
            case .group(let inner): group = inner
            case .command(let command):
                if wantsHelp { return .text(CommandHelp(path).text(of: command)) }
                return try self.parse(words, for: command, CommandHelp(path))
            }
        }
        guard let fallback = group.fallback, !wantsHelp else { return .text(CommandHelp(path).text(of: group)) }
        return try self.parse([], for: fallback, CommandHelp(path + [fallback.summary.name]))
    }

    private func parse(
        _ words: ArraySlice<String>,
        for command: any Command.Type,
        _ help: CommandHelp
    ) throws(Refusal) -> Outcome {
        do throws(UsageError) {
            guard var form = try Self.form(words, fields: CommandForm.fields(of: command)) else {
                return .text(help.text(of: command))
            }
            let command = command.init(&form)
            if let fault = form.fault { throw fault }
            try command.validate()
            return .run(command)
        } catch {
            throw help.refusal(error, of: command)
        }
    }

    /// The form with what is given; nil: the help is asked for.
    private static func form(
        _ words: ArraySlice<String>,
        fields: [CommandForm.Field]
    ) throws(UsageError) -> CommandForm? {
        // Also after a mistake: it is added to a line that has failed.
        guard words.prefix(while: { $0 != "--" }).allSatisfy({ $0 != "-h" && $0 != "--help" }) else { return nil }
        let options = fields.filter { $0.kind != .operand }
        let takesOperand = options.count < fields.count
        var values: [String: [String]] = [:]
        var operand: String?
        var words = words
        var areOptionsOver = false
        while let word = words.popFirst() {
            if areOptionsOver || !word.hasPrefix("-") || word == "-" {
                // The word is not repeated: it may be a password or a token at the wrong place.
                guard takesOperand, operand == nil else {
                    throw UsageError(
                        "there is a word too many: \(takesOperand ? "one is taken" : "only options are taken")"
                    )
                }
                operand = word
                continue
            }
            if word == "--" {
                areOptionsOver = true
                continue
            }
            let (name, attached) = Self.split(word)
            guard let option = options.first(where: { "--\($0.name)" == name }) else {
                throw Self.unknownOption(word, options.map { "--\($0.name)" })
            }
            values[option.name, default: []].append(try Self.value(of: option, attached, &words))
        }
        return CommandForm(options: values, operand: operand)
    }

    /// - Parameter attached: What follows `=` in the option's word.
    private static func value(
        of option: CommandForm.Field,
        _ attached: String?,
        _ words: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        if option.kind == .flag {
            guard attached == nil else { throw UsageError("--\(option.name) takes no value") }
            return ""
        }
        // Mostly a variable of a script that is not set.
        guard let next = attached ?? words.first, !next.isEmpty else { throw UsageError("\(option.form) has no value") }
        if let attached { return attached }
        guard !next.hasPrefix("-") || next == "-" else {
            throw UsageError(
                "\(option.form) has no value; one that begins with - is written --\(option.name)=<\(option.value)>"
            )
        }
        words.removeFirst()
        return next
    }

    /// `--name=value`, or `--name`.
    private static func split(_ word: String) -> (name: String, value: String?) {
        guard let mark = word.firstIndex(of: "=") else { return (word, nil) }
        return (String(word[..<mark]), String(word[word.index(after: mark)...]))
    }

    /// Neither a value nor a word after one dash is repeated: it may be a secret that begins with it.
    private static func unknownOption(_ word: String, _ names: [String]) -> UsageError {
        guard word.hasPrefix("--") else { return UsageError("an option begins with two dashes, or is -h") }
        return self.unknown(self.split(word).name, "option", names)
    }

    private static func unknown(_ word: String, _ what: String, _ names: [String]) -> UsageError {
        let nearest = Spelling.nearest(to: word, in: names)
        return UsageError("there is no \(what) \(word)\(nearest.map { "; did you mean \($0)?" } ?? "")")
    }
}

extension CommandForm {
    /// What the command takes.
    static func fields(of command: any Command.Type) -> [Field] {
        var form = CommandForm()
        _ = command.init(&form)
        return form.fields
    }
}
