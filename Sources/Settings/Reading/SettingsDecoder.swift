internal import Vocabulary
internal import Yams

/// Reads nodes by the table of keys, and collects every problem instead of stopping at the first.
struct SettingsDecoder {
    let document: YAMLDocument
    /// Keys that variables set, so they may be missing in the document.
    private let elsewhere: Set<String>
    private(set) var problems: [SettingsProblem] = []

    init(_ document: YAMLDocument, elsewhere: Set<String> = []) {
        self.document = document
        self.elsewhere = elsewhere
    }

    /// The file as a mapping with `section`'s keys. Values with a problem are left out.
    mutating func tree(of section: Section) -> SettingsTree {
        guard let root = self.document.root, !Self.isNull(root) else {
            return SettingsTree(origin: .file(path: self.document.path, line: 1, column: 1))
        }
        return self.tree(root, section, key: "", depth: 0)
    }

    /// The file as a list of such mappings.
    mutating func trees(of section: Section, key: String) -> [SettingsTree] {
        guard let root = self.document.root, !Self.isNull(root) else { return [] }
        guard let list = self.value(root, .sections(section), key: key, depth: 0), case .list(let elements) = list.value
        else { return [] }
        return elements.compactMap { element in
            guard case .tree(let tree) = element.value else { return nil }
            return tree
        }
    }

    // MARK: Mappings

