internal import AddressIntelligence
internal import Cryptography
internal import Sessions
internal import Settings
package import SignOn
internal import Vocabulary

/// The sessions of users, for operators. To be served on the admin listener only.
///
/// ```
/// GET    /sessions?subject=                the sessions of a user; of several providers, &provider= names the user's
/// DELETE /sessions/{id}[?subject=]         ends one: by its handle, or by its id and its subject
/// POST   /subjects/{subject}/sign-out      ends all sessions of a user
/// ```
package struct OperatorSessions: Sendable {
    private let users: UserSessions
    private let gate: OperatorGate
    private let providers: @Sendable () -> [String]

    /// - Parameter providers: The names of the providers that are configured now; a reload changes them.
    package init(users: UserSessions, gate: OperatorGate, providers: @escaping @Sendable () -> [String]) {
        self.users = users
        self.gate = gate
        self.providers = providers
    }

    package var endpoints: [Endpoint] {
        [
            Endpoint(path: "/sessions", methods: ["GET"], scope: .everyHost, answer: self.list),
            .everywhere("/sessions/{id}", ["DELETE"], answer: self.end),
            .everywhere("/subjects/{subject}/sign-out", ["POST"], answer: self.signOut),
        ]
    }

    /// The parameter that says whose user is meant, where there are several providers.
    private var providerUsage: String {
        let names = self.providers()
        return names.count > 1 ? "&provider=\(names.joined(separator: "|"))" : ""
    }

    private func subject(_ request: EndpointRequest) -> String? {
        let values = request.parameters("subject")
        return values.count == 1 && !values[0].isEmpty
            ? self.realm(request).map { Realm.subject(values[0], in: $0) } : nil
    }

    /// The name of the provider whose user is meant: by default the only one, or the one that is called `default`. nil if
    /// there is none of that name, because a sign-out that ends nothing must not look like one, or if it is repeated.
    private func realm(_ request: EndpointRequest) -> String? {
        let (names, known) = (request.parameters("provider"), self.providers())
        guard names.count <= 1 else { return nil }
        let name = names.first ?? (known.count == 1 ? known[0] : Realm.default.name)
        return known.contains(name) || known.isEmpty ? name : nil
    }

    @Sendable
    private func list(_ request: EndpointRequest) async -> EndpointResponse {
        let subject = self.subject(request)
        let act = OperatorGate.Act(
            "sessions.list",
            subject: subject,
            usage: "GET /sessions?subject=SUBJECT\(self.providerUsage)"
        )
        return await self.gate.admit(request, .read, act) { _ throws(NotDone) in
            guard let subject else { throw NotDone(.requestParameters) }
            return .json(200, ["sessions": .array(try await self.users.all(of: subject).map(Self.document))])
        }
    }

    @Sendable
    private func end(_ request: EndpointRequest) async -> EndpointResponse {
        let id = request.pathParameter("id") ?? ""
        let subject = self.subject(request)
        let act = OperatorGate.Act(
            "sessions.end",
            subject: subject,
            session: String(id.prefix(64)),
            usage: "DELETE /sessions/HANDLE, or DELETE /sessions/ID?subject=SUBJECT\(self.providerUsage)"
        )
        return await self.gate.admit(request, .sessions, act) { caller throws(NotDone) in
            let found: FoundSession?
            if let key = Self.key(id) {
                found = try await self.users.session(key)
            } else if let subject {
                found = try await self.users.all(of: subject).first {
                    $0.session.id == id || KratosID.uuid(.session, of: $0.session.id) == id.lowercased()
                }
            } else {
                throw NotDone(.requestParameters)
            }
            if let found { try await self.users.end(found, by: caller.name, for: request.requester.withoutCookies) }
            return .noContent()
        }
    }

    @Sendable
    private func signOut(_ request: EndpointRequest) async -> EndpointResponse {
        let realm = self.realm(request)
        let subject = Realm.subject(request.pathParameter("subject") ?? "", in: realm ?? Realm.default.name)
        let act = OperatorGate.Act(
            "subjects.sign_out",
            subject: subject,
            usage: "POST /subjects/SUBJECT/sign-out?provider=\(self.providers().joined(separator: "|"))"
        )
        return await self.gate.admit(request, .sessions, act) { caller throws(NotDone) in
            guard realm != nil else { throw NotDone(.requestParameters) }
            try await self.users.endAll(of: subject, by: caller.name, for: request.requester.withoutCookies)
            return .noContent()
        }
    }

    // MARK: Documents

    /// What names the session's record: its key is an HMAC, so it is no secret and no credential.
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
            "authenticated_at": .string(session.authenticatedAt.rfc3339),
            "expires_at": .string(session.expiresAt.rfc3339),
            "last_seen_at": .string((found.usedAt ?? session.issuedAt).rfc3339),
        ]
        if session.identity.realm != .default { members["provider"] = .string(session.identity.realm.name) }
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
