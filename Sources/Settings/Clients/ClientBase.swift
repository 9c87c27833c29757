package import Vocabulary

/// The clients of the file, and the judgement of what may take their place at run time.
///
/// A change is judged by building the whole settings again with the changed clients, from the tree that the file gave
/// and the files that were read with it: no client can be installed that the file could not have.
package struct ClientBase: Sendable, CustomReflectable {
    private let tree: SettingsTree
    private let files: SettingsFiles
    private let flags: InsecureFlags
    private let judges: SettingsJudges
    private let isBuilt: Bool

    /// The ids of the clients in the file, in its order.
    package let ids: [String]
    /// What the file says of each client.
    package let definitions: [String: JSONValue]
    /// What counts for a client that says nothing.
    package let defaults: JSONValue
    /// The clients that have a secret or keys in a file.
    package let provesItself: Set<String>
    /// Those of them that have a secret.
    package let withSecretFile: Set<String>

    /// - Parameter files: They must answer as they did when the settings were built.
    init(
        tree: SettingsTree,
        files: SettingsFiles,
        flags: InsecureFlags,
        judges: SettingsJudges,
        native: SessionSettings.Lifetimes
    ) {
        self.tree = tree
        self.files = files
        self.flags = flags
        self.judges = judges
        self.isBuilt = true
        let trees = tree.trees("clients").compactMap { tree in tree.text("client_id").map { (id: $0, tree: tree) } }
        self.ids = trees.map(\.id)
        self.definitions = Dictionary(
            trees.map { ($0.id, ClientObject.members(of: $0.tree)) },
            uniquingKeysWith: { first, _ in first }
        )
        self.provesItself = Set(
            trees.filter { client in ClientObject.fileKeys.contains { client.tree[$0] != nil } }.map(\.id)
        )
        self.withSecretFile = Set(trees.filter { $0.tree["client_secret_file"] != nil }.map(\.id))
        self.defaults = ClientObject.defaults(of: .client).merged(
            with: [
                "refresh_token": [
                    "expiration_type": "expiring",
                    "token_lifetime": .integer(native.absolute.components.seconds),
                    "idle_token_lifetime": .integer(native.idle.components.seconds),
                ]
            ]
        )
    }

    /// Without the tree, in which hashes of passwords stand as they are written.
    package var customMirror: Mirror { Mirror(self, children: ["ids": self.ids]) }

    /// Without a file: no client, and none can be judged.
    package init() {
        self.tree = SettingsTree(origin: .builtIn)
        self.files = .system
        self.flags = InsecureFlags()
        self.judges = SettingsJudges()
        self.isBuilt = false
        self.ids = []
        self.definitions = [:]
        self.defaults = [:]
        self.provesItself = []
        self.withSecretFile = []
    }

    /// The members as the gateway keeps them: each value in the form in which it is shown, e.g. durations in seconds.
    ///
    /// - Throws: What is wrong with members by themselves.
    package func normalised(_ members: JSONValue) throws(ClientFault) -> JSONValue {
        var object = ClientObject()
        let tree = object.tree(of: members)
        if let problem = object.problems.first { throw ClientFault(clientID: members["client_id"]?.string, problem) }
        return members.merged(with: ClientObject.members(of: tree))
    }

    /// The clients, with some of them changed.
    ///
    /// - Parameter changes: The clients that differ from the file or are not in it, by id; nil for one that is deleted.
    /// - Throws: What is wrong with a client, or with what depends on it.
    package func clients(changed changes: [String: ClientDefinition?]) throws(ClientFault) -> [ClientSettings] {
        guard self.isBuilt else { return [] }
        var files = self.files
        var elements: [Setting] = []
        var ids: [String] = []
        for setting in self.tree.list("clients") ?? [] {
            guard case .tree(let written) = setting.value, let id = written.text("client_id") else { continue }
            switch changes[id] {
            case nil:
                elements.append(setting)
                ids.append(id)
            case .some(nil): break
            case .some(let definition?):
                elements.append(try self.setting(definition, id, written, &files))
                ids.append(id)
            }
        }
        for (id, definition) in changes.sorted(by: { $0.key < $1.key }) where self.definitions[id] == nil {
            guard let definition else { continue }
            elements.append(try self.setting(definition, id, nil, &files))
            ids.append(id)
        }
        var tree = self.tree
        tree["clients"] = Setting(value: .list(elements), origin: .builtIn, shown: "")
        var builder = SettingsBuilder(
            tree: tree,
            files: files,
            flags: self.flags,
            judges: self.judges,
            isPartial: false,
            isAtRunTime: true
        )
        let settings = builder.build()
        if let problem = builder.problems.first { throw ClientFault(problem, ids: ids) }
        return settings.clients
    }

    /// - Parameter written: The client in the file, from which it keeps its files.
    private func setting(
        _ definition: ClientDefinition,
        _ id: String,
        _ written: SettingsTree?,
        _ files: inout SettingsFiles
    ) throws(ClientFault) -> Setting {
        var object = ClientObject()
        var tree = object.tree(of: definition.members)
        if let problem = object.problems.first { throw ClientFault(clientID: id, problem) }
        for key in ClientObject.fileKeys { tree[key] = written?[key] }
        if let secret = definition.secret {
            // No path of the file can be this one: theirs have no NUL.
            let place = "\0client_secret of \(id)"
            files = files.adding(secret.bytes, at: place)
            tree["client_secret_file"] = Setting(value: .text(place), origin: .builtIn, shown: "client_secret")
        }
        return Setting(value: .tree(tree), origin: .builtIn, shown: "")
    }
}
