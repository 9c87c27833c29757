/// Finds YAML syntax that settings files may not use.
///
/// Anchors and aliases could make a short file expand without limit. Tags, block texts and complex keys are not needed.
/// The YAML library reads the text after this scan. Some harmless texts are rejected.
struct YAMLGuard {
    struct Finding {
        var line: Int
        var column: Int
        var found: String
        var fix: String
    }

    static let maxBytes = 1 << 20
    static let maxDepth = 32

    private var findings: [Finding] = []
    /// The number of open `[` and `{`.
    private var depth = 0
    /// Whether an unquoted text is open. Inside brackets, it continues on the next line.
    private var isPlainOpen = false

    /// Returns the syntax in `lines` that is not allowed. The scan stops after about 32 findings.
    static func findings(in lines: [[Unicode.Scalar]]) -> [Finding] {
        var state = YAMLGuard()
        for (index, line) in lines.enumerated() {
            guard state.findings.count < 32 else { break }
            state.scan(line, number: index + 1)
        }
        return state.findings
    }

    private mutating func scan(_ line: [Unicode.Scalar], number: Int) {
        if line.first == "%" {
            self.add(number, 0, "a YAML directive", "remove the line")
            return
        }
        if ["---", "..."].contains(String(String.UnicodeScalarView(line.prefix(3)))), line.count == 3 || line[3].isBlank
        {
            // A lone `---` is harmless at the top of a file. The library reports a second document.
            let rest = line.dropFirst(3).drop(while: \.isBlank)
            if !rest.isEmpty, rest.first != "#" {
                self.add(number, 0, "a YAML document marker with text after it", "move the text to the next line")
            }
            return self.findControls(line[...], number)
        }
        var isTokenStart = !(self.depth > 0 && self.isPlainOpen)
        var column = 0
        while column < line.count {
            let scalar = line[column]
            let isAfterBlank = column == 0 || line[column - 1].isBlank
            if Self.isForbidden(scalar) {
                self.add(number, column, "a control character", "remove it; the file is UTF-8 text indented by spaces")
                return
            }
            if scalar == "#", isAfterBlank { return self.findControls(line[column...], number) }
            if scalar.isBlank {
                column += 1
                continue
            }
            if isTokenStart {
                switch scalar {
                case "\"", "'":
                    guard let end = Self.endOfQuoted(line, from: column) else {
                        self.add(number, column, "an unclosed quote", "close the quote on the line that opens it")
                        return
                    }
                    self.findControls(line[column..<end], number)
                    self.isPlainOpen = false
                    column = end
                    isTokenStart = false
                    continue
                case "&", "*":
                    let fix = "write the value itself, or put it in quotes if it begins with \(scalar)"
                    self.add(number, column, "a YAML anchor or alias", fix)
                    return
                case "!":
                    self.add(number, column, "a YAML tag", "remove the tag, or put the text in quotes")
                    return
                case "|", ">":
                    self.add(number, column, "a block text", "write the text on one line, in quotes")
                    return
                case "?" where self.isFollowedByBlank(line, column):
                    self.add(number, column, "a complex key", "write key: value")
                    return
                default: break
                }
            }
            let isIndicator = self.isFollowedByBlank(line, column)
            switch scalar {
            case "[", "{":
                guard isTokenStart || self.depth > 0 else { break }
                self.depth += 1
                guard self.depth <= Self.maxDepth else {
                    self.add(number, column, "more than \(Self.maxDepth) levels", "use fewer levels")
                    return
                }
                isTokenStart = true
                self.isPlainOpen = false
            case "]", "}":
                self.depth = max(0, self.depth - 1)
                isTokenStart = false
                self.isPlainOpen = false
            case "," where self.depth > 0:
                isTokenStart = true
                self.isPlainOpen = false
            case ":" where isIndicator || self.depth > 0:
                isTokenStart = true
                self.isPlainOpen = false
            case "-" where isIndicator && isTokenStart: break
            default:
                isTokenStart = false
                self.isPlainOpen = true
            }
            column += 1
        }
    }

    private func isFollowedByBlank(_ line: [Unicode.Scalar], _ column: Int) -> Bool {
        column + 1 == line.count || line[column + 1].isBlank
    }

    /// Returns the column after the closing quote; `nil` if the line ends first.
    static func endOfQuoted(_ line: [Unicode.Scalar], from start: Int) -> Int? {
        let quote = line[start]
        var column = start + 1
        while column < line.count {
            if quote == "\"", line[column] == "\\" {
                column += 2
            } else if line[column] != quote {
                column += 1
            } else if quote == "'", column + 1 < line.count, line[column + 1] == "'" {
                column += 2
            } else {
                return column + 1
            }
        }
        return nil
    }

    private mutating func findControls(_ scalars: ArraySlice<Unicode.Scalar>, _ line: Int) {
        guard let index = scalars.firstIndex(where: Self.isForbidden) else { return }
        self.add(line, index, "a control character", "remove it; the file is UTF-8 text indented by spaces")
    }

    /// Whether a character is a control character, a YAML line break that editors do not show, or a character that the
    /// library rejects without a position.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09: false
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF: true
        // Private use planes.
        case 0xF0000...: true
        default: false
        }
    }

    private mutating func add(_ line: Int, _ column: Int, _ found: String, _ fix: String) {
        self.findings.append(Finding(line: line, column: column + 1, found: found, fix: fix))
    }
}

extension Unicode.Scalar {
    var isBlank: Bool { self == " " || self == "\t" }
}
