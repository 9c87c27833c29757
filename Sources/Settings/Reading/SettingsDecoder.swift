import Vocabulary

/// Turns YAML nodes into settings by the table of keys, and collects all problems.
struct SettingsDecoder {
    let document: YAMLDocument
    /// The table of the whole file, to find the right place of a misplaced key.
    private let file: Section
    /// The keys that environment variables set. They may be missing in the document.
    private let elsewhere: Set<String>
    private(set) var problems: [SettingsProblem] = []

    init(_ document: YAMLDocument, file: Section, elsewhere: Set<String> = []) {
        self.document = document
        self.file = file
        self.elsewhere = elsewhere
    }

    /// Reads the file as a mapping with the keys of `section`. A key without a readable value becomes
    /// `invalid`.
    mutating func tree(of section: Section) -> SettingsTree {
        guard let root = self.document.root, !root.isNull else {
            return SettingsTree(origin: .file(path: self.document.path, line: 1, column: 1))
        }
        return self.tree(root, section, key: "", depth: 0)
    }

    /// Reads the file as a list of mappings with the keys of `section`.
    mutating func trees(of section: Section, key: String) -> [SettingsTree] {
        guard let root = self.document.root, !root.isNull else { return [] }
        guard let list = self.value(root, .sections(section), key: key, depth: 0), case .list(let elements) = list.value
        else { return [] }
        return elements.trees(below: key)
    }

    // MARK: Mappings

    private mutating func tree(_ node: YAMLNode, _ section: Section, key: String, depth: Int) -> SettingsTree {
        var tree = SettingsTree(origin: self.origin(node))
        for (name, keyNode, valueNode) in self.pairs(node, key: key, allowed: SettingKind.section(section).allowed) {
            let path = key.isEmpty ? name : "\(key).\(name)"
            guard let entry = section[name] else {
                self.reportUnknown(name, keyNode, path: path, in: section)
                continue
            }
            if let setting = self.value(valueNode, entry.kind, key: path, depth: depth + 1) {
                tree[name] = setting
            } else {
                // The key stays present. Otherwise, it would be reported as missing, too.
                tree[name] = Setting(value: .invalid, origin: self.origin(valueNode), shown: "")
            }
        }
        for entry in section.keys where entry.isRequired && tree[entry.name] == nil {
            let path = key.isEmpty ? entry.name : "\(key).\(entry.name)"
            guard !self.elsewhere.contains(path) else { continue }
            self.report(
                node,
                path,
                found: "nothing",
                allowed: entry.kind.allowed,
                fix: "add the key \(entry.name): \(entry.purpose)"
            )
        }
        return tree
    }

    /// Returns the pairs of a mapping. Reports keys that are not texts, and repeated keys. The last value applies.
    private mutating func pairs(_ node: YAMLNode, key: String, allowed: String) -> [(String, YAMLNode, YAMLNode)] {
        let shownKey = key.isEmpty ? topLevel : key
        guard case .mapping(let mapping) = node.content else {
            self.report(
                node,
                shownKey,
                found: node.kind,
                allowed: allowed,
                fix: "write key: value, one per line, indented"
            )
            return []
        }
        var pairs: [(name: String, key: YAMLNode, value: YAMLNode)] = []
        var places: [String: Int] = [:]
        for (keyNode, valueNode) in mapping {
            guard case .scalar(let name, _) = keyNode.content else {
                self.report(
                    keyNode,
                    shownKey,
                    found: "a key that is \(keyNode.kind)",
                    allowed: allowed,
                    fix: "write a name"
                )
                continue
            }
            guard let first = places[name] else {
                places[name] = pairs.count
                pairs.append((name, keyNode, valueNode))
                continue
            }
            let shown = isKeyLike(name) ? name : "(not shown)"
            self.report(
                keyNode,
                key.isEmpty ? shown : "\(key).\(shown)",
                found: "the key a second time",
                allowed: "each key once",
                fix: "remove one: the other is at \(self.origin(pairs[first].key))"
            )
            pairs[first] = (name, keyNode, valueNode)
        }
        return pairs
    }

