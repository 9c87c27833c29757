import Foundation
import Testing

/// What the command-line library says of a command.
struct ProgramCommand: Decodable {
    struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }
        var kind: String
        var names: [Name]?
        var valueName: String?
        var abstract: String?
        var defaultValue: String?
        var isOptional: Bool
        var isRepeating: Bool
        var shouldDisplay: Bool

        /// As they are typed.
        var options: [String] { (self.names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name } }
    }
    var commandName: String
    var abstract: String?
    var discussion: String?
    var arguments: [Argument]?
    var subcommands: [ProgramCommand]?

    private struct Program: Decodable { var command: ProgramCommand }

    /// The program of the same build as the tests, which is in the same folder as they are.
    static func root() throws -> ProgramCommand {
        let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let program = folder.appending(path: "sallyport").path
        let dump = try #require(try PackageFiles.run([program, "--experimental-dump-help"]))
        return try JSONDecoder().decode(Program.self, from: Data(dump.output.utf8)).command
    }

    /// The options of this command and of those below it.
    var allOptions: Set<String> {
        (self.subcommands ?? []).reduce(into: Set((self.arguments ?? []).flatMap(\.options))) {
            $0.formUnion($1.allOptions)
        }
    }

    /// The command that these words name, and how many of them do.
    func named(by words: some Collection<Substring>) -> (command: ProgramCommand, count: Int) {
        guard let word = words.first, let command = self.subcommands?.first(where: { $0.commandName == word })
        else { return (self, 0) }
        let (found, count) = command.named(by: words.dropFirst())
        return (found, count + 1)
    }
}
