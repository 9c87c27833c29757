import AddressIntelligence
package import Observability
import Sessions
import Settings
package import SignOn
import Vocabulary

/// The OAuth clients for operators, in the format of Auth0's Management API. Serve them on the admin listener only.
///
/// ```
/// GET    /api/v2/clients         all: page, per_page, include_totals, fields, include_fields, app_type
/// POST   /api/v2/clients         creates a client
/// GET    /api/v2/clients/{id}
/// PATCH  /api/v2/clients/{id}    a merge patch (RFC 7396)
/// DELETE /api/v2/clients/{id}
/// ```
///
/// Auth0's documentation prints the last three paths with two slashes before the id. Both forms are accepted.
package struct OperatorClients: Sendable {
    private let editor: ClientEditor
    private let gate: OperatorGate
    private let metrics: MetricsRegistry
    private let audit: @Sendable (AuditEvent) -> Bool

    package init(
        editor: ClientEditor,
        gate: OperatorGate,
        metrics: MetricsRegistry,
        audit: @escaping @Sendable (AuditEvent) -> Bool
    ) {
        self.editor = editor
        self.gate = gate.answering(ManagementAnswer.envelope)
        self.metrics = metrics
        self.audit = audit
    }

    /// The change that an operator makes: the values of `sallyport_client_changes_total{act}`.
    private enum Act: String { case create, update, delete }

    /// The endpoints. They work off the event loops, because judging many clients takes milliseconds.
    package var endpoints: [Endpoint] {
        [
            Endpoint(
                path: "/api/v2/clients",
                methods: ["GET", "POST"],
                scope: .everyHost,
                bodyLimit: 65_536,
                outlivesClient: true,
                envelope: ManagementAnswer.envelope
            ) { request in
                await offLoop { request.method == "GET" ? await self.list(request) : await self.create(request) }
            },
            Endpoint(
                path: "/api/v2/clients/{id}",
                methods: ["GET", "PATCH", "DELETE"],
                scope: .everyHost,
                bodyLimit: 65_536,
                outlivesClient: true,
                envelope: ManagementAnswer.envelope,
                mergesSlashes: true,
                allowsEscapedParameters: true
            ) { request in
                await offLoop {
                    let id = request.pathParameter("id") ?? ""
                    return switch request.method {
                    case "GET": await self.show(id, request)
                    case "PATCH": await self.update(id, request)
                    default: await self.delete(id, request)
                    }
                }
            },
        ]
    }

    // MARK: Seeing

    private func list(_ request: EndpointRequest) async -> EndpointResponse {
        await self.gate.admit(request, .read, OperatorGate.Act("clients.list")) { _ in
            self.answer(request, ofList: true) { .json(200, $0.answer(self.editor.catalogue.clients, Self.object)) }
        }
    }

    private func show(_ id: String, _ request: EndpointRequest) async -> EndpointResponse {
        let act = OperatorGate.Act("clients.show", client: id)
        return await self.gate.admit(request, .read, act) { caller in
            self.answer(request, ofList: false) { query in
                guard let client = self.editor.catalogue.client(id) else {
                    return self.gate.refuse(.clientUnknown, caller, act, request)
                }
                return .json(200, query.selected(Self.object(client)))
            }
        }
    }

    private func answer(
        _ request: EndpointRequest,
        ofList isList: Bool,
        _ answer: (ClientQuery) -> EndpointResponse
    ) -> EndpointResponse {
        do throws(ClientQuery.Fault) {
            return answer(try ClientQuery(request, ofList: isList))
        } catch {
            return ManagementAnswer.refusal(.requestParameters, error.sentence, requestID: request.requestID)
        }
    }

    /// Returns Auth0's object. Its member `sallyport` has the client's source and its differences from the file.
    private static func object(_ client: ListedClient) -> JSONValue {
        var own: [String: JSONValue] = [
            "source": .string(!client.isInFile ? "runtime" : client.drift.isEmpty ? "file" : "file and runtime")
        ]
        if !client.drift.isEmpty {
            own["drift"] = .array(
                client.drift.map { drift in
                    var entry: [String: JSONValue] = ["member": .string(drift.path.isEmpty ? "(client)" : drift.path)]
                    if let mark = drift.mark {
                        entry["since"] = .string(mark.at.rfc3339)
                        entry["by"] = .string(mark.by)
                    }
                    return .object(entry)
                }
            )
        }
        if let fault = client.fault { own["withheld"] = .string(fault.sentence) }
        return client.members.merged(with: ["sallyport": .object(own)])
    }

    // MARK: Changing

    private func create(_ request: EndpointRequest) async -> EndpointResponse {
        await self.change(.create, nil, request) { (members, caller) throws(NotDone) in
            try await self.editor.create(members, by: caller.name)
        } answer: { outcome in
            var object = Self.object(outcome.client)
            if let secret = outcome.generated {
                object = object.merged(
                    with: ["client_secret": .string(String(decoding: secret.bytes, as: UTF8.self))]
                )
            }
            return .json(201, object)
        }
    }

    private func update(_ id: String, _ request: EndpointRequest) async -> EndpointResponse {
        await self.change(.update, id, request) { (members, caller) throws(NotDone) in
            try await self.editor.update(id, members, by: caller.name)
        } answer: {
            .json(200, Self.object($0.client))
        }
    }

    private func delete(_ id: String, _ request: EndpointRequest) async -> EndpointResponse {
        await self.change(.delete, id, request) { (_, caller) throws(NotDone) in
            try await self.editor.delete(id, by: caller.name)
        } answer: { _ in
            .noContent()
        }
    }

    private func change(
        _ act: Act,
        _ id: String?,
        _ request: EndpointRequest,
        _ step: (JSONValue, OperatorGate.Caller) async throws(NotDone) -> ClientEditor.Outcome,
        answer: (ClientEditor.Outcome) -> EndpointResponse
    ) async -> EndpointResponse {
        let operation = OperatorGate.Act("clients.\(act.rawValue)", client: id)
        return await self.gate.admit(request, .clients, operation) { caller throws(NotDone) in
            do throws(NotDone) {
                let members = try Self.members(request, act, id)
                let outcome = try await step(members, caller)
                self.count(act, "done")
                self.record(act, outcome, caller, request)
                return answer(outcome)
            } catch {
                self.gate.recordRefusal(error.reason, caller, operation, request)
                self.count(act, error.isUnavailable ? "unavailable" : "refused")
                guard let fault = error.text else { throw error }
                let text = "Payload validation error: \(fault)"
                return ManagementAnswer.refusal(error.reason, text, requestID: request.requestID)
            }
        }
    }

    /// Returns the JSON object in the body. Empty for a deletion.
    private static func members(
        _ request: EndpointRequest,
        _ act: Act,
        _ id: String?
    ) throws(NotDone) -> JSONValue {
        if act == .delete { return [:] }
        let type = request.field("content-type")?.prefix { $0 != ";" }.lowercased() ?? ""
        guard type == "application/json" || type == "application/merge-patch+json" else {
            throw self.fault("another media type", fix: "send Content-Type: application/json", id)
        }
        do throws(JSONFault) {
            return .object(try JSONText.object(request.body, maxDepth: 16))
        } catch {
            throw self.fault("a text that \(error.rawValue)", fix: "check the quotes and commas", id)
        }
    }

    private static func fault(_ found: String, fix: String, _ id: String?) -> NotDone {
        NotDone(
            ClientFault(
                of: id ?? "",
                key: "(the body)",
                found: found,
                allowed: "a JSON object in UTF-8 without repeated members, as application/json",
                fix: fix
            )
        )
    }

    // MARK: Records

    private func count(_ act: Act, _ result: String) {
        self.metrics.increment(self.metrics.counter(MetricNames.clientChanges, act.rawValue, result))
    }

    private func record(
        _ act: Act,
        _ outcome: ClientEditor.Outcome,
        _ caller: OperatorGate.Caller,
        _ request: EndpointRequest
    ) {
        // `OperatorGate` has recorded the call. This event says what the call changed.
        _ = self.audit(
            AuditEvent(
                .clientChanged,
                clientID: outcome.client.id,
                address: request.address.description,
                userAgent: request.field("user-agent"),
                requestID: request.requestID,
                details: [
                    ("act", act.rawValue), ("operator", caller.name), ("token", caller.tokenID),
                    ("members", outcome.changed.joined(separator: ",")),
                ]
            )
        )
    }
}
