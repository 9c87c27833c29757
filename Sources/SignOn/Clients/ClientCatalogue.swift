package import Settings
package import Vocabulary

/// A change of a client as it was read from the store, its secret opened.
package struct RuntimeClient: Sendable, Equatable {
    package var patch: JSONValue
    package var isDeleted: Bool
    /// nil if only the file has one, or nothing has.
    package var secret: Secret?
    package var marks: [ClientChange.Mark]

    package init(patch: JSONValue, isDeleted: Bool, secret: Secret?, marks: [ClientChange.Mark]) {
        self.patch = patch
        self.isDeleted = isDeleted
        self.secret = secret
        self.marks = marks
    }

    /// When the client was made, if it was made at run time: what another client with its id got before is not its own.
    var beginning: UnixTime? { self.isDeleted ? nil : self.marks.first { $0.path == ClientChange.whole }?.at }

    /// The client that it makes of the one in the file; nil if it deletes it, or changes one that the file does not have
    /// any more: what is left of that is no client.
    func definition(of id: String, in base: ClientBase) -> ClientDefinition? {
        guard !self.isDeleted, base.definitions[id] != nil || self.patch["client_id"] != nil else { return nil }
        let written = base.definitions[id] ?? ["client_id": .string(id)]
        return ClientDefinition(members: written.merged(with: self.patch), secret: self.secret)
    }
}

/// A client as operators see it.
package struct ListedClient: Sendable {
    /// A member that is not as the file has it.
    package struct Drift: Sendable, Equatable {
        /// The path of the member; empty for the whole client, if the file has it and it was deleted, or has it not.
        package let path: String
        /// When and by whom it was changed; nil if the file has changed since.
        package let mark: ClientChange.Mark?
    }

    package let id: String
    /// Auth0's object without secrets: the members that are written, and the defaults of the others.
    package let members: JSONValue
    /// The object with the members that are written only.
    package let written: JSONValue
    /// The secret that it has at run time.
    package let secret: Secret?
    package let isInFile: Bool
    package let drift: [Drift]
    /// Why the client does not take part, though it is there.
    package let fault: ClientFault?
}

/// The clients of the file and the changes at run time, at one moment: what operators see and change.
package struct ClientCatalogue: Sendable {
    package let base: ClientBase
    package let changes: [String: RuntimeClient]
    /// The clients that do not take part, because what they would be could not stand in the file.
    package let withheld: [String: ClientFault]

    /// Every client that is not deleted, sorted by id.
    package var clients: [ListedClient] {
        Set(self.base.ids).union(self.changes.keys).sorted().compactMap(self.client)
    }

    /// The clients that the file has and that were deleted at run time, with when and by whom.
    package var deleted: [(id: String, mark: ClientChange.Mark?)] {
        self.base.ids.sorted().compactMap { id in
            guard let change = self.changes[id], change.isDeleted else { return nil }
            return (id, change.marks.first)
        }
    }

    /// The client with exactly this id; nil if there is none, or it was deleted.
    package func client(_ id: String) -> ListedClient? {
        let change = self.changes[id]
        let file = self.base.definitions[id]
        guard let written = change.map({ $0.definition(of: id, in: self.base)?.members }) ?? file else { return nil }
        return ListedClient(
            id: id,
            members: self.complete(written, id: id, hasSecret: change?.secret != nil),
            written: written,
            secret: change?.secret,
            isInFile: file != nil,
            drift: change.map { self.drift(of: $0, written, file, id: id) } ?? [],
            fault: self.withheld[id]
        )
    }

    /// The object with the defaults of the members that are not written.
    package func complete(_ written: JSONValue, id: String, hasSecret: Bool) -> JSONValue {
        let complete = self.base.defaults.merged(with: written)
        let type = written["app_type"]?.string ?? ""
        let isPublic =
            ["native", "spa"].contains(type) || !hasSecret && !self.base.provesItself.contains(id)
        guard complete["token_endpoint_auth_method"] == nil, isPublic else { return complete }
        return complete.merged(with: ["token_endpoint_auth_method": "none"])
    }

    private func drift(
        of change: RuntimeClient,
        _ written: JSONValue,
        _ file: JSONValue?,
        id: String
    ) -> [ListedClient.Drift] {
        func mark(_ path: String) -> ClientChange.Mark? { change.marks.first { $0.path == path } }
        guard let file else {
            return [ListedClient.Drift(path: ClientChange.whole, mark: mark(ClientChange.whole))]
        }
        var paths = self.base.defaults.merged(with: file).patch(to: self.base.defaults.merged(with: written))
            .leaves().map(\.path)
        paths.removeAll(where: \.isEmpty)
        if change.secret != nil { paths.append(ClientChange.secretPath) }
        return paths.map { ListedClient.Drift(path: $0, mark: mark($0)) }
    }
}
