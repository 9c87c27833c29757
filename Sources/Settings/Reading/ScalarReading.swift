import Vocabulary

extension SettingKind {
    /// Reads a value of this kind from a text in the file or in a variable.
    func read(_ text: String) throws(SyntaxFault) -> SettingValue {
        switch self {
        case .boolean:
            guard text == "true" || text == "false" else { throw SyntaxFault("write true or false") }
            return .boolean(text == "true")
        case .integer(let range):
            let value = try Quantity.integer(text)
            guard range.contains(value) else { throw SyntaxFault("write a value in this range") }
            return .integer(value)
        case .duration(let range, let orOff):
            let value = orOff && text == "off" ? .zero : try Quantity.duration(text)
            guard range.contains(value) || (orOff && value == .zero) else {
                throw SyntaxFault("write a value in this range")
            }
            return .duration(value)
        case .size(let range, let orNone):
            if orNone, text == "none" { return .size(nil) }
            let value = try Quantity.size(text)
            guard range.contains(value) else { throw SyntaxFault("write a value in this range") }
            return .size(value)
        case .choice(let words):
            guard words.contains(text) else {
                let meant = ForeignKeys.word(for: text, among: words).map { "write \($0)" }
                throw SyntaxFault(meant ?? suggestion(for: text, among: words, else: "write one of these words"))
            }
            return .text(text)
        case .text(let rule), .secret(let rule):
            return try rule.read(text)
        case .path:
            guard !text.isEmpty, text.utf8.count <= 4096, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw SyntaxFault("write the path of a file")
            }
            return .text(text)
        case .list(let element):
            // A variable writes a list as one text. In the file, a list is a YAML list.
            var list: [Setting] = []
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                let part = String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
                list.append(Setting(value: try element.read(part), origin: .builtIn, shown: element.shown(part)))
            }
            return .list(list)
        case .shorthand(let name, let section):
            guard let key = section[name] else { throw SyntaxFault("write it in the file") }
            let setting = Setting(value: try key.kind.read(text), origin: .builtIn, shown: key.kind.shown(text))
            return .tree(SettingsTree(standingFor: setting, named: name))
        case .section, .sections, .named, .pairs, .document:
            throw SyntaxFault("write it in the file; a variable cannot hold it")
        }
    }

    /// Returns a valid value as `check` prints it, without secrets.
    func shown(_ text: String) -> String {
        switch self {
        case .secret: "<redacted>"
        case .path(isSecret: true): shownPath(text)
        case .text(let rule) where rule.hidesQuery: text.withoutQuery
        default: text
        }
    }

    /// Returns an invalid text as messages show it, without secrets.
    func found(_ text: String) -> String {
        self.isSecret ? "a text (not shown)" : quoted(self.shown(text)).withoutCredentials
    }
}

/// Returns `path` if it looks like a path. Otherwise returns a placeholder, because the text may be a secret.
private func shownPath(_ path: String) -> String {
    let looksLikePath = ["/", "./", "../"].contains { path.hasPrefix($0) } && path.utf8.count <= 255
    return looksLikePath || isName(ofFile: path) ? path : "<redacted, as it may be the secret itself>"
}

/// Whether a text looks like the name of a secret's file, such as `client-secret` or `keys/redis-url.txt`: lower-case
/// words, at least one of them from the list below.
private func isName(ofFile text: String) -> Bool {
    let marks = "-_./".utf8
    guard text.utf8.count <= 64, text.utf8.allSatisfy({ $0 &- 0x61 < 26 || marks.contains($0) }) else { return false }
    let words = ["secret", "secrets", "key", "keys", "token", "tokens", "url", "users", "file"]
    return text.utf8.split { marks.contains($0) }.contains { words.contains(String(Substring($0))) }
}

extension String {
    /// The text, or a placeholder if the text may be a URL with a user and password.
    var withoutCredentials: String {
        guard let at = self.utf8.firstIndex(of: UInt8(ascii: "@")) else { return self }
        let before = self[..<at].utf8
        // A `mailto:` URL has no password.
        let mayHold = before.contains(UInt8(ascii: ":")) && !before.drop { $0 == 0x22 }.starts(with: "mailto:".utf8)
        return mayHold || self.utf8.contains("//".utf8) ? "a URL with credentials (not shown)" : self
    }

    /// The URL with its query redacted, because a query may contain a key.
    fileprivate var withoutQuery: String {
        guard let mark = self.utf8.firstIndex(of: UInt8(ascii: "?")) else { return self }
        return "\(self[..<mark])?<redacted>"
    }
}

extension JSONValue {
    /// Reads a plain YAML scalar. Unlike YAML's core schema (YAML 1.2 10.3.2), it reads octal and hexadecimal numbers,
    /// `+1`, `.inf`, `True` and `NULL` as texts.
    init(plain text: String) {
        switch text {
        case "", "~", "null": self = .null
        case "true": self = .bool(true)
        case "false": self = .bool(false)
        default:
            let isNumeric = text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
            let startsRight = text.utf8.first.map { (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E } ?? false
            if isNumeric, startsRight, let value = Int64(text) {
                self = .integer(value)
            } else if isNumeric, startsRight, let value = Double(text), value.isFinite {
                self = .number(value)
            } else {
                self = .string(text)
            }
        }
    }
}
