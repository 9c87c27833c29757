import Settings
import SignOn
import Vocabulary

/// A flow in the format of Kratos's API: a form with inputs for a password and a button for each provider. The native
/// app draws the form.
struct FlowDocument: Sendable {
    /// The error in a submitted form.
    enum Complaint: Sendable, Equatable {
        case credentials
        case missing(property: String)
        case method
        /// The app asks for a sign-in in the browser without the required parameters.
        case browser(String)
        /// The id_token is not accepted.
        case idToken
    }

    let flow: KratosFlow
    /// The stored state of the flow. `nil` if nothing is stored.
    let kept: KeptFlow?
    /// The configured origin of the host that the flow is submitted to.
    let origin: String
    let hasPassword: Bool
    /// The providers for sign-in with the browser.
    let providers: [ExchangeSettings.Choice]
    var refresh = false
    var returnTo: String?
    var complaint: Complaint?
    /// The user's input, which the form shows again.
    var identifier = ""
    /// The app's exchange code, only in an answer to the app. `nil` if the answer contains no code.
    var code: Secret?

    static func path(_ kind: KeptFlow.Kind) -> String { "/self-service/\(kind.rawValue)" }

    func value() -> JSONValue {
        var ui: [String: JSONValue] = [
            "action": .string("\(self.origin)\(Self.path(self.flow.kind))?flow=\(self.flow.id)"), "method": "POST",
            "nodes": .array(self.nodes),
        ]
        if let message = self.message { ui["messages"] = [message] }
        let issuedAt = JSONValue.string((self.kept?.issuedAt ?? self.flow.issuedAt).rfc3339)
        var members: [String: JSONValue] = [
            "id": .string(self.flow.id),
            "type": "api",
            "issued_at": issuedAt,
            "expires_at": .string((self.kept?.expiresAt ?? self.flow.expiresAt).rfc3339),
            "created_at": issuedAt,
            "updated_at": issuedAt,
            "request_url": .string("\(self.origin)\(Self.path(self.flow.kind))/api"),
            "ui": .object(ui),
            "state": "choose_method",
        ]
        if self.flow.kind == .login {
            members["refresh"] = .bool(self.kept?.wish.demand.isAgain ?? self.refresh)
            members["requested_aal"] = .string((self.kept?.wish.demand.aal ?? .aal1).rawValue)
        }
        if let returnTo = self.kept?.wish.returnTo ?? self.returnTo { members["return_to"] = .string(returnTo) }
        if let schema = self.kept?.wish.schema { members["identity_schema"] = .string(schema) }
        if let code = self.code {
            members["session_token_exchange_code"] = .string(String(decoding: code.bytes, as: UTF8.self))
        }
        return .object(members)
    }

    private var nodes: [JSONValue] {
        var nodes = [self.input("csrf_token", "hidden", group: "default", value: "")]
        nodes += self.providers.map { choice in
            self.input(
                "provider",
                "submit",
                group: "oidc",
                value: .string(choice.id),
                label: (
                    self.flow.kind == .login ? 1_010_002 : 1_040_002,
                    "Sign \(self.flow.kind == .login ? "in" : "up") with \(choice.label)"
                ),
                context: ["provider": .string(choice.label), "provider_id": .string(choice.id)]
            )
        }
        guard self.hasPassword else { return nodes }
        nodes += [
            self.input(
                "identifier",
                "text",
                group: "default",
                value: .string(self.identifier),
                label: (1_070_004, "ID")
            ),
            self.input("password", "password", group: "password", label: (1_070_001, "Password")),
            self.input(
                "method",
                "submit",
                group: "password",
                value: "password",
                label: (1_010_022, "Sign in with password")
            ),
        ]
        return nodes
    }

    /// The message of the form as a whole. `nil` if none exists.
    private var message: JSONValue? {
        switch self.complaint {
        case .credentials:
            return self.text(
                4_000_006,
                "error",
                "The provided credentials are invalid, check for spelling mistakes in your password or username, "
                    + "email address, or phone number."
            )
        case .method:
            return self.text(
                self.flow.kind == .login ? 4_010_002 : 4_040_002,
                "error",
                "Could not find any strategy to \(self.flow.kind == .login ? "log you in" : "sign you up") with. "
                    + "Did you choose the correct one?"
            )
        case .browser(let text): return self.text(4_000_001, "error", text)
        case .idToken: return self.text(4_000_001, "error", "The id_token was not accepted.")
        case .missing: return nil
        case nil:
            return self.kept?.failure.map { failure in
                self.text(
                    4_000_001,
                    "error",
                    failure.explanation ?? Self.words(failure.reason),
                    context: ["reason": .string(failure.reason.rawValue)]
                )
            }
        }
    }

    /// Returns a sentence for the app's user about why the browser's sign-in failed.
    private static func words(_ reason: Reason) -> String {
        switch reason {
        case .signInCancelled: "The sign-in was cancelled."
        case .signInFlowExpired: "The sign-in took too long. Please try again."
        case .signInStateMismatch: "The sign-in could not be completed in the browser. Please try again."
        case .signInBlocked, .signInNotAllowed: "This account is not allowed here."
        case .signInInsufficient: "A stronger or more recent sign-in is required."
        case .ruleDenied: "Access denied."
        default: "The sign-in failed. Please try again."
        }
    }

    private func input(
        _ name: String,
        _ type: String,
        group: String,
        value: JSONValue? = nil,
        label: (id: Int64, text: String)? = nil,
        context: JSONValue = [:]
    ) -> JSONValue {
        var attributes: [String: JSONValue] = [
            "name": .string(name), "type": .string(type), "required": .bool(type != "submit"), "disabled": false,
            "node_type": "input",
        ]
        if let value { attributes["value"] = value }
        if type == "password" { attributes["autocomplete"] = "current-password" }
        let messages: [JSONValue] =
            self.complaint == .missing(property: name)
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
            "meta": label.map { ["label": self.text($0.id, "info", $0.text, context: context)] } ?? [:],
        ]
    }

    private func text(_ id: Int64, _ type: JSONValue, _ text: String, context: JSONValue = [:]) -> JSONValue {
        ["id": .integer(id), "type": type, "text": .string(text), "context": context]
    }
}