    private mutating func reportUnknown(_ name: String, _ node: YAMLNode, path: String, in section: Section) {
        if let sentence = MisplacedKeys.sentence(for: path) {
            self.report(
                node,
                path,
                found: "a key in the wrong place",
                allowed: section.names,
                fix: sentence,
                isAllowedShown: false
            )
            return
        }
        var fix = "remove it"
        // The keys of the section are listed only if there is no better advice.
        var isAllowedShown = false
        if let hint = MisplacedKeys.secretHint(for: name) {
            fix = hint
        } else if let sentence = ForeignKeys.sentence(for: name, at: path) {
            fix = sentence
        } else if let nearest = Spelling.nearest(to: name, in: section.keys.map(\.name)) {
            fix = "did you mean \(nearest)?"
        } else if path.hasSuffix("require.\(name)") {
            fix = "write one of these keys: without a requirement, every signed-in user passes"
            isAllowedShown = true
        } else if let other = self.file.allKeys().first(where: { $0.key.name == name }) {
            fix = "move it: the key is \(other.path)"
        } else {
            isAllowedShown = true
        }
        let isShown = isKeyLike(name)
        self.report(
            node,
            isShown ? path : String(path.dropLast(name.count)) + "(not shown)",
            found: "an unknown key",
            allowed: section.names,
            fix: fix,
            isAllowedShown: isAllowedShown
        )
    }

    // MARK: Values

    private mutating func value(_ node: YAMLNode, _ kind: SettingKind, key: String, depth: Int) -> Setting? {
        guard self.isShallow(node, key, depth: depth, allowed: kind.allowed) else { return nil }
        switch kind {
        case .section(let section):
            return self.compound(node, .tree(self.tree(node, section, key: key, depth: depth)))
        case .sections(let section):
            guard let nodes = self.elements(node, kind, key: key) else { return nil }
            let list = nodes.enumerated().map { index, element in
                self.compound(element, .tree(self.tree(element, section, key: "\(key)[\(index)]", depth: depth + 1)))
            }
            return self.compound(node, .list(list))
        case .shorthand(let name, let section):
            guard case .scalar = node.content, !node.isNull, let entry = section[name] else {
                return self.compound(node, .tree(self.tree(node, section, key: key, depth: depth)))
            }
            return self.scalar(node, entry.kind, key: key).map {
                Setting(value: .tree(SettingsTree(standingFor: $0, named: name)), origin: $0.origin, shown: $0.shown)
            }
        case .list(let elementKind):
            let isSingle = Self.stands(node, for: elementKind)
            guard let nodes = isSingle ? [node] : self.elements(node, kind, key: key) else { return nil }
            let list = nodes.enumerated().compactMap { index, element in
                self.value(element, elementKind, key: isSingle ? key : "\(key)[\(index)]", depth: depth + 1)
            }
            return list.count == nodes.count ? self.compound(node, .list(list)) : nil
        case .named(let section):
            return self.mapping(node, kind, names: .clientID, key: key) { decoder, path, value in
                decoder.compound(value, .tree(decoder.tree(value, section, key: path, depth: depth + 1)))
            }
        case .pairs(let names, let values):
            return self.mapping(node, kind, names: names, key: key) { decoder, path, value in
                decoder.value(value, values, key: path, depth: depth + 1)
            }
        case .document:
            guard case .mapping = node.content else {
                self.report(
                    node,
                    key,
                    found: node.kind,
                    allowed: kind.allowed,
                    fix: "write key: value pairs"
                )
                return nil
            }
            return self.json(node, key: key, depth: depth).map {
                Setting(value: .document($0), origin: self.origin(node), shown: "{...}")
            }
        default:
            return self.scalar(node, kind, key: key)
        }
    }

    /// Whether the node is a single element of a list, written without brackets.
    private static func stands(_ node: YAMLNode, for element: SettingKind) -> Bool {
        switch node.content {
        case .scalar: !node.isNull
        case .mapping: if case .shorthand = element { true } else { false }
        case .sequence: false
        }
    }

    /// Returns true if the value is not nested too deeply. Otherwise, reports the value.
    private mutating func isShallow(_ node: YAMLNode, _ key: String, depth: Int, allowed: String) -> Bool {
        guard depth >= YAMLGuard.maxDepth else { return true }
        self.report(
            node,
            key,
            found: "more than \(YAMLGuard.maxDepth) levels",
            allowed: allowed,
            fix: "use fewer levels"
        )
        return false
    }

    private mutating func elements(_ node: YAMLNode, _ kind: SettingKind, key: String) -> [YAMLNode]? {
        guard case .sequence(let elements) = node.content else {
            self.report(
                node,
                key,
                found: node.kind,
                allowed: kind.allowed,
                fix: "write a list: one element per line after \"- \""
            )
            return nil
        }
        return elements
    }

