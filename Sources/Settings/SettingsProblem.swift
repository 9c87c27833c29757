import Vocabulary

/// The place where a value was written.
package enum SettingsOrigin: Sendable, Hashable, CustomStringConvertible {
    case builtIn
    /// Line and column start at 1; columns count Unicode scalars.
    case file(path: String, line: Int, column: Int)
    /// The name of an environment variable.
    case environment(String)

    package var description: String {
        switch self {
        case .builtIn: "default"
        case .file(let path, let line, let column): "\(path):\(line):\(column)"
        case .environment(let name): name
        }
    }

    /// The path of the file, without line or column, or the name of the variable.
    fileprivate var source: String { if case .file(let path, _, _) = self { path } else { self.description } }
}

/// A key of the settings and where it is written, for messages.
struct KeyPlace {
    var origin: SettingsOrigin
    /// The full path, e.g. `hosts[0].routes[2].path`; empty for the whole file.
    var key: String

    /// Returns the place of an element of the list at this key.
    func element(_ index: Int) -> KeyPlace { KeyPlace(origin: self.origin, key: "\(self.key)[\(index)]") }
}

/// One problem of the settings, with enough detail to correct it without a manual.
///
/// No member contains a secret. A value that may be a secret is described (`a text`), not quoted.
package struct SettingsProblem: Sendable, Hashable, CustomStringConvertible {
    package var origin: SettingsOrigin
    /// The full path of the key, e.g. `hosts[0].routes[2].path`; empty for the whole file.
    package var key: String
    package var found: String
    package var allowed: String
    package var fix: String
    /// True if the message states `allowed`. False if the list is long and `fix` is better advice.
    var isAllowedShown = true
    /// True if the settings file cannot be read. The message has no line and column.
    var isOfWholeFile = false

    /// The message, e.g. `sallyport.yaml:7:9: session.idle: found "5 minutes"; allowed: a duration from 1m to 30d;
    /// write 5m`. If `fix` is empty, only the place and `found`: `sallyport.yaml: no such file`.
    package var description: String {
        let place = self.isOfWholeFile ? self.origin.source : "\(self.origin)"
        guard !self.fix.isEmpty else { return "\(place): \(self.found)" }
        let key = self.key.isEmpty ? "" : "\(self.key): "
        let allowed = self.isAllowedShown ? "allowed: \(self.allowed); " : ""
        return "\(place): \(key)found \(self.found); \(allowed)\(self.fix)"
    }
}

/// Problems of the settings. `SettingsLoader.load` sorts them by line and column.
package struct SettingsFailure: Error, Sendable, CustomStringConvertible {
    /// The problems; never empty.
    package let problems: [SettingsProblem]

    package init(_ problems: [SettingsProblem]) {
        self.problems = problems
    }

    /// The messages of the problems, one on each line.
    package var description: String {
        self.problems.map(\.description).joined(separator: "\n")
    }
}

/// Quotes an operator's text for a message: at most 64 characters on one line.
func quoted(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(64) {
        shown.unicodeScalars.append(scalar.value < 0x20 || scalar.value == 0x7F ? "?" : scalar)
    }
    return "\"\(shown)\(text.unicodeScalars.count > 64 ? "..." : "")\""
}

/// Joins words for a message: `a, b or c`.
func alternatives(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "nothing" }
    return words.dropLast().joined(separator: ", ") + " or " + last
}

/// Returns advice for a name that is not in `names`: the most similar name, otherwise `fix`.
func suggestion(for name: String, among names: [String], else fix: String) -> String {
    Spelling.nearest(to: name, in: names).map { "did you mean \($0)?" } ?? fix
}
