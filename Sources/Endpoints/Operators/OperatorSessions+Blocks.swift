import Sessions
import Settings
import SignOn
import Vocabulary

/// The blocks of users, for operators.
///
/// ```
/// GET          /blocks                                 the blocks that are in force
/// PUT, DELETE  /blocks?subject=[&provider=]            blocks a user, or lifts the block
/// PUT, DELETE  /subjects/{subject}/block[?provider=]   the same, for a user whose id has no slash
/// ```
///
/// A blocked user has no session and cannot sign in. A block may have an end (`until`) and a `note`.
extension OperatorSessions {
    var blockEndpoints: [Endpoint] {
        [
            Self.endpoint("/blocks", ["GET", "PUT", "DELETE"]) { request in
                if request.method == "GET" { return await self.listBlocks(request) }
                let values = request.parameters("subject")
                return await self.changeBlock(values.count == 1 ? values[0] : "", request)
            },
            Self.endpoint("/subjects/{subject}/block", ["PUT", "DELETE"]) { request in
                await self.changeBlock(request.pathParameter("subject") ?? "", request)
            },
        ]
    }

    /// The longest note of a block in bytes.
    private static let longestNote = 256

    private func listBlocks(_ request: EndpointRequest) async -> EndpointResponse {
        await self.gate.admit(request, .sessions, OperatorGate.Act("blocks.list", usage: "GET /blocks")) {
            _ throws(NotDone) in
            guard request.query.isEmpty else { throw NotDone(.requestParameters) }
            return .json(200, ["blocks": .array(try await self.users.blocks().map { .object(self.members($0)) })])
        }
    }

    private func changeBlock(_ id: String, _ request: EndpointRequest) async -> EndpointResponse {
        let user = self.user(id, request)
        let isBlock = request.method == "PUT"
        let act = OperatorGate.Act(
            isBlock ? "subjects.block" : "subjects.unblock",
            subject: user?.subject ?? Realm.default.subject(id),
            usage: "\(request.method) /blocks?subject=SUBJECT\(self.providerUsage)"
                + (isBlock ? #" with {"until": "2030-01-31T00:00:00Z", "note": "TEXT"}, both optional"# : "")
        )
        return await self.gate.admit(request, .sessions, act) { caller throws(NotDone) in
            // `until` belongs in the body. In the query, it would be ignored.
            guard let user, request.query.allSatisfy({ ["subject", "provider"].contains($0.name) }) else {
                throw NotDone(.requestParameters)
            }
            let names = try await self.names(of: user)
            guard isBlock else {
                try await self.users.unblock(names, by: caller.name)
                return .noContent()
            }
            let (until, note) = try self.terms(request)
            let (block, hasEnded) = try await self.users.block(
                names,
                as: user.realm.ownID(of: user.id),
                of: user.realm == .default || AccountID.isOne(user.id) ? nil : user.realm.name,
                until: until,
                note: note,
                by: caller.name,
                for: request.requester.withoutCookies
            )
            return .json(200, .object(self.members(block).merging(["signed_out": .bool(hasEnded)]) { $1 }))
        }
    }

    /// Returns the end and the note in the body, which may be empty.
    ///
    /// - Throws: `request.parameters` for a malformed body, other members, and an end that has passed.
    private func terms(_ request: EndpointRequest) throws(NotDone) -> (until: UnixTime?, note: String?) {
        guard !request.body.isEmpty else { return (nil, nil) }
        var (until, note): (UnixTime?, String?)
        do {
            for (name, value) in try JSONText.object(request.body) where value != .null {
                switch (name, value.string) {
                case ("until", let text?): until = UnixTime(rfc3339: text)
                case ("note", let text?): note = text
                default: throw NotDone(.requestParameters)
                }
                if name == "until", until.map({ $0 > self.users.sessions.clock.now() }) != true {
                    throw NotDone(.requestParameters)
                }
            }
        } catch {
            throw NotDone(.requestParameters)
        }
        guard note?.isPlain(upTo: Self.longestNote) != false else { throw NotDone(.requestParameters) }
        return (until, note)
    }

    private func members(_ block: UserBlock) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "subject": .string(block.subject), "blocked_at": .string(block.changedAt.rfc3339),
            "blocked_by": .string(block.changedBy),
        ]
        if let provider = block.provider { members["provider"] = .string(provider) }
        if block.isDeprovisioned { members["scim"] = true }
        if let until = block.until, block.isOfOperator(at: self.users.sessions.clock.now()) {
            members["until"] = .string(until.rfc3339)
        }
        if let note = block.note { members["note"] = .string(note) }
        return members
    }
}
