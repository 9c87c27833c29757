import EndpointBench
import Endpoints
import Providers
import Settings
import SignOn
import Testing
import Vocabulary

/// What Ory's generated clients require of documents: the models of `ory-client` 1.22 and `ory-kratos-client` 25.4,
/// whose validation fails at the first member of another type.
@Suite("Documents for Ory's clients")
struct OryDocumentTests {
    private struct Invalid: Error, CustomStringConvertible {
        let description: String
    }

    private enum Demand: String {
        case uuid = "UUID", time = "datetime", text = "StrictStr", flag = "StrictBool", integer = "StrictInt"

        func isMet(by value: JSONValue) -> Bool {
            switch (self, value) {
            case (.uuid, .string(let text)):
                text.wholeMatch(of: /[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}/) != nil
            case (.time, .string(let text)): text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/) != nil
            case (.text, .string), (.flag, .bool), (.integer, .integer): true
            default: false
            }
        }
    }

    /// Checks the types of the members of `value`; members whose name ends with `!` must be present.
    private func check(_ value: JSONValue?, _ demands: [String: Demand], at path: String) throws {
        guard let value else { throw Invalid(description: "\(path) is missing") }
        for (name, demand) in demands {
            let member = value[name.hasSuffix("!") ? String(name.dropLast()) : name]
            if let member, member != .null {
                guard demand.isMet(by: member) else {
                    throw Invalid(description: "\(path).\(name) is no \(demand.rawValue): \(member)")
                }
            } else if name.hasSuffix("!") {
                throw Invalid(description: "\(path).\(name) is missing")
            }
        }
    }

    private func check(session: JSONValue?) throws {
        try self.check(
            session,
            [
                "id!": .uuid, "active": .flag, "expires_at": .time, "authenticated_at": .time, "issued_at": .time,
                "authenticator_assurance_level": .text,
            ],
            at: "session"
        )
        try self.check(
            session?["identity"],
            ["id!": .uuid, "external_id": .text, "schema_id!": .text, "schema_url!": .text, "state": .text],
            at: "session.identity"
        )
        #expect(session?["identity"]?["traits"] != nil)
        for device in try self.elements(session?["devices"]) {
            try self.check(
                device,
                ["id!": .uuid, "ip_address": .text, "user_agent": .text, "location": .text],
                at: "session.devices"
            )
        }
        for method in try self.elements(session?["authentication_methods"]) {
            try self.check(method, ["method": .text, "aal": .text, "completed_at": .time], at: "methods")
        }
    }

    private func check(flow: JSONValue?) throws {
        try self.check(
            flow,
            [
                "id!": .uuid, "expires_at!": .time, "issued_at!": .time, "created_at": .time, "updated_at": .time,
                "request_url!": .text, "type!": .text, "state!": .text, "refresh": .flag, "requested_aal": .text,
            ],
            at: "flow"
        )
        try self.check(flow?["ui"], ["action!": .text, "method!": .text], at: "flow.ui")
        for node in try self.elements(flow?["ui"]?["nodes"]) {
            try self.check(node, ["group!": .text, "type!": .text], at: "node")
            let attributes: [String: Demand] = [
                "disabled!": .flag, "name!": .text, "node_type!": .text, "type!": .text,
            ]
            try self.check(node["attributes"], attributes, at: "node.attributes")
            for message in try self.elements(node["messages"]) { try self.check(message: message) }
        }
        if let messages = flow?["ui"]?["messages"] {
            for message in try self.elements(messages) { try self.check(message: message) }
        }
    }

    private func check(message: JSONValue) throws {
        try self.check(message, ["id!": .integer, "text!": .text, "type!": .text], at: "message")
    }

    private func elements(_ value: JSONValue?) throws -> [JSONValue] {
        guard case .array(let elements) = value else {
            throw Invalid(description: "no list: \(String(describing: value))")
        }
        return elements
    }

    @Test("Flows, sign-ins, sessions and refused passwords have the types that the clients expect")
    func types() async throws {
        let gateway = try Gateway()
        try self.check(flow: try await gateway.send("GET", "/self-service/login/api").document)
        let signedIn = try await gateway.signInNative().document
        try self.check(signedIn, ["session_token": .text], at: "sign-in")
        try self.check(session: signedIn?["session"])
        let token = try #require(signedIn?["session_token"]?.string)
        try self.check(session: try await gateway.whoami(("x-session-token", token)).document)
        try self.check(session: try await gateway.session(try await gateway.signInBrowser()).document)
        let wrong = try await gateway.signInNative(#"{"method":"password","identifier":"a","password":"b"}"#)
        try self.check(flow: wrong.document)
        try self.check(flow: try await gateway.signInNative(#"{"method":"password","identifier":"a"}"#).document)
    }

    @Test(
        "The ids of a session, its device and its user are different, and stay the same wherever and whenever they are shown"
    )
    func stable() async throws {
        let gateway = try Gateway()
        let signedIn = try #require(try await gateway.signInNative().document)
        let token = try #require(signedIn["session_token"]?.string)
        let session = try #require(signedIn["session"])
        let later = try Gateway(beside: gateway, successor: Secret("the secret that followed, of thirty-two bytes too"))
        for gateway in [gateway, later] {
            #expect(try await gateway.whoami(("x-session-token", token)).document == session)
        }
        let ids = [session["id"], session["identity"]?["id"], session["devices"]?.first?["id"]].map { $0?.string }
        #expect(Set(ids).count == 3)
        // Apps store this id, so its value must never change.
        #expect(session["identity"]?["id"] == "6d05c16e-6dca-8b04-8425-1a2e78eeed0e")
        #expect(session["identity"]?["external_id"] == "9f1c")
        // Logs and headers have the gateway's own session id and the provider's own user id.
        #expect(gateway.audit.records.last?.sessionID?.hasPrefix("ses_") == true)
        let answer = try await gateway.whoami(("x-session-token", token))
        #expect(answer.value("x-kratos-authenticated-identity-id") == "9f1c")
        let other = try await gateway.signInNative().document?["session"]
        #expect(other?["identity"]?["id"] == session["identity"]?["id"])
        #expect(other?["id"] != session["id"] && other?["devices"]?.first?["id"] != session["devices"]?.first?["id"])
    }

    @Test("A user id that is already a UUID stays as it is spelled")
    func ownUUID() async throws {
        for id in ["9f425a8d-7efc-4768-8f23-7647a74fdf13", "9F425A8D-7EFC-4768-8F23-7647A74FDF13"] {
            let gateway = try Gateway(provider: StaticProvider(users: [try Gateway.alice(id: id)]))
            let session = try await gateway.signInNative().document?["session"]
            #expect(session?["identity"]?["id"] == .string(id))
            try self.check(session: session)
        }
    }
}
