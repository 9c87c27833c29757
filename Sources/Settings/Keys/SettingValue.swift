internal import AddressIntelligence
internal import Rules
internal import Vocabulary

/// A value that is valid by itself. Whether it fits the other values is checked by `SettingsValidation`.
enum SettingValue: Sendable {
    case boolean(Bool)
    case integer(Int)
    case duration(Duration)
    /// Bytes; nil: `none`.
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
    /// A written value that is wrong and has been reported.
    case invalid
}

/// A value, its origin, and its form for messages.
struct Setting: Sendable {
    var value: SettingValue
    var origin: SettingsOrigin
    /// As the operator wrote it; `<redacted>` for a secret.
    var shown: String
}

/// The settings as written: each value is valid by itself and has its origin.
struct SettingsTree: Sendable {
    var origin: SettingsOrigin
    /// In the order in which they were written.
    private(set) var entries: [(name: String, setting: Setting)] = []

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

    /// The value at a path of names, e.g. `["session", "native", "idle"]`.
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

    func boolean(_ name: String) -> Bool? {
        guard case .boolean(let value)? = self[name]?.value else { return nil }
        return value
    }

    /// The outer nil: absent; the inner: `none`.
    func size(_ name: String) -> Int?? {
        guard case .size(let value)? = self[name]?.value else { return nil }
        return .some(value)
    }

    func text(_ name: String) -> String? {
        guard case .text(let value)? = self[name]?.value else { return nil }
        return value
    }

    func secret(_ name: String) -> Secret? {
        guard case .secret(let value)? = self[name]?.value else { return nil }
        return Secret(value)
    }

    func url(_ name: String) -> PublicURL? {
        guard case .url(let value)? = self[name]?.value else { return nil }
        return value
    }

    func condition(_ name: String) -> RuleCondition? {
        guard case .condition(let value)? = self[name]?.value else { return nil }
        return value
    }

    func document(_ name: String) -> JSONValue? {
        guard case .document(let value)? = self[name]?.value else { return nil }
        return value
    }

    func list(_ name: String) -> [Setting]? {
        guard case .list(let value)? = self[name]?.value else { return nil }
        return value
    }

    func texts(_ name: String) -> [String]? {
        self.list(name)?.compactMap { element in
            guard case .text(let text) = element.value else { return nil }
            return text
        }
    }

    func tree(_ name: String) -> SettingsTree? {
        guard case .tree(let value)? = self[name]?.value else { return nil }
        return value
    }

    func trees(_ name: String) -> [SettingsTree] {
        (self.list(name) ?? []).compactMap { element in
            guard case .tree(let tree) = element.value else { return nil }
            return tree
        }
    }
}