    /// Reads a mapping whose names the operator chooses.
    private mutating func mapping(
        _ node: YAMLNode,
        _ kind: SettingKind,
        names: TextRule,
        key: String,
        _ read: (inout SettingsDecoder, String, YAMLNode) -> Setting?
    ) -> Setting? {
        var tree = SettingsTree(origin: self.origin(node))
        for (name, keyNode, valueNode) in self.pairs(node, key: key, allowed: kind.allowed) {
            let path = "\(key).\(isKeyLike(name) ? name : "(not shown)")"
            do throws(SyntaxFault) {
                _ = try names.read(name)
            } catch {
                self.report(
                    keyNode,
                    path,
                    found: "a name that is not a valid \(names.name)",
                    allowed: names.allowed,
                    fix: error.fix
                )
            }
            tree[name] = read(&self, path, valueNode)
        }
        return self.compound(node, .tree(tree))
    }

    private mutating func scalar(_ node: YAMLNode, _ kind: SettingKind, key: String) -> Setting? {
        guard case .scalar(let text, let style) = node.content, !node.isNull else {
            let fix = if case .scalar = node.content { "write a value, or remove the key" } else { "write one value" }
            self.report(node, key, found: node.kind, allowed: kind.allowed, fix: fix)
            return nil
        }
        let isQuoted = style != .plain
        let found = kind.found(text)
        switch kind {
        case .boolean where isQuoted, .integer where isQuoted:
            self.report(node, key, found: "the text \(found)", allowed: kind.allowed, fix: "write it without quotes")
            return nil
        default: break
        }
        do throws(SyntaxFault) {
            return Setting(
                value: try kind.read(text),
                origin: self.origin(node),
                shown: kind.shown(text)
            )
        } catch {
            self.problems.append(
                SettingsProblem(
                    origin: self.origin(node.mark, text, style, at: error.place?.offset),
                    key: key,
                    found: error.place?.found ?? found,
                    allowed: error.place?.allowed ?? kind.allowed,
                    fix: error.fix
                )
            )
            return nil
        }
    }

    /// Reads a value of any shape (`JSONValue(plain:)`).
    private mutating func json(_ node: YAMLNode, key: String, depth: Int) -> JSONValue? {
        guard self.isShallow(node, key, depth: depth, allowed: "fewer levels") else { return nil }
        switch node.content {
        case .scalar(let text, let style):
            return style == .plain ? JSONValue(plain: text) : .string(text)
        case .sequence(let elements):
            return .array(elements.compactMap { self.json($0, key: key, depth: depth + 1) })
        case .mapping:
            var members: [String: JSONValue] = [:]
            for (name, _, value) in self.pairs(node, key: key, allowed: "a mapping") {
                members[name] = self.json(
                    value,
                    key: "\(key).\(isKeyLike(name) ? name : "(not shown)")",
                    depth: depth + 1
                )
            }
            return .object(members)
        }
    }

    // MARK: Places and words

    private func origin(_ node: YAMLNode) -> SettingsOrigin {
        self.origin(node.mark)
    }

    private func origin(_ mark: YAMLNode.Mark) -> SettingsOrigin {
        .file(path: self.document.path, line: mark.line, column: mark.column)
    }

    /// Returns the place of the character at `offset` in a one-line text at `mark`; `mark` itself if `offset` is `nil`.
    private func origin(
        _ mark: YAMLNode.Mark,
        _ text: String,
        _ style: YAMLNode.Style,
        at offset: Int?
    ) -> SettingsOrigin {
        guard let offset else { return self.origin(mark) }
        let before = text.unicodeScalars.prefix(offset)
        // The additional characters in the file: the opening quote, and one for each escaped quote or backslash.
        let extra =
            switch style {
            case .plain: 0
            case .singleQuoted: 1 + before.count { $0 == "'" }
            case .doubleQuoted: 1 + before.count { $0 == "\"" || $0 == "\\" }
            }
        return self.origin(YAMLNode.Mark(line: mark.line, column: mark.column + before.count + extra))
    }

    private func compound(_ node: YAMLNode, _ value: SettingValue) -> Setting {
        Setting(value: value, origin: self.origin(node), shown: "")
    }

    private mutating func report(
        _ node: YAMLNode,
        _ key: String,
        found: String,
        allowed: String,
        fix: String,
        isAllowedShown: Bool = true
    ) {
        self.problems.append(
            SettingsProblem(
                origin: self.origin(node),
                key: key,
                found: found,
                allowed: allowed,
                fix: fix,
                isAllowedShown: isAllowedShown
            )
        )
    }
}
