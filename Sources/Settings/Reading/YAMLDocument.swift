import Vocabulary

/// A YAML file as nodes.
struct YAMLDocument {
    let path: String
    /// The root of the document; `nil` if the file is empty.
    let root: YAMLNode?

    /// Creates a document that was not read from a text.
    init(root: YAMLNode, path: String) {
        self.path = path
        self.root = root
    }

    /// Reads UTF-8 text of at most 1 MiB. Throws the reason if it is not a YAML document.
    init(_ bytes: [UInt8], path: String) throws(SettingsFailure) {
        let lines = try Self.lines(of: bytes, path: path)
        let text = lines.map { String(String.UnicodeScalarView($0)) }.joined(separator: "\n")
        do throws(YAMLReader.Fault) {
            self.root = try YAMLReader.root(of: Array(text.utf8))
            self.path = path
        } catch {
            throw Self.failure(of: error, lines, path: path)
        }
    }

    /// Splits a text into lines. Throws if it is too long, is not UTF-8, or has syntax that `YAMLGuard` rejects.
    private static func lines(of bytes: [UInt8], path: String) throws(SettingsFailure) -> [[Unicode.Scalar]] {
        func problem(_ line: Int, _ column: Int, _ key: String, _ found: String, _ fix: String) -> SettingsProblem {
            SettingsProblem(
                origin: .file(path: path, line: line, column: column),
                key: key,
                found: found,
                allowed: "plain YAML: mappings, lists and one-line values",
                fix: fix
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
                    return problem(finding.line, finding.column, key, finding.found, finding.fix)
                }
            )
        }
        return lines
    }

    private static func failure(
        of fault: YAMLReader.Fault,
        _ lines: [[Unicode.Scalar]],
        path: String
    ) -> SettingsFailure {
        let line = min(fault.mark.line, lines.count)
        return SettingsFailure([
            SettingsProblem(
                origin: .file(path: path, line: line, column: fault.mark.column),
                key: self.keyPath(at: line - 1, in: lines),
                found: "text that is not YAML (\(fault.problem))",
                allowed: "plain YAML: mappings, lists and one-line values",
                fix: "check the indentation, the space after each colon and the quotes around this line"
            )
        ])
    }
}

extension YAMLDocument {
    /// Returns the path of the key at or above a line. Uses indentation alone, because the text may not be valid YAML.
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

    /// Returns `name` and its indentation in a line `  - name: value`; `nil` if `name` does not look like a key.
    private static func key(of line: [Unicode.Scalar]) -> (name: String, indent: Int)? {
        let body = line.drop { $0 == " " || $0 == "-" }
        let name = body.prefix { $0 != ":" && $0 != "#" && !$0.isBlank }
        let isWhole = name.endIndex == line.count || line[name.endIndex] == ":"
        let text = String(String.UnicodeScalarView(name))
        guard isWhole, isKeyLike(text), line[name.endIndex...].first == ":" else { return nil }
        return (text, body.startIndex)
    }
}

/// The name of the top level in messages.
let topLevel = "(top level)"

/// Whether a name may be shown in a message. A name that no key could have may be part of a secret.
func isKeyLike(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isAlphanumeric || [0x2D, 0x2E, 0x5F].contains($0) }
}
