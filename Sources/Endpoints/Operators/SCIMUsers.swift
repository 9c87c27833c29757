import Settings
package import SignOn
import Vocabulary

/// The users of a provider by SCIM 2.0 (RFC 7644). Serve these endpoints on the admin and management listeners only.
///
/// ```
/// GET                 /scim/v2/Users          all users, or with filter= the one with a userName or externalId
/// POST                /scim/v2/Users          creates a user
/// GET, PUT, PATCH     /scim/v2/Users/{id}
/// DELETE              /scim/v2/Users/{id}     forgets a user, and blocks the user
/// GET                 /scim/v2/ServiceProviderConfig, /ResourceTypes[/User], /Schemas[/ID]
/// ```
///
/// Providers use SCIM to deactivate users. A deactivated user is blocked like a user whom an operator blocks.
package struct SCIMUsers: Sendable {
    private static let path = "/scim/v2"
    /// The maximum number of users in a list. Clients ask for the rest by `startIndex`.
    static let largestPage = 1000
    /// The number of users in a list if the client does not say how many it wants.
    private static let usualPage = 100

    private let provisioning: Provisioning
    private let gate: OperatorGate

    package init(provisioning: Provisioning, gate: OperatorGate) {
        self.provisioning = provisioning
        self.gate = gate.answering(SCIMAnswer.envelope)
    }

    package var endpoints: [Endpoint] {
        let discovery = SCIMDiscovery.documents.map { path, document in
            self.endpoint(path, ["GET"]) { request in
                await self.answer(request, "discover") { _ in .json(200, document) }
            }
        }
        return discovery + [
            self.endpoint("/Users", ["GET", "POST"]) { request in
                request.method == "GET" ? await self.list(request) : await self.user(nil, request)
            },
            self.endpoint("/Users/{id}", ["GET", "PUT", "PATCH", "DELETE"]) { request in
                await self.user(request.pathParameter("id") ?? "", request)
            },
            self.endpoint("/**", ["GET", "POST", "PUT", "PATCH", "DELETE"]) { request in
                await self.answer(request, "refuse") { _ throws(NotDone) in throw NotDone(.scimUnsupported) }
            },
        ]
    }

    private func endpoint(
        _ path: String,
        _ methods: [String],
        answer: @escaping @Sendable (EndpointRequest) async -> EndpointResponse
    ) -> Endpoint {
        Endpoint(
            path: Self.path + path,
            methods: methods,
            scope: .everyHost,
            bodyLimit: 65_536,
            outlivesClient: true,
            envelope: SCIMAnswer.envelope,
            mergesSlashes: true,
            allowsEscapedParameters: true
        ) { SCIMAnswer.typed(await answer($0)) }
    }

    private static func location(_ user: ProvisionedUser, _ request: EndpointRequest) -> String {
        "\(request.origin)\(self.path)/Users/\(user.id)"
    }

    // MARK: Users

    private func list(_ request: EndpointRequest) async -> EndpointResponse {
        await self.answer(request, "list") { _ throws(NotDone) in
            let filters = request.parameters("filter")
            guard filters.count <= 1 else {
                throw NotDone(.scimInvalid, text: "filter is repeated", detail: "invalidFilter")
            }
            var filter: (attribute: ProvisionedAttribute, value: String)?
            if let text = filters.first { filter = try SCIMBody.filter(text) }
            let found = try await self.provisioning.users(where: filter)
            // RFC 7644 3.4.2.4: a smaller index means 1, and a negative count means 0.
            let start = max(1, try Self.number("startIndex", request) ?? 1)
            let count = min(max(0, try Self.number("count", request) ?? Self.usualPage), Self.largestPage)
            let shown = found.dropFirst(start - 1).prefix(count).map { SCIMAnswer.user($0, Self.location($0, request)) }
            return .json(200, SCIMAnswer.list(shown, of: found.count, from: start))
        }
    }

    private static func number(_ name: String, _ request: EndpointRequest) throws(NotDone) -> Int? {
        let values = request.parameters(name)
        guard let text = values.first else { return nil }
        guard values.count == 1, let number = Int(text) else {
            throw NotDone(.scimInvalid, text: "\(name) is not a number", detail: "invalidValue")
        }
        return number
    }

    /// Answers a request about one user.
    ///
    /// - Parameter id: The user's id. `nil` to create a user.
    private func user(_ id: String?, _ request: EndpointRequest) async -> EndpointResponse {
        let acts = ["POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"]
        return await self.answer(request, acts[request.method] ?? "show") { caller throws(NotDone) in
            let user: ProvisionedUser
            switch request.method {
            case "GET": user = try await self.provisioning.user(id ?? "")
            case "DELETE":
                try await self.provisioning.delete(id ?? "", by: caller)
                return .noContent()
            case "PATCH": user = try await self.provisioning.save(try SCIMBody.patch(request.body), as: id, by: caller)
            default: user = try await self.provisioning.save(try SCIMBody.user(request.body), as: id, by: caller)
            }
            let location = Self.location(user, request)
            let document = SCIMAnswer.user(user, location)
            return id == nil ? .json(201, document, fields: [("location", location)]) : .json(200, document)
        }
    }

    // MARK: Callers

    private func answer(
        _ request: EndpointRequest,
        _ name: String,
        _ answer: (Provisioning.Caller) async throws(NotDone) -> EndpointResponse
    ) async -> EndpointResponse {
        let act = OperatorGate.Act("scim.\(name)")
        return await self.gate.admit(request, .scim, act) { caller throws(NotDone) in
            let record: @Sendable (Bool, String) throws(NotDone) -> Void = { (isBlocked, subject) throws(NotDone) in
                let act = OperatorGate.Act(isBlocked ? "subjects.block" : "subjects.unblock", subject: subject)
                guard self.gate.record(act, caller, request) || !isBlocked else { throw NotDone(.gatewayOverloaded) }
            }
            do throws(NotDone) {
                return try await answer((caller.name, request.requester.withoutCookies, record))
            } catch {
                if !error.isUnavailable { self.gate.recordRefusal(error.reason, caller, act, request) }
                return SCIMAnswer.refusal(error, requestID: request.requestID)
            }
        }
    }
}
