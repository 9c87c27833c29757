package import Settings
package import Vocabulary

/// A client's change at run time, as read from the store, with the unsealed secret.
package struct RuntimeClient: Sendable, Equatable {
    package var patch: JSONValue
    package var isDeleted: Bool
    /// The client's secret set at run time. `nil` if the client has no secret or only the file's secret.
    package var secret: Secret?
    package var marks: [ClientChange.Mark]

    package init(patch: JSONValue, isDeleted: Bool, secret: Secret?, marks: [ClientChange.Mark]) {
        self.patch = patch
        self.isDeleted = isDeleted
        self.secret = secret
        self.marks = marks
    }

    /// The creation time of a client that was created at run time. Tokens from before belong to an earlier client.
    var beginning: UnixTime? { self.isDeleted ? nil : self.marks.first { $0.path == ClientChange.whole }?.at }

    /// Returns the changed client. `nil` if the change deletes the client, or changes a client that the file no longer
    /// has.
    func definition(of id: String, in base: ClientBase) -> ClientDefinition? {
        guard !self.isDeleted, base.definitions[id] != nil || self.patch["client_id"] != nil else { return nil }
        let written = base.definitions[id] ?? ["client_id": .string(id)]
        return ClientDefinition(members: written.merged(with: self.patch), secret: self.secret)
    }
}

/// A client as operators see it.
package struct ListedClient: Sendable {
    /// A member whose value differs from the file.
    package struct Drift: Sendable, Equatable {
        /// The path of the member. Empty if the file does not have the client at all.
        package let path: String
        /// The time and author of the change. `nil` if the difference comes from a later change of the file.
        package let mark: ClientChange.Mark?
    }

    package let id: String
    /// Auth0's client object without secrets, with defaults for the members that were not set.
    package let members: JSONValue
    /// The client object without defaults.
    package let written: JSONValue
    /// The secret set at run time. `nil` if none was set.
    package let secret: Secret?
    package let isInFile: Bool
    package let drift: [Drift]
    /// The reason why the gateway ignores this client. `nil` if the client is in use.
    package let fault: ClientFault?
}

/// A snapshot of the clients in the file and of their changes at run time, for the operators' API.
package struct ClientCatalogue: Sendable {
    package let base: ClientBase
    package let changes: [String: RuntimeClient]
    /// The clients that the gateway ignores, because their changes make them invalid, with the reasons.
    package let withheld: [String: ClientFault]

    /// Every client that is not deleted, sorted by id.
    package var clients: [ListedClient] {
        Set(self.base.ids).union(self.changes.keys).sorted().compactMap(self.client)
    }

    /// The clients in the file that were deleted at run time, with the time and author.
    package var deleted: [(id: String, mark: ClientChange.Mark?)] {
        self.base.ids.sorted().compactMap { id in
            guard let change = self.changes[id], change.isDeleted else { return nil }
            return (id, change.marks.first)
        }
    }

    /// Returns the client with exactly this id. `nil` if there is none or it was deleted.
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

    /// Returns the client object with defaults for members that were not set.
    package func complete(_ written: JSONValue, id: String, hasSecret: Bool) -> JSONValue {
        let complete = LogoutURLMember.shown(self.base.defaults.merged(with: written))
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
