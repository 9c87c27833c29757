import Foundation
import TestSupport
import Testing

/// The scripts of `sallyport completion`: wherever a command takes a file or a folder, the Tab key offers those that are there.
@Suite struct CompletionTests {
    /// A place on a command line for a file or a folder: the words before it.
    struct Place: CustomStringConvertible {
        var words: [String]
        var isFolder: Bool
        var description: String { self.words.joined(separator: " ") }
    }

    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "sallyport").path

    /// All places, as the help of the commands names them.
    private static func places(of command: ProgramCommand, after words: [String]) -> [Place] {
        let own = (command.arguments ?? []).flatMap { argument -> [Place] in
            let value = argument.valueName ?? ""
            guard ["file", "certificate-file", "key-file", "directory"].contains(value) else { return [] }
            let isFolder = value == "directory"
            if argument.kind == "positional" { return [Place(words: words, isFolder: isFolder)] }
            return argument.options.map { Place(words: words + [$0], isFolder: isFolder) }
        }
        return own + (command.subcommands ?? []).flatMap { self.places(of: $0, after: words + [$0.commandName]) }
    }

    private static func script(for shell: String) throws -> String {
        let made = try #require(try PackageFiles.run([self.program, "completion", shell]))
        try #require(made.status == 0, "\(made.output)")
        return made.output
    }

    @Test("bash offers files wherever a command takes one, and only folders for --directory")
    func bash() throws {
        let places = Self.places(of: try ProgramCommand.root(), after: [])
        try #require(places.count >= 20, "\(places)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID())")
        try FileManager.default.createDirectory(at: folder.appending(path: "place"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data().write(to: folder.appending(path: "plan.yaml"))
        try Data(Self.script(for: "bash").utf8).write(to: folder.appending(path: "completion"))
        for place in places {
            let words = (["sallyport"] + place.words + ["pla"]).map { "'\($0)'" }.joined(separator: " ")
            let steps = """
                cd '\(folder.path)' && . ./completion
                COMP_WORDS=(\(words)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
                read -r _ _ _ _ function _ < <(complete -p sallyport)
                "$function" sallyport pla "${COMP_WORDS[COMP_CWORD-1]}"
                printf '%s\\n' "${COMPREPLY[@]}" | sort
                """
            let offered = try #require(try PackageFiles.run(["bash", "-c", steps]))
            #expect(offered.output == (place.isFolder ? "place\n" : "place\nplan.yaml\n"), "\(place)")
        }
    }

    /// How a line of the script says that a path follows.
    private static let marks = ["zsh": ["_files"], "fish": ["-rF", " -F"]]

    @Test("zsh and fish complete paths at as many places as bash", arguments: ["zsh", "fish"])
    func others(shell: String) throws {
        let places = Self.places(of: try ProgramCommand.root(), after: []).filter { !$0.isFolder }
        let marks = Self.marks[shell, default: []]
        let lines = try Self.script(for: shell).split(separator: "\n").filter { line in
            marks.contains { line.contains($0) }
        }
        #expect(lines.count >= places.count, "\(lines.count) of \(places.count)")
    }
}
