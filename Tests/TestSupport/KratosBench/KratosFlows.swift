import Cryptography
import Foundation
import GatewayBench
import Vocabulary

/// The login flows, the exchange of codes, and the documents.
extension KratosState {
    // MARK: Native

    mutating func beginNative(_ call: KratosCall) -> KratosAnswer {
        if let target = call.query["return_to"], !self.isAllowed(target) { return Self.returnToForbidden }
        var flow = self.newFlow(isAPI: true, call)
        if ["1", "t", "T", "TRUE", "true", "True"].contains(call.query["return_session_token_exchange_code"] ?? "") {
            let exchanger = Exchanger(
                initCode: Self.letters(64),
                returnToCode: Self.letters(64),
                flow: flow.id,
                session: nil
            )
            Secrets.shared.note(exchanger.initCode)
            Secrets.shared.note(exchanger.returnToCode)
            self.exchangers.append(exchanger)
            flow.code = exchanger.initCode
        }
        self.flows[flow.id] = flow
        return .json(200, self.document(of: flow))
    }

    /// Submits a flow. The password is `ada`.
    mutating func submit(_ call: KratosCall) -> KratosAnswer {
        guard let flow = self.flows[call.query["flow"] ?? ""] else { return .error(404, "unknown flow") }
        let form = Dictionary(FormText.pairs(call.body).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        func value(_ name: String) -> String? { call.document[name]?.string ?? form[name] }
        if value("method") == "oidc" {
            let url = "https://idp.example.com/auth?state=\(flow.id)"
            return .error(
                422,
                "In order to complete this flow please redirect the browser to: \(url)",
                id: "browser_location_change_required",
                message: "browser location change required",
                beside: ["redirect_browser_to": .string(url)]
            )
        }
        guard value("password") == "ada", let email = value("identifier") else {
            return .json(400, self.document(of: flow, error: "The provided credentials are invalid."))
        }
        let present = flow.isAPI ? nil : self.session(of: call).flatMap { $0.email == email ? $0 : nil }
        let session = present.map { self.refresh($0) } ?? self.newSession(email: email, aal: "aal1")
        if flow.isAPI {
            return .json(
                200,
                ["session_token": .string(session.token), "session": self.document(of: session)]
            )
        }
        let cookie = "ory_kratos_session=\(session.cookie); Path=/; HttpOnly; SameSite=Lax"
        return .redirect(to: flow.returnTo ?? self.publicURL + "/", [("Set-Cookie", cookie)])
    }

    /// The user comes back from another provider.
    mutating func comeBack(_ call: KratosCall) -> KratosAnswer {
        guard let id = call.query["state"], let flow = self.flows[id],
            let index = self.exchangers.firstIndex(where: { $0.flow == id })
        else { return .error(400, "unknown state") }
        if call.query["error"] == nil {
            self.exchangers[index].session = self.newSession(email: "ada@example.com", aal: "aal1").id
        }
        let target = flow.returnTo ?? self.publicURL
        return .redirect(to: "\(target)\(target.contains("?") ? "&" : "?")code=\(self.exchangers[index].returnToCode)")
    }

    func exchange(_ call: KratosCall) -> KratosAnswer {
        let (initCode, code) = (call.query["init_code"] ?? "", call.query["return_to_code"] ?? "")
        guard !initCode.isEmpty, !code.isEmpty else {
            return .error(
                400,
                "\"init_code\" and \"return_to_code\" query params must be set",
                message: "The request was malformed or contained invalid parameters"
            )
        }
        let none = KratosAnswer.error(
            404,
            "no session yet for this \"code\"",
            message: "The requested resource could not be found"
        )
        guard let exchanger = self.exchangers.first(where: { $0.initCode == initCode && $0.returnToCode == code })
        else {
            return none
        }
        guard let id = exchanger.session else {
            return self.flows[exchanger.flow].map { .json(422, self.document(of: $0)) } ?? none
        }
        guard let session = self.live({ $0.id == id }) else { return none }
        return .json(200, ["session_token": .string(session.token), "session": self.document(of: session)])
    }

    // MARK: Browser

    mutating func beginBrowser(_ call: KratosCall) -> KratosAnswer {
        if let target = call.query["return_to"], !self.isAllowed(target) { return Self.returnToForbidden }
        if self.session(of: call) != nil, call.query["refresh"] != "true", call.query["aal"] != "aal2" {
            return .redirect(to: call.query["return_to"] ?? self.publicURL + "/")
        }
        let flow = self.newFlow(isAPI: false, call)
        self.flows[flow.id] = flow
        let cookie = (
            name: "Set-Cookie", value: "csrf_token_ab12=\(Random.base64URL(12)); Path=/; HttpOnly; SameSite=Lax"
        )
        if call.isJSON { return .json(200, self.document(of: flow), [cookie]) }
        return .redirect(to: "\(self.publicURL)/ui/login?flow=\(flow.id)", [cookie])
    }

    func flow(_ call: KratosCall) -> KratosAnswer {
        self.flows[call.query["id"] ?? ""].map { .json(200, self.document(of: $0)) } ?? .error(404, "unknown flow")
    }

    private func newFlow(isAPI: Bool, _ call: KratosCall) -> Flow {
        Flow(id: UUID().uuidString.lowercased(), isAPI: isAPI, returnTo: call.query["return_to"], code: nil)
    }

    private func isAllowed(_ target: String) -> Bool {
        self.allowedReturnURLs.contains { target == $0 || target.hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") }
    }

    private static let returnToForbidden = KratosAnswer.error(
        400,
        "Requested return_to URL is not allowed.",
        id: "self_service_flow_return_to_forbidden",
        message: "The request was malformed or contained invalid parameters"
    )

    // MARK: Documents

    func document(of session: Session) -> JSONValue {
        let (issuedAt, authenticatedAt) = (Self.text(session.issuedAt), Self.text(session.authenticatedAt))
        var members: [String: JSONValue] = [
            "id": .string(session.id), "active": true,
            "expires_at": .string(Self.text(session.issuedAt.addingTimeInterval(self.lifespan))),
            "authenticated_at": .string(authenticatedAt), "issued_at": .string(issuedAt),
            "authenticator_assurance_level": .string(session.aal),
            "authentication_methods": [
                ["method": "password", "aal": "aal1", "completed_at": .string(authenticatedAt)]
            ],
            "identity": .null,
            "devices": [
                [
                    "id": "a1b2c3d4-0000-4000-8000-000000000001", "ip_address": "198.51.100.7", "user_agent": "test",
                    "location": "",
                ]
            ],
        ]
        if session.hasIdentity { members["identity"] = self.identity(of: session) }
        return .object(members)
    }

    func identity(of session: Session) -> JSONValue {
        let createdAt = Self.text(session.issuedAt)
        return [
            "id": .string(session.identityID), "schema_id": "default",
            "schema_url": .string("\(self.publicURL)/schemas/ZGVmYXVsdA"),
            "state": self.disabled.contains(session.email) ? "inactive" : "active",
            "traits": ["email": .string(session.email), "name": ["first": "Ada"]],
            "metadata_public": ["plan": "gold"],
            "created_at": .string(createdAt), "updated_at": .string(createdAt),
        ]
    }

    /// A time as Go writes it, with nine digits.
    private static func text(_ date: Date) -> String {
        let time = UnixTime(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
        return time.rfc3339.dropLast() + "123456Z"
    }

    func document(of flow: Flow, error: String? = nil) -> JSONValue {
        let now = Self.text(Date())
        let messages: JSONValue = error.map { [["id": 4_000_006, "text": .string($0), "type": "error"]] } ?? []
        func input(_ name: String, _ type: String, _ group: String, value: JSONValue? = nil) -> JSONValue {
            var attributes: [String: JSONValue] = [
                "name": .string(name), "type": .string(type), "disabled": false, "node_type": "input",
            ]
            attributes["value"] = value
            return [
                "type": "input", "group": .string(group), "attributes": .object(attributes), "messages": [],
                "meta": [:],
            ]
        }
        var members: [String: JSONValue] = [
            "id": .string(flow.id), "type": flow.isAPI ? "api" : "browser",
            "expires_at": .string(Self.text(Date().addingTimeInterval(3600))), "issued_at": .string(now),
            "request_url": .string("\(self.publicURL)/self-service/login/\(flow.isAPI ? "api" : "browser")"),
            "ui": [
                "action": .string("\(self.publicURL)/self-service/login?flow=\(flow.id)"), "method": "POST",
                "nodes": [
                    input("identifier", "text", "default"), input("password", "password", "password"),
                    input("provider", "submit", "oidc", value: "google"),
                ],
                "messages": messages,
            ],
            "created_at": .string(now), "updated_at": .string(now), "refresh": false, "requested_aal": "aal1",
            "state": "choose_method",
        ]
        members["return_to"] = flow.returnTo.map { .string($0) }
        members["session_token_exchange_code"] = flow.code.map { .string($0) }
        return .object(members)
    }
}
