package import Vocabulary

/// The clients of the settings file, and the check of changes that operators make to clients at run time.
///
/// A change is checked by building all settings again with the changed clients. A client that would be invalid in the
/// settings file is rejected, except that it may stop accepting tokens on routes that name it (`isAtRunTime`).
package struct ClientBase: Sendable, CustomReflectable {
    /// A builder with the values of the settings file; `nil` without a file.
    private var builder: SettingsBuilder?

    /// The ids of the clients in the file, in the order of the file.
    package private(set) var ids: [String] = []
    /// The object of each client in the file, by its id.
    package private(set) var definitions: [String: JSONValue] = [:]
    /// The defaults of a client's members.
    package private(set) var defaults: JSONValue = [:]
    /// The ids of the clients that have a secret or keys in a file.
    package private(set) var provesItself: Set<String> = []
    /// The ids of the clients that have a secret in a file.
    package private(set) var withSecretFile: Set<String> = []

    /// Creates a value without a file. It has no clients and accepts no client.
    package init() {}

    /// - Parameter builder: A builder that has built nothing yet. Its files must be `remembered()`.
    init(_ builder: SettingsBuilder, native: SessionSettings.Lifetimes) {
        self.builder = builder
        let trees = builder.tree.trees("clients").compactMap { tree in
            tree.text("client_id").map { (id: $0, tree: tree) }
        }
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

    /// A mirror without the builder, because the builder contains hashes of passwords.
    package var customMirror: Mirror { Mirror(self, children: ["ids": self.ids]) }

    /// Returns the members as the gateway stores and shows them, e.g. with durations in seconds.
    ///
    /// - Throws: The fault of the first invalid member.
    package func normalised(_ members: JSONValue) throws(ClientFault) -> JSONValue {
        var object = ClientObject(file: .file)
        let tree = object.tree(of: members)
        if let problem = object.problems.first { throw ClientFault(clientID: members["client_id"]?.string, problem) }
        return members.merged(with: ClientObject.members(of: tree))
    }

    /// Returns all clients after the changes.
    ///
    /// - Parameter changes: The changed and new clients, by id; `nil` for a deleted client.
    /// - Throws: The fault of a client, or of a setting that depends on a client.
    package func clients(changed changes: [String: ClientDefinition?]) throws(ClientFault) -> [ClientSettings] {
        guard var builder = self.builder else { return [] }
        var elements: [Setting] = []
        var ids: [String] = []
        for setting in builder.tree.list("clients") ?? [] {
            guard case .tree(let written) = setting.value, let id = written.text("client_id") else { continue }
            switch changes[id] {
            case nil:
                elements.append(setting)
                ids.append(id)
            case .some(nil): break
            case .some(let definition?):
                elements.append(try self.setting(definition, id, written, &builder.files))
                ids.append(id)
            }
        }
        for (id, definition) in changes.sorted(by: { $0.key < $1.key }) where self.definitions[id] == nil {
            guard let definition else { continue }
            elements.append(try self.setting(definition, id, nil, &builder.files))
            ids.append(id)
        }
        builder.tree["clients"] = Setting(value: .list(elements), origin: .builtIn, shown: "")
        builder.isAtRunTime = true
        let settings = builder.build()
        if let problem = builder.problems.first { throw ClientFault(problem, ids: ids) }
        return settings.clients
    }

    /// Builds a changed client. Its files are those of `written`, the client in the file (`nil` for a new client).
    private func setting(
        _ definition: ClientDefinition,
        _ id: String,
        _ written: SettingsTree?,
        _ files: inout SettingsFiles
    ) throws(ClientFault) -> Setting {
        var object = ClientObject(file: .file)
        var tree = object.tree(of: definition.members)
        if let problem = object.problems.first { throw ClientFault(clientID: id, problem) }
        for key in ClientObject.fileKeys { tree[key] = written?[key] }
        if let secret = definition.secret {
            // The path cannot be in the settings file, because paths in the file have no NUL.
            let place = "\0client_secret of \(id)"
            files = files.adding(secret.bytes, at: place)
            tree["client_secret_file"] = Setting(value: .text(place), origin: .builtIn, shown: "client_secret")
        }
        return Setting(value: .tree(tree), origin: .builtIn, shown: "")
    }
}
