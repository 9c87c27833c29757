/// A key that an operator may write.
///
/// All keys are in the table `Section.file`. The decoder, the environment overlay, `check`, the reference file and the
/// JSON schema use this table.
package struct SettingsKey: Sendable {
    package var name: String
    package var kind: SettingKind
    /// The default as an operator would write it, or in a few words; `nil` if the key has no default.
    package var fallback: String?
    package var isRequired: Bool
    /// A description of what the key does, in a few sentences.
    package var purpose: String
    /// The name of the key's environment variable; `nil` for the name that follows from the key's path.
    package var environmentName: String?
    /// The `SettingPlace` of the value; `nil` if `SettingsBuilder` reads the value itself.
    private(set) var place: (any Sendable)?

    init(
        _ name: String,
        _ kind: SettingKind,
        default fallback: String? = nil,
        required isRequired: Bool = false,
        environment environmentName: String? = nil,
        _ purpose: String
    ) {
        self.name = name
        self.kind = kind
        self.fallback = fallback
        self.isRequired = isRequired
        self.purpose = purpose
        self.environmentName = environmentName
    }

    /// Creates a key whose value is stored at `path`.
    ///
    /// - Parameter fallback: The default in words; `nil` to use the initial value at `path`.
    init<Record: SettingsRecord, Value: SettingScalar>(
        _ name: String,
        at path: any WritableKeyPath<Record, Value> & Sendable,
        _ kind: SettingKind,
        default fallback: String? = nil,
        _ purpose: String
    ) {
        let fallback = fallback ?? Record.initial[keyPath: path].written(as: kind)
        self.init(name, kind, default: fallback, purpose)
        self.place = SettingPlace(path)
    }

    /// Creates a key whose kind follows from the type of its value.
    init<Record: SettingsRecord, Value: SettingChoice>(
        _ name: String,
        at path: any WritableKeyPath<Record, Value> & Sendable,
        default fallback: String? = nil,
        _ purpose: String
    ) {
        self.init(name, at: path, Value.kind, default: fallback, purpose)
    }
}

/// The type and range of a value.
package indirect enum SettingKind: Sendable {
    case boolean
    case integer(ClosedRange<Int>)
    /// A duration, or `off`. `off` is stored as zero.
    case duration(ClosedRange<Duration>, orOff: Bool = false)
    case size(ClosedRange<Int>, orNone: Bool)
    case choice([String])
    case text(TextRule)
    /// Text that is never shown.
    case secret(TextRule)
    /// A file to read. If `isSecret`, the text is shown only if it looks like a path: it may be the secret itself.
    case path(isSecret: Bool)
    /// A list. A single element may be written without brackets.
    case list(SettingKind)
    /// A mapping with the keys of a section.
    case section(Section)
    /// A list of mappings with the keys of a section.
    case sections(Section)
    /// A mapping with the keys of a section. The value of the named key alone is a shorthand for the mapping.
    case shorthand(String, for: Section)
    /// A mapping of the operator's own names to mappings with the keys of a section.
    case named(Section)
    /// A mapping of the operator's own names to values of one kind.
    case pairs(name: TextRule, value: SettingKind)
    /// A mapping with any content. Only the app interprets it.
    case document

    /// The type's name in messages and in the reference.
    package var name: String {
        switch self {
        case .boolean: "boolean"
        case .integer: "integer"
        case .duration(_, let orOff): orOff ? "duration or off" : "duration"
        case .size(_, let orNone): orNone ? "size or none" : "size"
        case .choice(let words): words.joined(separator: " | ")
        case .text(let rule), .secret(let rule): rule.name
        case .path: "path"
        case .list(let element): "list of \(element.name)"
        case .section: "mapping"
        case .sections: "list of mappings"
        case .shorthand(let name, _): "\(name) or mapping"
        case .named: "mapping of name to mapping"
        case .pairs(let name, let value): "mapping of \(name.name) to \(value.name)"
        case .document: "any mapping"
        }
    }

    /// The bounds as an operator would write them; `nil` if the kind has no bounds.
    package var range: String? {
        switch self {
        case .integer(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .duration(let range, _): "\(Quantity.text(range.lowerBound)) to \(Quantity.text(range.upperBound))"
        case .size(let range, _):
            "\(Quantity.text(bytes: range.lowerBound)) to \(Quantity.text(bytes: range.upperBound))"
        default: nil
        }
    }

    /// The allowed values, in words for a message.
    var allowed: String {
        switch self {
        case .boolean: "true or false"
        case .integer: "a whole number from \(self.range ?? "0")"
        case .duration(_, let orOff): "a duration from \(self.range ?? "0s")\(orOff ? ", or off" : "")"
        case .size(_, let orNone): "a size from \(self.range ?? "0")\(orNone ? ", or none" : "")"
        case .choice(let words): alternatives(words)
        case .text(let rule), .secret(let rule): rule.allowed
        case .path: "the path of a file that can be read"
        case .list(let element): "a list, each element \(element.allowed)"
        case .section(let section): "a mapping with the keys \(section.names)"
        case .sections: "a list of mappings"
        case .shorthand(let name, let section):
            "\(section[name]?.kind.allowed ?? name), or a mapping with the keys \(section.names)"
        case .named: "a mapping of names to mappings"
        case .pairs(let name, let value): "a mapping of \(name.name) to \(value.name)"
        case .document: "a mapping"
        }
    }

    var isSecret: Bool {
        switch self {
        case .secret, .path(isSecret: true): true
        case .list(let element): element.isSecret
        default: false
        }
    }

    /// The section of the mappings in a value, and the path step to its keys (empty, `[]` or `.*`); `nil` if there is
    /// none.
    package var section: (section: Section, step: String)? {
        switch self {
        case .section(let section), .shorthand(_, let section): (section, "")
        case .sections(let section), .list(.shorthand(_, let section)): (section, "[]")
        case .named(let section): (section, ".*")
        default: nil
        }
    }
}

/// The keys of a mapping.
package struct Section: Sendable {
    package var keys: [SettingsKey]
    /// True if the mapping turns a feature on. Without the mapping, the defaults of its keys have no effect.
    package var isOption: Bool
    /// The names of the keys, for a message.
    let names: String

    /// - Parameter names: The text for messages that replaces a long list of names.
    init(_ keys: [SettingsKey], isOption: Bool = false, names: String? = nil) {
        self.keys = keys
        self.isOption = isOption
        self.names = names ?? alternatives(keys.map(\.name))
    }

    package subscript(name: String) -> SettingsKey? {
        self.keys.first { $0.name == name }
    }

    /// Returns every key below this mapping with its path, e.g. `hosts[].routes[].path`, parents first.
    package func allKeys(below path: String = "") -> [(path: String, key: SettingsKey)] {
        self.keys.flatMap { key in
            let path = path.isEmpty ? key.name : "\(path).\(key.name)"
            let below = key.kind.section.map { $0.section.allKeys(below: path + $0.step) } ?? []
            return [(path, key)] + below
        }
    }
}
