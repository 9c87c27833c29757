import Vocabulary

/// Converts a client between a JSON object and the form of the settings file.
struct ClientObject {
    /// Keys that name files. Only the settings file may contain them.
    static let fileKeys = ["client_secret_file", "jwks_file"]

    /// Members of Auth0's object that resemble a key without being a misspelling of it.
    private static let lookalikes: Set<String> = [
        "api_type", "client_aliases", "client_name", "client_secret", "expiration_type", "infinite_idle_token_lifetime",
        "infinite_token_lifetime", "oidc_backchannel_logout", "web_origins",
    ]

    /// The table of keys of the whole file.
    private let file: Section
    private(set) var problems: [SettingsProblem] = []

    init(file: Section) {
        self.file = file
    }

    /// Reads the object as a mapping with the keys of `clients`. Unknown members are ignored, but a probable
    /// misspelling of a key is a problem.
    mutating func tree(of members: JSONValue) -> SettingsTree {
        let node = self.node(members, .section(.client), path: "")
        var decoder = SettingsDecoder(YAMLDocument(root: node, path: ""), file: self.file)
        let tree = decoder.tree(of: .client)
        self.problems += decoder.problems
        return tree
    }

    /// Returns the object of a client in the file, without keys that name files.
    static func members(of tree: SettingsTree) -> JSONValue {
        var members = Self.object(tree)
        for key in Self.fileKeys { members[key] = nil }
        return .object(members)
    }

    /// Returns the default of each member that has the same default for every client.
    static func defaults(of section: Section) -> JSONValue {
        var members: [String: JSONValue] = [:]
        for key in section.keys where !Self.fileKeys.contains(key.name) {
            switch key.kind {
            case .section(let below): members[key.name] = self.defaults(of: below)
            case .list where key.fallback == "none": members[key.name] = []
            case .boolean, .duration, .choice, .list:
                guard let fallback = key.fallback, let value = try? key.kind.read(fallback) else { break }
                members[key.name] = Self.json(value)
            default: break
            }
        }
        return .object(members.filter { $0.value != .object([:]) })
    }

    // MARK: From the file

    private static func object(_ tree: SettingsTree) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for (name, setting) in tree.entries { members[name] = self.json(setting.value) }
        return members
    }

    private static func json(_ value: SettingValue) -> JSONValue? {
        switch value {
        case .boolean(let value): .bool(value)
        case .integer(let value): .integer(Int64(value))
        // Auth0's objects have durations in seconds.
        case .duration(let value):
            value.components.attoseconds == 0 ? .integer(value.components.seconds) : .string(Quantity.text(value))
        case .text(let value): .string(value)
        case .list(let values): .array(values.compactMap { self.json($0.value) })
        case .tree(let tree): .object(self.object(tree))
        case .document(let value): value
        default: nil
        }
    }

    // MARK: To the decoder

    private mutating func node(_ value: JSONValue, _ kind: SettingKind, path: String) -> YAMLNode {
        switch (value, kind) {
        case (.object(let members), .section(let section)):
            return self.mapping(members, section, path: path)
        case (.array(let elements), .list(let element)):
            return YAMLNode(
                content: .sequence(
                    elements.enumerated().map { self.node($1, element, path: "\(path)[\($0)]") }
                )
            )
        case (.array(let elements), .sections(let section)):
            return self.node(.array(elements), .list(.section(section)), path: path)
        case (.integer(let seconds), .duration): return Self.plain("\(seconds)s")
        case (.bool, .text), (.integer, .text), (.number, .text), (.bool, .choice), (.integer, .choice),
            (.number, .choice):
            self.report(path, found: "a value without quotes", allowed: kind.allowed, fix: "write a text in quotes")
            return Self.plain("")
        default: return Self.node(value)
        }
    }

    private mutating func mapping(_ members: [String: JSONValue], _ section: Section, path: String) -> YAMLNode {
        let names = section.keys.map(\.name).filter { !Self.fileKeys.contains($0) }
        var pairs: [(key: YAMLNode, value: YAMLNode)] = []
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let below = path.isEmpty ? name : "\(path).\(name)"
            if let key = section[name], !Self.fileKeys.contains(name) {
                pairs.append((Self.quoted(name), self.node(value, key.kind, path: below)))
            } else if Self.fileKeys.contains(name) {
                self.report(
                    below,
                    found: "the name of a file",
                    allowed: alternatives(names),
                    fix: "write it in the settings file: this API cannot read files"
                )
            } else if !Self.lookalikes.contains(name), let nearest = Spelling.nearest(to: name, in: names) {
                self.report(
                    isKeyLike(name) ? below : "\(path).(not shown)",
                    found: "an unknown member",
                    allowed: alternatives(names),
                    fix: "did you mean \(nearest)?"
                )
            }
        }
        return YAMLNode(content: .mapping(pairs))
    }

    private mutating func report(_ key: String, found: String, allowed: String, fix: String) {
        self.problems.append(
            SettingsProblem(origin: .builtIn, key: key, found: found, allowed: allowed, fix: fix)
        )
    }

    /// Converts a value as it is. The decoder rejects a value of the wrong type.
    private static func node(_ value: JSONValue) -> YAMLNode {
        switch value {
        case .null: self.plain("null")
        case .bool(let value): self.plain(value ? "true" : "false")
        case .integer(let value): self.plain(String(value))
        case .number(let value): self.plain(String(value))
        case .string(let value): self.quoted(value)
        case .array(let values): YAMLNode(content: .sequence(values.map { self.node($0) }))
        case .object(let members):
            YAMLNode(
                content: .mapping(
                    members.sorted { $0.key < $1.key }.map { (self.quoted($0.key), self.node($0.value)) }
                )
            )
        }
    }

    private static func plain(_ text: String) -> YAMLNode { YAMLNode(content: .scalar(text, .plain)) }

    private static func quoted(_ text: String) -> YAMLNode { YAMLNode(content: .scalar(text, .doubleQuoted)) }
}
