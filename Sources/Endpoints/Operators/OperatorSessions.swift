import AddressIntelligence
import Cryptography
import Providers
import Sessions
package import Settings
package import SignOn
import Vocabulary

/// The sessions of users, for operators. Serve these endpoints on the admin listener only.
///
/// ```
/// GET    /sessions?subject=                the sessions of a user; with &provider= if there are several providers
/// GET    /sessions?email=[&provider=]      the sessions of users with this address, verified or not
/// GET    /sessions[?provider=][&page=]     all sessions in pages; `next` in an answer is the next page
/// GET    /sessions/{id}[?subject=]         shows a session, named by its handle or by its id and subject
/// DELETE /sessions/{id}[?subject=]         ends a session, named by its handle or by its id and subject
/// DELETE /sessions?subject=                ends all sessions of a user
/// DELETE /sessions?provider_session=[&provider=]   ends what came from a provider's session, named by its id there
/// POST   /subjects/{subject}/sign-out      ends all sessions of a user whose id has no slash
/// ```
///
/// A user is named by the provider's own id, by the id that apps know, or by the account that links the user's
/// providers (`UserNames`). A sign-out that ends nothing gets 404, except by `provider_session`.
package struct OperatorSessions: Sendable {
    /// A provider that is configured now.
    package struct Provider: Sendable {
        let name: String
        /// The name of the provider in its sessions. `nil` if the provider has none.
        let ownName: String?

        /// - Parameter named: The provider's settings.
        package init(_ named: NamedProvider) {
            self.name = named.name
            self.ownName = named.settings.ownName
        }
    }

    /// The user that a request names.
    struct User {
        /// The user's name in the request.
        let id: String
        let realm: Realm
        /// The name of the user's provider in sessions. `nil` if the provider has none.
        let provider: String?

        /// The user's name in the audit stream.
        var subject: String { self.realm.subject(self.id) }
    }

    let users: UserSessions
    let gate: OperatorGate
    private let providers: @Sendable () -> [Provider]

    /// - Parameter providers: The providers that are configured now. A reload changes them.
    package init(
        users: UserSessions,
        gate: OperatorGate,
        providers: @escaping @Sendable () -> [Provider]
    ) {
        self.users = users
        self.gate = gate
        self.providers = providers
    }

    package var endpoints: [Endpoint] {
        [
            Endpoint(path: "/sessions", methods: ["GET"], scope: .everyHost, answer: self.list),
            Self.endpoint("/sessions", ["DELETE"]) { request in
                if request.query.contains(where: { $0.name == "provider_session" }) {
                    return await self.endProviderSession(request)
                }
                let values = request.parameters("subject")
                return await self.signOut(values.count == 1 ? values[0] : "", request)
            },
            Self.endpoint("/sessions/{id}", ["GET", "DELETE"]) { request in
                request.method == "GET" ? await self.show(request) : await self.end(request)
            },
            Self.endpoint("/subjects/{subject}/sign-out", ["POST"]) { request in
                await self.signOut(request.pathParameter("subject") ?? "", request)
            },
        ] + self.blockEndpoints
    }

    static func endpoint(
        _ path: String,
        _ methods: [String],
        answer: @escaping @Sendable (EndpointRequest) async -> EndpointResponse
    ) -> Endpoint {
        Endpoint(
            path: path,
            methods: methods,
            scope: .everyHost,
            outlivesClient: true,
            allowsEscapedParameters: true,
            answer: answer
        )
    }

    /// The usage text for the parameter of the user's provider. Empty unless there are several providers.
    var providerUsage: String {
        let names = self.providers().map(\.name)
        return names.count > 1 ? "&provider=\(names.joined(separator: "|"))" : ""
    }

    /// Returns the user with the id in the query. `nil` if there is no single id, or no such provider.
    private func user(_ request: EndpointRequest) -> User? {
        let values = request.parameters("subject")
        return values.count == 1 ? self.user(values[0], request) : nil
    }

    /// Returns the user with this id at the requested provider. If the request names none, it is the only provider, the
    /// provider with whose name the id begins, or `default`. `nil` if the id is empty, or if the name is unknown or
    /// repeated.
    func user(_ id: String, _ request: EndpointRequest) -> User? {
        let (names, known) = (request.parameters("provider"), self.providers())
        guard names.count <= 1, !id.isEmpty else { return nil }
        let name =
            names.first ?? (known.count == 1 ? known[0].name : nil)
            ?? known.first { !Realm($0.name).ownID(of: id).isExactly(id) }?.name ?? Realm.default.name
        let provider = known.first { $0.name.isExactly(name) }
        guard provider != nil || known.isEmpty || (names.isEmpty && AccountID.isOne(id)) else { return nil }
        return User(id: id, realm: Realm(name), provider: provider?.ownName)
    }

    /// Returns all names of the user. The request may have the provider's own id or the name that apps know.
    func names(of user: User) async throws(NotDone) -> UserNames {
        guard !AccountID.isOne(user.id) else { return try await self.users.names(ofAccount: user.id) }
        var names = try await self.users.names(of: user.id, in: user.realm, at: user.provider)
        let ownID = user.realm.ownID(of: user.id)
        if !ownID.isExactly(user.id) {
            names.add(try await self.users.names(of: ownID, in: user.realm, at: user.provider))
        }
        return names
    }

    /// Returns the user's live sessions under all names, the latest first.
    private func sessions(of user: User) async throws(NotDone) -> [FoundSession] {
        try await self.users.all(of: try await self.names(of: user).all)
    }

    @Sendable
    private func list(_ request: EndpointRequest) async -> EndpointResponse {
        let user = self.user(request)
        let act = OperatorGate.Act(
            "sessions.list",
            subject: user?.subject,
            usage: "GET /sessions?subject=SUBJECT\(self.providerUsage), GET /sessions?email=ADDRESS, or GET /sessions"
        )
        return await self.gate.admit(request, .read, act) { _ throws(NotDone) in
            // An unknown parameter may be a misspelt filter, and must not lead to an answer with all sessions.
            guard request.query.allSatisfy({ Self.choices.contains($0.name) }) else {
                throw NotDone(.requestParameters)
            }
            if let user {
                return .json(200, ["sessions": .array(try await self.sessions(of: user).map(Self.document))])
            }
            guard request.parameters("subject").isEmpty, let isWanted = self.filter(request) else {
                throw NotDone(.requestParameters)
            }
            if let address = try Self.address(request) {
                let found = try await self.users.all(with: address).filter(isWanted)
                return .json(200, ["sessions": .array(found.map(Self.document))])
            }
            let (found, next) = try await self.users.some(from: try Self.place(request))
            return .json(
                200,
                [
                    "sessions": .array(found.filter(isWanted).map(Self.document)),
                    "next": next.map { .string($0.text) } ?? .null,
                ]
            )
        }
    }

    /// The query parameters of a list.
    private static let choices: Set<String> = ["subject", "email", "provider", "page"]

    /// Returns a filter for sessions of the requested provider, or of any provider. `nil` if no provider has the name.
    private func filter(_ request: EndpointRequest) -> ((FoundSession) -> Bool)? {
        let names = request.parameters("provider")
        guard let name = names.first else { return { _ in true } }
        guard names.count == 1, self.providers().contains(where: { $0.name.isExactly(name) }) else { return nil }
        return { $0.session.identity.realm.name.isExactly(name) }
    }

    private static func address(_ request: EndpointRequest) throws(NotDone) -> EmailAddress? {
        let values = request.parameters("email")
        guard let value = values.first else { return nil }
        guard values.count == 1, request.parameters("page").isEmpty, let address = EmailAddress(value) else {
            throw NotDone(.requestParameters)
        }
        return address
    }

    private static func place(_ request: EndpointRequest) throws(NotDone) -> IndexPlace? {
        let values = request.parameters("page")
        guard let value = values.first else { return nil }
        guard values.count == 1, let place = IndexPlace(value) else { throw NotDone(.requestParameters) }
        return place
    }

    private func show(_ request: EndpointRequest) async -> EndpointResponse {
        let user = self.user(request)
        return await self.gate.admit(request, .read, self.act("sessions.show", on: user, request)) {
            _ throws(NotDone) in
            guard let found = try await self.session(request, of: user) else { throw NotDone(.sessionUnknown) }
            return .json(200, Self.document(found))
        }
    }

    private func end(_ request: EndpointRequest) async -> EndpointResponse {
        let user = self.user(request)
        let act = self.act("sessions.end", on: user, request)
        return await self.gate.admit(request, .sessions, act) { caller throws(NotDone) in
            // An attempt that ends nothing must not look like a success.
            guard let found = try await self.session(request, of: user) else { throw NotDone(.sessionUnknown) }
            try await self.users.end(found, by: caller.name, for: request.requester.withoutCookies)
            return .noContent()
        }
    }

    /// Returns the record of an act on one session.
    private func act(_ name: String, on user: User?, _ request: EndpointRequest) -> OperatorGate.Act {
        OperatorGate.Act(
            name,
            subject: user?.subject,
            session: String((request.pathParameter("id") ?? "").prefix(64)),
            usage: "\(request.method) /sessions/HANDLE, or \(request.method) /sessions/ID?subject=SUBJECT"
                + self.providerUsage
        )
    }

    /// Returns the live session that the path names, by its handle or by its id and the user.
    private func session(_ request: EndpointRequest, of user: User?) async throws(NotDone) -> FoundSession? {
        let id = request.pathParameter("id") ?? ""
        if let key = Self.key(id) { return try await self.users.session(key) }
        guard let user else { throw NotDone(.requestParameters) }
        return try await self.sessions(of: user).first {
            $0.session.id == id || KratosID.uuid(.session, of: $0.session.id) == id.lowercased()
        }
    }

    private func signOut(_ id: String, _ request: EndpointRequest) async -> EndpointResponse {
        let user = self.user(id, request)
        let act = OperatorGate.Act(
            "subjects.sign_out",
            subject: user?.subject ?? Realm.default.subject(id),
            usage: "DELETE /sessions?subject=SUBJECT\(self.providerUsage), or POST /subjects/SUBJECT/sign-out?provider="
                + self.providers().map(\.name).joined(separator: "|")
        )
        return await self.gate.admit(request, .sessions, act) { caller throws(NotDone) in
            guard let user else { throw NotDone(.requestParameters) }
            let names = try await self.names(of: user)
            let requester = request.requester.withoutCookies
            // A sign-out that ends nothing must not look like a success.
            guard try await self.users.endAll(of: names, by: caller.name, for: requester) else {
                throw NotDone(.sessionUnknown)
            }
            return .noContent()
        }
    }

    /// Ends everything that came from a provider's session. The answer is 204 even for an unknown session, because the
    /// gateway keeps no list of the provider's own tokens and cookies.
    private func endProviderSession(_ request: EndpointRequest) async -> EndpointResponse {
        let (ids, names) = (request.parameters("provider_session"), request.parameters("provider"))
        let act = OperatorGate.Act(
            "sessions.end",
            session: String((ids.first ?? "").prefix(64)),
            usage: "DELETE /sessions?provider_session=ID\(self.providerUsage)"
        )
        return await self.gate.admit(request, .sessions, act) { caller throws(NotDone) in
            let providers = self.providers().filter { provider in names.allSatisfy { $0.isExactly(provider.name) } }
                .compactMap(\.ownName)
            // Other parameters are refused, not ignored.
            guard ids.count == 1, (1...ProviderEvidence.longestSessionID).contains(ids[0].utf8.count), names.count <= 1,
                !providers.isEmpty,
                request.query.allSatisfy({ ["provider_session", "provider"].contains($0.name) })
            else { throw NotDone(.requestParameters) }
            for provider in providers {
                try await self.users.end(
                    providerSession: ids[0],
                    at: provider,
                    by: caller.name,
                    for: request.requester.withoutCookies
                )
            }
            return .noContent()
        }
    }

    // MARK: Documents

    /// Returns the handle of a session. It contains the record's key, an HMAC that gives no access.
    private static func handle(_ key: RecordKey) -> String { "\(key.lineage.tag).\(key.digest.base64URL)" }

    private static func key(_ handle: String) -> RecordKey? {
        let parts = handle.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 10, let digest = Digest256(base64URL: Array(parts[1].utf8)[...])
        else { return nil }
        guard parts[0].utf8.allSatisfy({ $0 == 0x2D || $0 == 0x5F || $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 })
        else { return nil }
        return RecordKey(kind: .session, lineage: Lineage(tag: String(parts[0])), digest: digest)
    }

    private static func document(_ found: FoundSession) -> JSONValue {
        let session = found.session
        var members: [String: JSONValue] = [
            "id": .string(session.id), "handle": .string(self.handle(found.key)),
            "fingerprint": .string(found.key.fingerprint.description), "subject": .string(session.identity.id),
            "kind": .string(session.kind.rawValue), "origin": .string(session.origin.rawValue),
            "aal": .string(session.aal.rawValue), "issued_at": .string(session.issuedAt.rfc3339),
            "expires_at": .string(session.expiresAt.rfc3339),
            "last_seen_at": .string((found.usedAt ?? session.issuedAt).rfc3339),
        ]
        // Providers may omit the time of authentication.
        if session.authenticatedAt.seconds > 0 {
            members["authenticated_at"] = .string(session.authenticatedAt.rfc3339)
        }
        if session.identity.realm != .default { members["provider"] = .string(session.identity.realm.name) }
        if let email = session.identity.traitsDocument["email"]?.string { members["email"] = .string(email) }
        if let host = session.host { members["host"] = .string(host) }
        if let client = session.clientID { members["client_id"] = .string(client) }
        if let actor = session.actor { members["actor"] = .string(actor) }
        if let device = session.device {
            members["address"] = .string(device.address.description)
            if let asn = device.asn { members["asn"] = .integer(Int64(asn)) }
            if let agent = device.userAgent { members["user_agent"] = .string(agent) }
        }
        return .object(members)
    }
}
