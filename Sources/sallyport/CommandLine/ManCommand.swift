import ArgumentParser
import Operating
import Vocabulary

/// `sallyport man`: prints a manual page, made from the help of all commands.
struct ManCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "man",
        abstract: "Print the manual page: sallyport man > sallyport.1"
    )

    func run() throws {
        guard let root = JSONText.decode(Array(Sallyport._dumpHelp().utf8))?["command"] else {
            throw Console.failure("the manual page cannot be made")
        }
        Console.say(ManualPage(root).text)
    }
}

/// A manual page in the format of `man` (groff_man(7)).
struct ManualPage {
    private(set) var text: String

    /// - Parameter root: The description of all commands, as dumped by ArgumentParser.
    init(_ root: JSONValue) {
        self.text = ".TH SALLYPORT 1 \"\" \"sallyport \(Version.current)\"\n.SH NAME\n"
        self.text += "sallyport \\- \(Self.plain(root["abstract"]?.string ?? ""))\n"
        self.text += ".SH SYNOPSIS\n.B sallyport\n.I command\n[options]\n.SH COMMANDS\n"
        self.write(root, below: "sallyport")
        self.text +=
            ".SH EXIT STATUS\n0 on success, 1 if the command failed or found a problem, 64 for an invalid "
        self.text +=
            "command line.\n.SH FILES\nThe settings are in a YAML file (\\-\\-config, SALLYPORT_CONFIG). "
        self.text += "Config/sallyport.reference.yaml shows all keys.\n"
    }

    private mutating func write(_ command: JSONValue, below path: String) {
        guard case .array(let commands)? = command["subcommands"] else { return }
        for command in commands {
            guard let name = command["commandName"]?.string, name != "help" else { continue }
            let path = "\(path) \(name)"
            self.text += ".SS \(Self.plain(path))\n\(Self.plain(command["abstract"]?.string ?? ""))\n"
            if let more = command["discussion"]?.string, !more.isEmpty {
                self.text += more.split(separator: "\n", omittingEmptySubsequences: false)
                    .map { $0.isEmpty ? ".PP\n" : ".br\n\(Self.plain(String($0)))\n" }.joined()
            }
            if case .array(let arguments)? = command["arguments"] {
                for argument in arguments where argument["shouldDisplay"] != .bool(false) { self.write(argument) }
            }
            self.write(command, below: path)
        }
    }

    private mutating func write(_ argument: JSONValue) {
        var names: [String] = []
        if case .array(let all)? = argument["names"] {
            names = all.compactMap { name in
                name["name"]?.string.map { (name["kind"]?.string == "long" ? "--" : "-") + $0 }
            }
        }
        let value = argument["valueName"]?.string ?? ""
        let isFlag = argument["kind"]?.string == "flag"
        guard !names.contains("--help"), !names.contains("--version") else { return }
        let shown = names.isEmpty ? "<\(value)>" : names.joined(separator: ", ") + (isFlag ? "" : " <\(value)>")
        self.text += ".TP\n\\fB\(Self.plain(shown))\\fR\n\(Self.plain(argument["abstract"]?.string ?? ""))\n"
    }

    /// Escapes groff's special characters.
    private static func plain(_ text: String) -> String {
        let escaped = text.map { character -> String in
            switch character {
            case "\\": "\\e"
            case "-": "\\-"
            case "\n": " "
            default: String(character)
            }
        }.joined()
        return escaped.first == "." || escaped.first == "'" ? "\\&\(escaped)" : escaped
    }
}
