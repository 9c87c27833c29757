import Cryptography
import Sessions
import Settings
package import Vocabulary

/// Changes clients at run time, for operators. Each change passes the checks of the settings file first.
package struct ClientEditor: Sendable {
    /// The result of a change.
    package struct Outcome: Sendable {
        package let client: ListedClient
        /// The paths of the members whose value changed.
        package let changed: [String]
        /// The generated secret, to be shown once. `nil` if none was generated.
        package let generated: Secret?
    }

    /// The maximum number of tries while other gateways change the client.
    private static let tries = 8
    /// Members that are not stored in a patch: the secret, and the gateway's own description of the client.
    private static let ownMembers = ["client_secret", "sallyport"]

    private let overlay: ClientOverlay
    private let registry: @Sendable () -> ClientRegistry

    /// - Parameter registry: Returns the current registry, because a reload replaces it.
    package init(overlay: ClientOverlay, registry: @escaping @Sendable () -> ClientRegistry) {
        self.overlay = overlay
        self.registry = registry
    }

    /// The clients that this gateway uses now.
    package var catalogue: ClientCatalogue { self.registry().catalogue }

    // MARK: Changes

    /// Creates a client. Fails with `client.exists`, or with `client.invalid` and the fault.
    ///
    /// - Parameters:
    ///   - members: Auth0's client object. A missing `client_id` is generated. A missing `client_secret` is generated
    ///     unless the client is public.
    ///   - name: The name of the operator.
    package func create(_ members: JSONValue, by name: String) async throws(NotDone) -> Outcome {
        let id = members["client_id"]?.string ?? Random.base64URL(24)
        let members = try LogoutURLMember.read(members, of: id)
        var request = JSONValue.object([:]).merged(with: members.without(Self.ownMembers))
        // An id that is not a string stays in the request, so that the client check rejects it.
        if request["client_id"] == nil { request = request.merged(with: ["client_id": .string(id)]) }
        let given = try self.secret(in: members, id: id)
        let generated = given == nil && Self.mayHaveSecret(request) ? Secret(Array(Random.base64URL(48).utf8)) : nil
        return try await self.change(id, by: name, generated: generated) { (_, present) throws(NotDone) in
            guard present == nil else { throw NotDone(.clientExists) }
            return Wanted(members: request, secret: given ?? generated)
        }
    }

    /// Applies a merge patch (RFC 7396) to a client. Fails with `client.unknown` or `client.invalid`.
    package func update(_ id: String, _ patch: JSONValue, by name: String) async throws(NotDone) -> Outcome {
        if patch.removes("client_id") || patch["client_id"].map({ $0 != .string(id) }) == true {
            throw NotDone(
                ClientFault(
                    of: id,
                    key: "client_id",
                    found: "an id that is not the client's",
                    allowed: "the client's own id, or nothing",
                    fix: "remove it: the id of a client cannot change"
                )
            )
        }
        let patch = try LogoutURLMember.read(patch, of: id)
        let given = try self.secret(in: patch, id: id)
        let isReset = patch.removes("client_secret")
        return try await self.change(id, by: name, generated: nil) { (catalogue, present) throws(NotDone) in
            guard let present else { throw NotDone(.clientUnknown) }
            if isReset, !catalogue.base.withSecretFile.contains(id) {
                throw NotDone(
                    ClientFault(
                        of: id,
                        key: "client_secret",
                        found: "null",
                        allowed: "null for a client whose secret is in a file, which then applies again",
                        fix: "write the new secret; for a public client write token_endpoint_auth_method: none"
                    )
                )
            }
            let members = present.members.merged(with: patch.without(Self.ownMembers))
            var secret = isReset ? nil : given ?? present.secret
            // A client that may have no secret loses the one set at run time. If the file has a secret for it, `judged`
            // rejects the change.
            if given == nil, !Self.mayHaveSecret(members) { secret = nil }
            return Wanted(members: members, secret: secret)
        }
    }

    /// Deletes a client, even if the file has it. Fails with `client.unknown`, or with `client.invalid` if a setting
    /// needs the client.
    package func delete(_ id: String, by name: String) async throws(NotDone) -> Outcome {
        try await self.change(id, by: name, generated: nil) { (_, present) throws(NotDone) in
            guard present != nil else { throw NotDone(.clientUnknown) }
            return nil
        }
    }

    // MARK: Steps

    private struct Wanted {
        var members: JSONValue
        var secret: Secret?
    }

    /// Changes a client to the state that `decide` returns. If `decide` returns `nil`, deletes the client.
    private func change(
        _ id: String,
        by name: String,
        generated: Secret?,
        _ decide: (ClientCatalogue, ClientDefinition?) throws(NotDone) -> Wanted?
    ) async throws(NotDone) -> Outcome {
        for _ in 0..<Self.tries {
            let standing = try await self.overlay.standing(id)
            let catalogue = self.registry().catalogue
            let base = catalogue.base
            let file = base.definitions[id].map { ClientDefinition(members: $0) }
            let present = standing.map { $0.client.definition(of: id, in: base) } ?? file
            let wanted = try decide(catalogue, present)
            let next = try self.judged(wanted, id, catalogue, standing?.client, by: name)
            if let next {
                guard try await self.overlay.put(next, id: id, judged: standing?.version) else { continue }
            } else if standing != nil {
                try await self.overlay.forget(id)
            }
            await self.overlay.refresh()
            return self.outcome(id, present, wanted, catalogue, generated)
        }
        throw NotDone(.storeUnavailable)
    }

    /// Returns the checked change to write. `nil` if no change is needed, because the file alone gives the wanted
    /// client.
    private func judged(
        _ wanted: Wanted?,
        _ id: String,
        _ catalogue: ClientCatalogue,
        _ standing: RuntimeClient?,
        by name: String
    ) throws(NotDone) -> RuntimeClient? {
        let base = catalogue.base
        var next = RuntimeClient(patch: [:], isDeleted: wanted == nil, secret: wanted?.secret, marks: [])
        let mark = ClientChange.Mark(path: ClientChange.whole, at: self.overlay.now, by: name)
        var admitted = catalogue.changes.filter { catalogue.withheld[$0.key] == nil && $0.key != id }
        do throws(ClientFault) {
            if let wanted {
                let members = try base.normalised(wanted.members)
                next.patch = Self.patch(from: base.definitions[id], to: members, base.defaults)
            }
            admitted[id] = next
            _ = try base.clients(
                changed: admitted.reduce(into: [:]) { all, change in
                    all.updateValue(change.value.definition(of: change.key, in: base), forKey: change.key)
                }
            )
        } catch {
            throw NotDone(error)
        }
        let isInFile = base.definitions[id] != nil
        if next.isDeleted {
            next.marks = [mark]
            return isInFile ? next : nil
        }
        // A client of the file that was deleted and created again keeps its creation mark, even with the file's values.
        let isMade = !isInFile || standing?.isDeleted == true || standing?.beginning != nil
        if !isMade, next.patch == [:], next.secret == nil { return nil }
        next.marks = Self.marks(of: next, standing, mark, isMade: isMade)
        return next
    }

    /// Returns the merge patch from the file's client to `members`, without default values.
    private static func patch(from file: JSONValue?, to members: JSONValue, _ defaults: JSONValue) -> JSONValue {
        guard let file else { return members }
        return file.patch(to: members).without(defaultsOf: defaults.merged(with: file))
    }

    /// Returns a mark for each changed member. If its value was already set, the member keeps its earlier mark.
    ///
    /// - Parameter isMade: Whether the client was created at run time.
    private static func marks(
        of next: RuntimeClient,
        _ standing: RuntimeClient?,
        _ mark: ClientChange.Mark,
        isMade: Bool
    ) -> [ClientChange.Mark] {
        let former = standing?.patch.leaves() ?? []
        func kept(_ path: String) -> ClientChange.Mark {
            standing?.marks.first { $0.path == path } ?? ClientChange.Mark(path: path, at: mark.at, by: mark.by)
        }
        var marks = next.patch.leaves().map { leaf in
            former.contains { $0 == leaf }
                ? kept(leaf.path) : ClientChange.Mark(path: leaf.path, at: mark.at, by: mark.by)
        }
        if next.secret != nil {
            let path = ClientChange.secretPath
            marks.append(
                standing?.secret == next.secret
                    ? kept(path) : ClientChange.Mark(path: path, at: mark.at, by: mark.by)
            )
        }
        let beginning = standing?.beginning == nil ? mark : kept(ClientChange.whole)
        return (isMade ? [beginning] : []) + marks
    }

    private func outcome(
        _ id: String,
        _ present: ClientDefinition?,
        _ wanted: Wanted?,
        _ former: ClientCatalogue,
        _ generated: Secret?
    ) -> Outcome {
        let catalogue = self.registry().catalogue
        let members = (try? former.base.normalised(wanted?.members ?? [:])) ?? [:]
        var changed = (present?.members ?? [:]).patch(to: members).leaves().map(\.path)
        if wanted != nil, wanted?.secret != present?.secret { changed.append(ClientChange.secretPath) }
        let client =
            catalogue.client(id)
            ?? ListedClient(
                id: id,
                members: catalogue.complete(members, id: id, hasSecret: wanted?.secret != nil),
                written: members,
                secret: wanted?.secret,
                isInFile: catalogue.base.definitions[id] != nil,
                drift: [],
                fault: nil
            )
        return Outcome(client: client, changed: changed, generated: generated)
    }

    // MARK: Secrets

    /// Returns the secret that the operator sets. `nil` if the request has none, or resets the secret to the file's.
    private func secret(in members: JSONValue, id: String) throws(NotDone) -> Secret? {
        switch members["client_secret"] {
        case nil: return nil
        case .string(let text)? where !text.utf8.contains { $0 < 0x20 || $0 > 0x7E }: return Secret(Array(text.utf8))
        default:
            throw NotDone(
                ClientFault(
                    of: id,
                    key: "client_secret",
                    found: "something else (not shown)",
                    allowed: "a text of 16 visible ASCII characters or more",
                    fix: "write such a text, or leave it out: then one is made for a client that is not public"
                )
            )
        }
    }

    /// Returns whether the client may have a secret. An app cannot keep one (RFC 8252 8.5).
    private static func mayHaveSecret(_ members: JSONValue) -> Bool {
        !["native", "spa"].contains(members["app_type"]?.string ?? "")
            && !["none", "private_key_jwt"].contains(members["token_endpoint_auth_method"]?.string ?? "")
    }
}
