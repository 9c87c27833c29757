import CommandParsing
import Testing

/// What the words after the program's name ask for, and how it is refused if they make no sense.
@Suite struct CommandParserTests {
    private struct Serve: Command, Equatable {
        static let summary = CommandSummary(name: "serve", abstract: "Serve.", discussion: "One paragraph.\n\nAnother.")

        let config: String?
        let isQuiet: Bool
        let port: Int
        let fields: [String]
        let language: String

        init(_ form: inout CommandForm) {
            self.config = form.option("config", "file", "The file with the settings.")
            self.isQuiet = form.flag("quiet", "Say less.")
            self.port = form.option("port", "port", default: 80, in: 1...100, "The port.")
            self.fields = form.repeatable("header", "field", "A field.")
            self.language = form.option("language", "tag", default: "en", "The language.")
        }

        func validate() throws(UsageError) {
            if self.isQuiet, self.port == 99 { throw UsageError("port 99 is not quiet") }
        }

        func run() async throws {}
    }

    private struct Make: Command {
        static let summary = CommandSummary(name: "make", abstract: "Make a file.")

        let mode: String
        let file: String

        init(_ form: inout CommandForm) {
            self.mode = form.required("mode", "bits", "The mode.")
            self.file = form.operand("file", "The file.")
        }

        func run() async throws {}
    }

    private struct List: Command {
        static let summary = CommandSummary(name: "list", abstract: "List the files.")

        let all: Bool

        init(_ form: inout CommandForm) { self.all = form.flag("all", "The others as well.") }

        func run() async throws {}
    }

    private static let parser = CommandParser(
        CommandGroup(
            CommandSummary(name: "tool", abstract: "A tool."),
            [
                .command(Serve.self),
                .group(
                    CommandGroup(
                        CommandSummary(name: "files", abstract: "Files."),
                        [.command(Make.self), .command(List.self)],
                        fallback: List.self
                    )
                ),
            ]
        ),
        version: "1.2.3"
    )

    private func command<C: Command>(_ words: String, as: C.Type = C.self) throws -> C {
        let outcome = try Self.parser.parse(words.split(separator: " ").map(String.init))
        guard case .run(let command) = outcome else { throw UsageError("\(outcome)") }
        return try #require(command as? C)
    }

    private func text(_ words: String...) throws -> String {
        guard case .text(let text) = try Self.parser.parse(words) else { return "" }
        return text
    }

    private func refusal(_ words: String...) -> CommandParser.Refusal? {
        #expect(throws: CommandParser.Refusal.self) { try Self.parser.parse(words) }
    }

    @Test func readsOptionsInAnyOrderAndForm() throws {
        let serve: Serve = try self.command("serve --header a=b --quiet --port=7 --config x --header=-c --header -")
        #expect(serve.config == "x" && serve.isQuiet && serve.port == 7 && serve.fields == ["a=b", "-c", "-"])
    }

    @Test func fillsInDefaults() throws {
        let serve: Serve = try self.command("serve")
        #expect(serve.config == nil && !serve.isQuiet && serve.port == 80 && serve.fields == [])
        #expect(serve.language == "en")
    }

    @Test func takesTheLastOfTwoValues() throws {
        let serve: Serve = try self.command("serve --port 1 --language de --port 2 --language fr")
        #expect(serve.port == 2 && serve.language == "fr")
    }

    @Test func findsTheOperandBetweenOptions() throws {
        for words in ["files make --mode 7 x", "files make x --mode 7", "files make --mode 7 -- x"] {
            let make: Make = try self.command(words)
            #expect(make.mode == "7" && make.file == "x", "\(words)")
        }
        #expect(try self.command("files make --mode 7 -- --x", as: Make.self).file == "--x")
        #expect(try self.command("files make --mode 7 -", as: Make.self).file == "-")
    }

    @Test func runsTheDefaultCommandOfAGroup() throws {
        #expect(try !self.command("files", as: List.self).all)
        #expect(try self.command("files --all", as: List.self).all)
        #expect(try self.command("files list --all", as: List.self).all)
    }

    @Test func tellsTheVersionOfTheProgramOnly() throws {
        #expect(try self.text("--version") == "1.2.3")
        #expect(self.refusal("serve", "--version")?.error.description == "there is no option --version")
    }

    @Test(arguments: [
        ["serve", "--help"], ["serve", "-h"], ["help", "serve"], ["help", "help", "serve"],
        ["serve", "--port", "1", "-h"],
        ["serve", "--nothing", "--help"], ["serve", "word", "-h"],
    ])
    func helpsWithACommand(_ words: [String]) throws {
        guard case .text(let text) = try Self.parser.parse(words) else { return #expect(Bool(false), "no help") }
        #expect(
            text == """
                OVERVIEW: Serve.

                One paragraph.

                Another.

                USAGE: tool serve [options]

                OPTIONS:
                  --config <file>         The file with the settings.
                  --quiet                 Say less.
                  --port <port>           The port. (default: 80)
                  --header <field>        A field. Repeatable.
                  --language <tag>        The language. (default: en)
                  -h, --help              Show this help.
                """
        )
    }

