internal import Vocabulary

/// A login flow in the shape of Kratos's API: a form of three inputs that a native app draws.
enum LoginFlowDocument {
    static let path = "/self-service/login"

    /// The error in a submitted form.
    enum Complaint: Sendable, Equatable {
        case credentials
        case missing(property: String)
        case method
    }

    /// - Parameters:
    ///   - origin: The configured origin of the host that the flow is submitted to.
    ///   - identifier: The user's input, to be shown again.
    static func value(
        _ flow: LoginFlow,
        origin: String,
        refresh: Bool = false,
        complaint: Complaint? = nil,
        identifier: String = ""
    ) -> JSONValue {
        var ui: [String: JSONValue] = [
            "action": .string("\(origin)\(self.path)?flow=\(flow.id)"),
            "method": "POST",
            "nodes": [
                self.input("csrf_token", "hidden", group: "default", value: ""),
                self.input(
                    "identifier",
                    "text",
                    group: "default",
                    value: .string(identifier),
                    label: (1_070_004, "ID"),
                    complaint: complaint
                ),
                self.input(
                    "password",
                    "password",
                    group: "password",
                    label: (1_070_001, "Password"),
                    complaint: complaint
                ),
                self.input(
                    "method",
                    "submit",
                    group: "password",
                    value: "password",
                    label: (1_010_022, "Sign in with password")
                ),
            ],
        ]
        switch complaint {
        case .credentials:
            ui["messages"] = [
                self.text(
                    4_000_006,
                    "error",
                    "The provided credentials are invalid, check for spelling mistakes in your password or username, "
                        + "email address, or phone number."
                )
            ]
        case .method:
            ui["messages"] = [
                self.text(
                    4_010_002,
                    "error",
                    "Could not find any strategy to log you in with. Did you choose the correct one?"
                )
            ]
        case .missing, nil:
            break
        }
        return [
            "id": .string(flow.id),
            "type": "api",
            "issued_at": .string(flow.issuedAt.rfc3339),
            "expires_at": .string(flow.expiresAt.rfc3339),
            "created_at": .string(flow.issuedAt.rfc3339),
            "updated_at": .string(flow.issuedAt.rfc3339),
            "request_url": .string("\(origin)\(self.path)/api"),
            "ui": .object(ui),
            "refresh": .bool(refresh),
            "requested_aal": "aal1",
            "state": "choose_method",
        ]
    }

    private static func input(
        _ name: String,
        _ type: String,
        group: String,
        value: JSONValue? = nil,
        label: (id: Int64, text: String)? = nil,
        complaint: Complaint? = nil
    ) -> JSONValue {
        var attributes: [String: JSONValue] = [
            "name": .string(name), "type": .string(type), "required": .bool(type != "submit"), "disabled": false,
            "node_type": "input",
        ]
        if let value { attributes["value"] = value }
        if type == "password" { attributes["autocomplete"] = "current-password" }
        let messages: [JSONValue] =
            complaint == .missing(property: name)
            ? [
                self.text(
                    4_000_002,
                    "error",
                    "Property \(name) is missing.",
                    context: ["property": .string(name)]
                )
            ] : []
        return [
            "type": "input",
            "group": .string(group),
            "attributes": .object(attributes),
            "messages": .array(messages),
            "meta": label.map { ["label": self.text($0.id, "info", $0.text)] } ?? [:],
        ]
    }

    private static func text(_ id: Int64, _ type: JSONValue, _ text: String, context: JSONValue = [:]) -> JSONValue {
        ["id": .integer(id), "type": type, "text": .string(text), "context": context]
    }
}
