import Foundation
import TestSupport
import Testing

/// Pages of the guides that say what the sources say: those below a heading are written from them.
@Suite struct GeneratedPageTests {
    /// Expects that the guide has this text below the heading, to its end. Where it has another one, what it should be is
    /// in `.build/guides`, to be copied.
    private static func expect(_ text: String, in name: String, below heading: String) throws {
        let guide = try Documents.guide(name)
        let start = try #require(guide.text.firstRange(of: "\n\(heading)\n\n"), "\(guide) has no \(heading)")
        guard guide.text[start.upperBound...] != text else { return }
        let folder = PackageFiles.root.appending(path: ".build/guides")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "\(name).md")
        try (guide.text[..<start.upperBound] + text).write(to: file, atomically: true, encoding: .utf8)
        Issue.record("\(guide) is not what the sources say; copy .build/guides/\(name).md over it")
    }

    /// A cell of a table.
    private static func cell(_ text: some StringProtocol) -> String {
        self.marked(text.replacingOccurrences(of: "|", with: "\\|").replacingOccurrences(of: "\n", with: " "))
    }

    /// A text whose options are code: elsewhere two hyphens may be shown as a dash.
    private static func marked(_ text: some StringProtocol) -> String {
        let parts = String(text).split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part -> String in
            guard index % 2 == 0 else { return String(part) }
            return String(part.replacing(/(^|[ (])(--[a-z][a-z-]*)/, with: { match in "\(match.1)`\(match.2)`" }))
        }.joined(separator: "`")
    }

    // MARK: Metrics

    @Test func metricsAreThoseOfTheSources() throws {
        let source = try PackageFiles.text("Sources/Observability/Metrics/MetricNames.swift")
        let body = try #require(source.split(separator: "\n}\n").first)
        let family = /MetricFamily\.(counter|gauge|histogram)\(\s*"([^"{]+)(?:\{([^"]*)\})?",\s*"([^"]+)"/
        let heading = /^    \/\/ (.+)\.$/
        var sections: [(title: String, rows: [String])] = []
        for part in body.split(separator: "\n\n").flatMap({ Self.parts($0, at: heading.anchorsMatchLineEndings()) }) {
            if let title = part.firstMatch(of: heading.anchorsMatchLineEndings()) {
                // What begins with a sentence over two lines has its first.
                sections.append((String(title.1.split(separator: ", in the names")[0]), []))
            }
            for match in part.matches(of: family) {
                let labels = (match.3 ?? "").split(separator: ",").map { "`\($0)`" }.joined(separator: ", ")
                let row = "| `\(match.2)` | \(match.1) | \(labels.isEmpty ? "–" : labels) | \(Self.cell(match.4)) |"
                sections[sections.count - 1].rows.append(row)
            }
        }
        #expect(sections.count > 4 && sections.map(\.rows.count).reduce(0, +) == source.matches(of: family).count)
        let text = sections.map { title, rows in
            "### \(title)\n\n| metric | kind | labels | what it says |\n|---|---|---|---|\n"
                + rows.map { "\($0)\n" }.joined()
        }
        try Self.expect(text.joined(separator: "\n"), in: "Metrics", below: "## All metrics")
    }

    /// A text, divided before each match.
    private static func parts(_ text: Substring, at border: some RegexComponent) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        for range in text.ranges(of: border) where range.lowerBound > start {
            parts.append(text[start..<range.lowerBound])
            start = range.lowerBound
        }
        return parts + [text[start...]]
    }

    // MARK: Audit events

    @Test func auditEventsAreThoseOfTheSources() throws {
        let source = try PackageFiles.text("Sources/Observability/Logs/AuditEvent.swift")
        let cases = /((?:        \/\/\/.*\n)*)        case (\w+) = "([a-z_]+\.[a-z_]+)"\n/
        var rows = ["| event | when | `code` |", "|---|---|---|"]
        for match in source.matches(of: cases) {
            let lines = match.1.split(separator: "\n").map { $0.trimmingPrefix("        ///").drop { $0 == " " } }
            let words = lines.filter { !$0.hasPrefix("- ") && !$0.isEmpty }.joined(separator: " ")
            let codes = lines.first { $0.hasPrefix("- Codes: ") }.map { $0.dropFirst("- Codes: ".count).dropLast() }
            #expect(words.count > 10 && words.hasSuffix("."), "\(match.3) has no comment")
            rows.append("| `\(match.3)` | \(Self.cell(words)) | \(codes ?? "–") |")
        }
        #expect(rows.count > 30)
        try Self.expect(rows.map { "\($0)\n" }.joined(), in: "AuditEvents", below: "## All events")
    }

    // MARK: Commands

    @Test func commandsAreThoseOfTheProgram() throws {
        let root = try ProgramCommand.root()
        let sections = try Self.sections(of: root, named: root.commandName)
        #expect(sections.count > 20)
        try Self.expect(sections.joined(separator: "\n"), in: "Commands", below: "## All options")
    }

    private static func sections(of root: ProgramCommand, named path: String) throws -> [String] {
        try (root.subcommands ?? []).filter { $0.commandName != "help" }.flatMap { command in
            let path = "\(path) \(command.commandName)"
            var text = "### \(path)\n\n\(Self.marked(try #require(command.abstract)))\n"
            for paragraph in (command.discussion ?? "").split(separator: "\n") {
                text += "\n\(Self.prose(paragraph))\n"
            }
            let rows = (command.arguments ?? []).compactMap(Self.row)
            if !rows.isEmpty { text += "\n| option | |\n|---|---|\n\(rows.joined())" }
            return [text] + (try Self.sections(of: command, named: path))
        }
    }

    /// A line of the help: a command that it gives is code.
    private static func prose(_ line: Substring) -> String {
        if let example = line.firstMatch(of: /^(\w+): +(sallyport .*)$/) { return "\(example.1): `\(example.2)`" }
        return line.hasPrefix("curl ") || line.hasPrefix("sallyport ") ? "`\(line)`" : Self.marked(line)
    }

    /// The line of an argument; nil for those of every command.
    private static func row(_ argument: ProgramCommand.Argument) -> String? {
        let names = argument.options
        guard argument.shouldDisplay, !names.contains("--help"), !names.contains("--version") else { return nil }
        let value = "<\(argument.valueName ?? "value")>"
        let shown = names.isEmpty ? value : names.joined(separator: ", ") + (argument.kind == "flag" ? "" : " \(value)")
        var words = argument.abstract ?? ""
        if let fallback = argument.defaultValue { words += " Default: `\(fallback)`." }
        if !argument.isOptional { words += " Required." }
        return "| `\(shown)` | \(Self.cell(words)) |\n"
    }
}
