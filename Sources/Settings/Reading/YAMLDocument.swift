internal import Yams

/// A YAML file as nodes. Names that are repeated in a mapping are kept separately.
struct YAMLDocument {
    let path: String
    /// nil: the file is empty.
    let root: Node?
    /// The real name of each repeated key, by the name that it has in `root`. The library would have refused it.
    let repeatedNames: [String: String]

    /// A document that was not read from a text.
    init(root: Node, path: String) {
        self.path = path
        self.root = root
        self.repeatedNames = [:]
    }

    /// Reads UTF-8 text of at most 1 MiB; throws why it is not a YAML document.
    init(_ bytes: [UInt8], path: String) throws(SettingsFailure) {
        var lines = try Self.lines(of: bytes, path: path)
        var repeated: [String: String] = [:]
        while true {
            do {
                // The basic resolver reads every plain text as a text. What it means is decided by its key.
                let text = lines.map { String(String.UnicodeScalarView($0)) }.joined(separator: "\n")
                let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
                self.root = try parser.singleRoot()
                self.path = path
                self.repeatedNames = repeated
                return
            } catch YamlError.duplicatedKeysInMapping(let names, let context) where repeated.count < 64 {
                // The library stops at the first repeated key. After renaming it passes, and the decoder reports it.
                let name = names.first ?? ""
                let stand = Self.rename(&lines, at: context.mark, count: repeated.count)
                guard let stand else { throw Self.failure(of: YamlError.no, lines, path: path) }
                repeated[stand] = name
            } catch {
                throw Self.failure(of: error, lines, path: path)
            }
        }
    }

    /// The lines of a text that passes the guard.
    private static func lines(of bytes: [UInt8], path: String) throws(SettingsFailure) -> [[Unicode.Scalar]] {
        func problem(_ line: Int, _ column: Int, _ key: String, _ found: String, _ mend: String) -> SettingsProblem {
            SettingsProblem(
                origin: .file(path: path, line: line, column: column),
                key: key,
                found: found,
                allowed: "plain YAML: mappings, lists and one-line values",
                mend: mend
            )
        }
        guard bytes.count <= YAMLGuard.maxBytes else {
            throw SettingsFailure([problem(1, 1, topLevel, "more than 1MiB", "write a smaller file")])
        }
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        let rows = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        var lines: [[Unicode.Scalar]] = []
        for (index, row) in rows.enumerated() {
            let row = row.last == 0x0D ? row.dropLast() : row
            guard let text = String(validating: row, as: UTF8.self) else {
                let valid = String(decoding: row, as: UTF8.self).unicodeScalars.prefix { $0 != "\u{FFFD}" }
                let key = Self.keyPath(at: index, in: lines + [Array(valid)])
                throw SettingsFailure([
                    problem(index + 1, valid.count + 1, key, "bytes that are not UTF-8", "save the file as UTF-8")
                ])
            }
            lines.append(Array(text.unicodeScalars))
        }
        let findings = YAMLGuard.findings(in: lines)
        guard findings.isEmpty else {
            throw SettingsFailure(
                findings.map { finding in
                    let key = Self.keyPath(at: finding.line - 1, in: lines)
                    return problem(finding.line, finding.column, key, finding.found, finding.mend)
                }
            )
        }
        return lines
    }

    /// Gives the key at `mark` a name that no key can have, of the same length so that no column moves.
    private static func rename(_ lines: inout [[Unicode.Scalar]], at mark: Mark, count: Int) -> String? {
        let row = mark.line - 1
        let start = mark.column - 1
        guard lines.indices.contains(row), lines[row].indices.contains(start),
            let stand = Unicode.Scalar(UInt32(0xF0000 + count))
        else { return nil }
        let line = lines[row]
        if line[start] == "\"" || line[start] == "'" {
            guard let end = YAMLGuard.endOfQuoted(line, from: start) else { return nil }
            lines[row].replaceSubrange(
                (start + 1)..<(end - 1),
                with: [stand] + repeatElement("x", count: max(0, end - start - 3))
            )
            return String(stand) + String(repeating: "x", count: max(0, end - start - 3))
        }
        let colon = line[start...].firstIndex { $0 == ":" } ?? line.endIndex
        let end = line[start..<colon].lastIndex { !$0.isBlank }.map { $0 + 1 } ?? colon
        guard end > start else { return nil }
        lines[row].replaceSubrange(start..<end, with: [stand] + repeatElement("x", count: end - start - 1))
        return String(stand) + String(repeating: "x", count: end - start - 1)
    }

    /// The library's errors without its excerpts of the text, which may hold a secret.
    private static func failure(of error: any Error, _ lines: [[Unicode.Scalar]], path: String) -> SettingsFailure {
        var found = "text that is not YAML"
        var place = (line: 1, column: 1)
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            found += " (\(problem))"
            place = (mark.line, mark.column)
        case .reader(let problem, let offset, _, let yaml):
            found += " (\(problem))"
            let before = yaml.unicodeScalars.prefix(offset ?? 0)
            place.line = before.count { $0 == "\n" } + 1
        case .duplicatedKeysInMapping(_, let context):
            found = "more repeated keys than can be listed"
            place = (context.mark.line, context.mark.column)
        default: break
        }
        let line = min(max(place.line, 1), lines.count)
        return SettingsFailure([
            SettingsProblem(
                origin: .file(path: path, line: line, column: place.column),
                key: self.keyPath(at: line - 1, in: lines),
                found: found,
                allowed: "plain YAML: mappings, lists and one-line values",
                mend: "check the indentation, the space after each colon and the quotes around this line"
            )
        ])
    }
}

extension YAMLDocument {
    /// The key at or above a line, found by indentation alone, for texts that are not YAML.
    static func keyPath(at row: Int, in lines: [[Unicode.Scalar]]) -> String {
        var path: [String] = []
        var indent = Int.max
        var index = min(row, lines.count - 1)
        while index >= 0, indent > 0 {
            if let key = self.key(of: lines[index]), key.indent < indent {
                path.append(key.name)
                indent = key.indent
            }
            index -= 1
        }
        return path.isEmpty ? topLevel : path.reversed().joined(separator: ".")
    }

    /// `name` of a line `  - name: value`, if it looks like the name of a key.
    private static func key(of line: [Unicode.Scalar]) -> (name: String, indent: Int)? {
        let body = line.drop { $0 == " " || $0 == "-" }
        let name = body.prefix { $0 != ":" && $0 != "#" && !$0.isBlank }
        let isWhole = name.endIndex == line.count || line[name.endIndex] == ":"
        let text = String(String.UnicodeScalarView(name))
        guard isWhole, isKeyLike(text), line[name.endIndex...].first == ":" else { return nil }
        return (text, body.startIndex)
    }
}

/// The name in messages for the place above all keys.
let topLevel = "(top level)"

/// Whether a name may be shown in a message. A name that no key could have may be part of a secret.
func isKeyLike(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isAlphanumeric || [0x2D, 0x2E, 0x5F].contains($0) }
}