    @Test(arguments: [["files", "--help"], ["help", "files"], ["files", "help"]])
    func helpsWithAGroup(_ words: [String]) throws {
        guard case .text(let text) = try Self.parser.parse(words) else { return #expect(Bool(false), "no help") }
        #expect(
            text == """
                OVERVIEW: Files.

                USAGE: tool files <command>

                OPTIONS:
                  -h, --help              Show this help.

                COMMANDS:
                  make                    Make a file.
                  list                    List the files. (default)

                  See 'tool files <command> --help' for what a command takes.
                """
        )
    }

    @Test func helpsWithTheProgramAlsoWithoutWords() throws {
        let help = try self.text()
        #expect(help.contains("USAGE: tool <command>") && help.contains("--version"))
        #expect(try self.text("--help") == help && self.text("help") == help)
    }

    @Test func namesWhatMustBeGiven() throws {
        #expect(try self.text("files", "make", "-h").contains("USAGE: tool files make --mode <bits> <file>\n"))
        let refusal = self.refusal("files", "make", "x")
        #expect(
            refusal?.text == """
                Error: --mode <bits> is missing: The mode.
                USAGE: tool files make --mode <bits> <file>
                  See 'tool files make --help' for more information.
                """
        )
        #expect(self.refusal("files", "make", "--mode", "7")?.error.description == "<file> is missing: The file.")
    }

    @Test(arguments: [
        (["srve"], "there is no command srve; did you mean serve?"),
        (["serve", "--confg", "x"], "there is no option --confg; did you mean --config?"),
        (["serve", "-q"], "an option begins with two dashes, or is -h"),
        (["serve", "--config="], "--config <file> has no value"),
        (["serve", "--config", ""], "--config <file> has no value"),
        (["--verison"], "there is no option --verison; did you mean --version?"),
        (["serve", "--port"], "--port <port> has no value"),
        (
            ["serve", "--port", "--quiet"],
            "--port <port> has no value; one that begins with - is written --port=<port>"
        ),
        (["serve", "--port", "http"], "--port must be a number from 1 to 100"),
        (["serve", "--port=101"], "--port must be a number from 1 to 100"),
        (["serve", "--quiet=yes"], "--quiet takes no value"),
        (["serve", "--quiet", "--port", "99"], "port 99 is not quiet"),
        (["--quiet"], "there is no option --quiet"),
        (["help", "nothing"], "there is no command nothing"),
        (["files", "--al"], "there is no option --al; did you mean --all?"),
    ])
    func saysWhatIsWrong(_ words: [String], _ mend: String) throws {
        let refusal = #expect(throws: CommandParser.Refusal.self) { try Self.parser.parse(words) }
        #expect(refusal?.error.description == mend)
        #expect(refusal?.text.contains("USAGE: tool") == true)
    }

    /// A password or a token at the wrong place would reach the terminal's history and logs of units.
    @Test func doesNotRepeatAWordThatMayBeASecret() throws {
        for words in [
            ["serve", "hunter2"], ["files", "make", "--mode", "7", "x", "hunter2"], ["serve", "--quiet=hunter2"],
            ["serve", "-hunter2"], ["--nothing=hunter2"], ["help", "--nothing=hunter2"], ["-hunter2"],
        ] {
            let refusal = #expect(throws: CommandParser.Refusal.self) { try Self.parser.parse(words) }
            #expect(refusal?.text.contains("hunter2") == false)
        }
        #expect(self.refusal("serve", "--port", "-hunter2")?.text.contains("hunter2") == false)
        #expect(self.refusal("serve", "--prot=hunter2")?.text.contains("hunter2") == false)
    }

    @Test func breaksLongLines() throws {
        struct Wordy: Command {
            static let summary = CommandSummary(
                name: "wordy",
                abstract: String(repeating: "word ", count: 40),
                discussion: String(repeating: "more ", count: 40)
            )
            init(_ form: inout CommandForm) {
                _ = form.option("a-name-that-fills-its-column", "value", String(repeating: "text ", count: 30))
            }
            func run() async throws {}
        }
        let group = CommandGroup(CommandSummary(name: "tool", abstract: ""), [.command(Wordy.self)])
        guard case .text(let text) = try CommandParser(group, version: "").parse(["wordy", "-h"]) else {
            return #expect(Bool(false), "no help")
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.count <= 80 } && lines.count > 10)
        #expect(text.contains("  --a-name-that-fills-its-column <value>\n                          text text"))
    }
}
