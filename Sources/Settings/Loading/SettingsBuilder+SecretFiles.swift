/// Warns of secrets that every user of the machine can read.
extension SettingsBuilder {
    mutating func checkSecretFiles() {
        guard !self.lacksFiles else { return }
        var seen: Set<String> = []
        for (key, setting) in Self.secretFiles(of: self.tree, .file) {
            guard let path = self.resolved(setting), seen.insert(path).inserted else { continue }
            self.warnIfOpenToAll(path, key: key, shown: self.shown(setting))
        }
    }

    mutating func warnIfOpenToAll(_ path: String, key: String, shown: String) {
        guard self.files.isOpenToAll(path) else { return }
        self.warnings.append("\(key): every user of this machine can read \(shown); chmod o-rwx it")
    }

    /// Returns the settings that name files with secrets, in the order of the keys.
    private static func secretFiles(
        of tree: SettingsTree,
        _ section: Section
    ) -> [(key: String, setting: Setting)] {
        section.keys.flatMap { key -> [(key: String, setting: Setting)] in
            if case .path(isSecret: true) = key.kind {
                return tree[key.name].map { [(tree.key(of: key.name), $0)] } ?? []
            }
            if case .pairs(_, value: .path(isSecret: true)) = key.kind {
                return (tree.tree(key.name)?.entries ?? []).map { ("\(tree.key(of: key.name)).\($0.name)", $0.setting) }
            }
            guard let below = key.kind.section?.section else { return [] }
            return tree.mappings(at: key).flatMap { self.secretFiles(of: $0, below) }
        }
    }
}