    private mutating func tree(_ node: Node, _ section: Section, key: String, depth: Int) -> SettingsTree {
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
                // Kept as present, so that it is not also reported as missing.
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
                mend: "add the key \(entry.name): \(entry.purpose)"
            )
        }
        return tree
    }

    /// The pairs of a mapping whose keys are texts. A repeated name is reported, and its last value counts.
    private mutating func pairs(_ node: Node, key: String, allowed: String) -> [(String, Node, Node)] {
        let shownKey = key.isEmpty ? topLevel : key
        guard case .mapping(let mapping) = node else {
            self.report(
                node,
                shownKey,
                found: Self.kindName(node),
                allowed: allowed,
                mend: "write key: value, one a line, indented"
            )
            return []
        }
        var pairs: [(name: String, key: Node, value: Node)] = []
        for (keyNode, valueNode) in mapping {
            guard case .scalar(let scalar) = keyNode else {
                self.report(
                    keyNode,
                    shownKey,
                    found: "a key that is \(Self.kindName(keyNode))",
                    allowed: allowed,
                    mend: "write a name"
                )
                continue
            }
            let name = self.document.repeatedNames[scalar.string] ?? scalar.string
            let first = pairs.firstIndex { $0.name == name }
            pairs.append((name, keyNode, valueNode))
            guard let first else { continue }
            let shown = isKeyLike(name) ? name : "(not shown)"
            self.report(
                keyNode,
                key.isEmpty ? shown : "\(key).\(shown)",
                found: "the key a second time",
                allowed: "each key once",
                mend: "remove one: the other is at \(self.origin(pairs[first].key))"
            )
            pairs.remove(at: first)
        }
        return pairs
    }

    private mutating func reportUnknown(_ name: String, _ node: Node, path: String, in section: Section) {
        if let sentence = LaterKeys.sentence(for: path) {
            self.report(
                node,
                path,
                found: "a feature that this version does not have",
                allowed: section.names,
                mend: sentence
            )
            return
        }
        var mend = "remove it"
        if let hint = LaterKeys.secretHint(for: name) {
            mend = hint
        } else if let nearest = Spelling.nearest(to: name, in: section.keys.map(\.name)) {
            mend = "did you mean \(nearest)?"
        } else if path.hasSuffix("require.\(name)") {
            mend = "write one of those keys: without the rule every user who is signed in passes"
        } else if let other = Section.file.allKeys().first(where: { $0.key.name == name }) {
            mend = "move it: the key is \(other.path)"
        }
        let isShown = isKeyLike(name)
        self.report(
            node,
            isShown ? path : String(path.dropLast(name.count)) + "(not shown)",
            found: "an unknown key",
            allowed: section.names,
            mend: mend
        )
    }

    // MARK: Values

    private mutating func value(_ node: Node, _ kind: SettingKind, key: String, depth: Int) -> Setting? {
        guard depth < YAMLGuard.maxDepth else {
            self.report(
                node,
                key,
                found: "more than \(YAMLGuard.maxDepth) levels",
                allowed: kind.allowed,
                mend: "nest less"
            )
            return nil
        }
        switch kind {
        case .section(let section):
            return self.compound(node, .tree(self.tree(node, section, key: key, depth: depth)))
        case .sections(let section):
            guard let nodes = self.elements(node, kind, key: key) else { return nil }
            let list = nodes.enumerated().map { index, element in
                self.compound(element, .tree(self.tree(element, section, key: "\(key)[\(index)]", depth: depth + 1)))
            }
            return self.compound(node, .list(list))
        case .list(let elementKind):
            let isSingle = if case .scalar = node { !Self.isNull(node) } else { false }
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
                decoder.value(value, .text(values), key: path, depth: depth + 1)
            }
        case .document:
            guard case .mapping = node else {
                self.report(
                    node,
                    key,
                    found: Self.kindName(node),
                    allowed: kind.allowed,
                    mend: "write key: value pairs"
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

    private mutating func elements(_ node: Node, _ kind: SettingKind, key: String) -> [Node]? {
        guard case .sequence(let sequence) = node else {
            self.report(
                node,
                key,
                found: Self.kindName(node),
                allowed: kind.allowed,
                mend: "write a list: one element a line after \"- \""
            )
            return nil
        }
        return Array(sequence)
    }

    /// A mapping with names that the operator chooses.
    private mutating func mapping(
        _ node: Node,
        _ kind: SettingKind,
        names: TextRule,
        key: String,
        _ read: (inout SettingsDecoder, String, Node) -> Setting?
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
                    mend: error.mend
                )
            }
            tree[name] = read(&self, path, valueNode)
        }
        return self.compound(node, .tree(tree))
    }

    private mutating func scalar(_ node: Node, _ kind: SettingKind, key: String) -> Setting? {
        guard case .scalar(let scalar) = node, !Self.isNull(node) else {
            let mend = if case .scalar = node { "write a value, or remove the key" } else { "write one value" }
            self.report(node, key, found: Self.kindName(node), allowed: kind.allowed, mend: mend)
            return nil
        }
        let isQuoted = scalar.style != .plain
        let found = kind.isSecret ? "a text (not shown)" : quoted(scalar.string)
        switch kind {
        case .boolean where isQuoted, .integer where isQuoted:
            self.report(node, key, found: "the text \(found)", allowed: kind.allowed, mend: "write it without quotes")
            return nil
        default: break
        }
        do throws(SyntaxFault) {
            return Setting(
                value: try kind.read(scalar.string),
                origin: self.origin(node),
                shown: kind.shown(scalar.string)
            )
        } catch {
            self.problems.append(
                SettingsProblem(
                    origin: self.origin(node, scalar, at: error.place?.offset),
                    key: key,
                    found: error.place?.found ?? found.withoutCredentials,
                    allowed: error.place?.allowed ?? kind.allowed,
                    mend: error.mend
                )
            )
            return nil
        }
    }

    /// A value of any shape, by YAML's core schema.
    private mutating func json(_ node: Node, key: String, depth: Int) -> JSONValue? {
        guard depth < YAMLGuard.maxDepth else {
            self.report(
                node,
                key,
                found: "more than \(YAMLGuard.maxDepth) levels",
                allowed: "fewer levels",
                mend: "nest less"
            )
            return nil
        }
        switch node {
        case .scalar(let scalar):
            return scalar.style == .plain ? JSONValue(plain: scalar.string) : .string(scalar.string)
        case .sequence(let sequence):
            return .array(sequence.compactMap { self.json($0, key: key, depth: depth + 1) })
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
        case .alias: return nil
        }
    }

    // MARK: Places and words

    private func origin(_ node: Node) -> SettingsOrigin {
        .file(path: self.document.path, line: node.mark?.line ?? 1, column: node.mark?.column ?? 1)
    }

    /// The place after `offset` Unicode scalars of a text on one line; nil: the text itself.
    private func origin(_ node: Node, _ scalar: Node.Scalar, at offset: Int?) -> SettingsOrigin {
        guard let offset, let mark = node.mark else { return self.origin(node) }
        let before = scalar.string.unicodeScalars.prefix(offset)
        // What has two characters in the file: '' in single quotes, \" and \\ in double quotes.
        let extra =
            switch scalar.style {
            case .singleQuoted: 1 + before.count { $0 == "'" }
            case .doubleQuoted: 1 + before.count { $0 == "\"" || $0 == "\\" }
            default: 0
            }
        return .file(path: self.document.path, line: mark.line, column: mark.column + before.count + extra)
    }

    private func compound(_ node: Node, _ value: SettingValue) -> Setting {
        Setting(value: value, origin: self.origin(node), shown: "")
    }

    private mutating func report(_ node: Node, _ key: String, found: String, allowed: String, mend: String) {
        self.problems.append(
            SettingsProblem(origin: self.origin(node), key: key, found: found, allowed: allowed, mend: mend)
        )
    }

    private static func isNull(_ node: Node) -> Bool {
        guard case .scalar(let scalar) = node, scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    /// The kind only, never the content: a text in the place of a mapping is often a misplaced secret.
    private static func kindName(_ node: Node) -> String {
        switch node {
        case .scalar: Self.isNull(node) ? "nothing" : "a text"
        case .sequence: "a list"
        case .mapping: "a mapping"
        case .alias: "an alias"
        }
    }
}
