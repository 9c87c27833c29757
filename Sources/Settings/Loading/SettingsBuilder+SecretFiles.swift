/// Warns of secrets that every user of the machine can read.
extension SettingsBuilder {
    mutating func checkSecretFiles() {
        var seen: Set<String> = []
        for (key, setting) in Self.secretFiles(of: self.tree, .file, below: "") {
            guard let path = self.resolved(setting), seen.insert(path).inserted else { continue }
            self.warnIfOpenToAll(path, key: key, shown: setting.shown)
        }
    }

    mutating func warnIfOpenToAll(_ path: String, key: String, shown: String) {
        guard self.files.isOpenToAll(path) else { return }
        self.warnings.append("\(key): every user of this machine can read \(shown); chmod o-rwx it")
    }

    /// The settings that name files with secrets, in the order of the keys.
    private static func secretFiles(
        of tree: SettingsTree,
        _ section: Section,
        below path: String
    ) -> [(key: String, setting: Setting)] {
        section.keys.flatMap { key -> [(key: String, setting: Setting)] in
            let path = path.isEmpty ? key.name : "\(path).\(key.name)"
            switch key.kind {
            case .path(isSecret: true): return tree[key.name].map { [(path, $0)] } ?? []
            case .section(let below):
                return tree.tree(key.name).map { self.secretFiles(of: $0, below, below: path) } ?? []
            case .sections(let below):
                return tree.trees(key.name).enumerated()
                    .flatMap { self.secretFiles(of: $1, below, below: "\(path)[\($0)]") }
            case .named(let below):
                return (tree.tree(key.name)?.entries ?? []).flatMap { name, setting in
                    guard case .tree(let element) = setting.value else { return [(key: String, setting: Setting)]() }
                    return self.secretFiles(of: element, below, below: "\(path).\(name)")
                }
            default: return []
            }
        }
    }
}
