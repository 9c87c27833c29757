import AddressIntelligence
import Rules
import Vocabulary

/// A value that is valid for its key, or `invalid`. `SettingsBuilder` checks whether the value fits other values.
enum SettingValue: Sendable {
    case boolean(Bool)
    case integer(Int)
    case duration(Duration)
    /// A size in bytes; `nil` for `none`.
    case size(Int?)
    case text(String)
    case secret(String)
    case address(ListenAddress)
    case block(CIDRBlock)
    case url(PublicURL)
    case condition(RuleCondition)
    case list([Setting])
    case tree(SettingsTree)
    case document(JSONValue)
    /// A written value that is invalid and has been reported.
    case invalid
}

/// A value, its origin, and its form for messages.
struct Setting: Sendable {
    var value: SettingValue
    var origin: SettingsOrigin
    /// The value as the operator wrote it; `<redacted>` for a secret. Empty for a mapping or a list.
    var shown: String

    /// The value as the operator wrote it, including mappings and lists.
    var written: String {
        switch self.value {
        case .list(let elements): "[\(elements.map(\.written).joined(separator: ", "))]"
        case .tree(let tree) where self.shown.isEmpty:
            "{\(tree.entries.map { "\($0.name): \($0.setting.written)" }.joined(separator: ", "))}"
        default: self.shown
        }
    }

    /// Returns the value with another origin.
    func at(_ origin: SettingsOrigin) -> Setting {
        guard case .tree(let tree) = self.value else {
            return Setting(value: self.value, origin: origin, shown: self.shown)
        }
        var moved = SettingsTree(origin: origin)
        for (name, setting) in tree.entries { moved[name] = setting.at(origin) }
        return Setting(value: .tree(moved), origin: origin, shown: self.shown)
    }
}

/// A mapping of the settings as written, with the origin of each value.
struct SettingsTree: Sendable {
    var origin: SettingsOrigin
    /// The path of the mapping, e.g. `hosts[0]`; empty for the whole file.
    var key = ""
    /// The values in the order in which they were written.
    private(set) var entries: [(name: String, setting: Setting)] = []

    init(origin: SettingsOrigin, key: String = "") {
        self.origin = origin
        self.key = key
    }

    /// Creates the mapping `{name: setting}`, for which `setting` alone is a shorthand.
    init(standingFor setting: Setting, named name: String) {
        self.init(origin: setting.origin)
        self[name] = setting
    }

    subscript(name: String) -> Setting? {
        get { self.entries.first { $0.name == name }?.setting }
        set {
            let index = self.entries.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let setting?): self.entries[index].setting = setting
            case (let index?, nil): self.entries.remove(at: index)
            case (nil, let setting?): self.entries.append((name, setting))
            case (nil, nil): break
            }
        }
    }

    /// Returns the value at a path of names, e.g. `["session", "native", "idle"]`.
    func setting(at path: some Collection<String>) -> Setting? {
        guard let name = path.first else { return nil }
        guard path.count > 1 else { return self[name] }
        return self.tree(name)?.setting(at: path.dropFirst())
    }

    /// Sets the value at a path and creates the mappings that lead to it.
    mutating func set(_ setting: Setting, at path: some Collection<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            self[name] = setting
            return
        }
        var below = self.tree(name) ?? SettingsTree(origin: setting.origin)
        below.set(setting, at: path.dropFirst())
        let origin = self[name]?.origin ?? setting.origin
        self[name] = Setting(value: .tree(below), origin: origin, shown: "")
    }

    // MARK: Values

    func boolean(_ name: String) -> Bool? { self.scalar(name) }
    func text(_ name: String) -> String? { self.scalar(name) }
    func texts(_ name: String) -> [String]? { self.scalar(name) }
    func url(_ name: String) -> PublicURL? { self.scalar(name) }

    /// Returns a size. The outer `nil` means that the key is absent, the inner `nil` means `none`.
    func size(_ name: String) -> Int?? { self.scalar(name) }

    private func scalar<Scalar: SettingScalar>(_ name: String) -> Scalar? {
        self[name].flatMap { Scalar.read($0.value) }
    }

    func secret(_ name: String) -> Secret? {
        if case .secret(let value)? = self[name]?.value { Secret(value) } else { nil }
    }

    func condition(_ name: String) -> RuleCondition? {
        if case .condition(let value)? = self[name]?.value { value } else { nil }
    }

    func document(_ name: String) -> JSONValue? {
        if case .document(let value)? = self[name]?.value { value } else { nil }
    }

    func list(_ name: String) -> [Setting]? {
        if case .list(let value)? = self[name]?.value { value } else { nil }
    }

    func tree(_ name: String) -> SettingsTree? {
        guard case .tree(var tree)? = self[name]?.value else { return nil }
        tree.key = self.key(of: name)
        return tree
    }

    func trees(_ name: String) -> [SettingsTree] { (self.list(name) ?? []).trees(below: self.key(of: name)) }

    /// Returns the mappings at a key: one mapping, or all mappings of a list or of named mappings.
    func mappings(at key: SettingsKey) -> [SettingsTree] {
        switch key.kind {
        case .section: return [self.tree(key.name)].compactMap(\.self)
        case .sections: return self.trees(key.name)
        case .named:
            let named = self.tree(key.name)
            return (named?.entries ?? []).compactMap { named?.tree($0.name) }
        default: return []
        }
    }

    /// Returns the names and texts of a mapping in which the operator chooses the names.
    func pairs(_ name: String) -> [(name: String, text: String)] {
        (self.tree(name)?.entries ?? []).compactMap { name, setting in
            String.read(setting.value).map { (name, $0) }
        }
    }

    // MARK: Places

    /// Returns the full path of a key in this mapping.
    func key(of name: String) -> String { self.key.isEmpty ? name : "\(self.key).\(name)" }

    /// The place of this mapping, for messages.
    var place: KeyPlace { KeyPlace(origin: self.origin, key: self.key) }

    /// Returns the place of a key, for messages. A missing key has the origin of `other`, otherwise of the mapping.
    func place(of name: String, or other: String? = nil) -> KeyPlace {
        let setting = self[name] ?? other.flatMap { self[$0] }
        return KeyPlace(origin: setting?.origin ?? self.origin, key: self.key(of: name))
    }
}

extension [Setting] {
    /// Returns the mappings in this list.
    ///
    /// - Parameter key: The path of the list.
    func trees(below key: String) -> [SettingsTree] {
        self.enumerated().compactMap { index, element in
            guard case .tree(var tree) = element.value else { return nil }
            tree.key = "\(key)[\(index)]"
            return tree
        }
    }
}
