import Vocabulary

/// The reason why the management API rejects a client, with the parts of a `SettingsProblem`.
package struct ClientFault: Error, Sendable, Hashable {
    /// The client whose member is wrong; `nil` if the change breaks another part of the settings.
    package let clientID: String?
    /// The path of the member in the client's object, such as `session_transfer.on_replay`, or of another settings key.
    package let key: String
    package let found: String
    package let allowed: String
    package let fix: String

    /// - Parameter ids: The ids of all clients, in the order of `clients` in the tree of the builder.
    init(_ problem: SettingsProblem, ids: [String]) {
        var (key, fix) = (problem.key, problem.fix)
        var clientID: String?
        for (index, id) in ids.enumerated() where key.hasPrefix("clients[\(index)]") {
            key = String(key.dropFirst("clients[\(index)]".count).drop { $0 == "." })
            fix = fix.replacing("clients[\(index)].", with: "")
            // `ClientBase` passes a secret from the API to the builder as a file.
            if key == "client_secret_file", problem.origin == .builtIn { key = "client_secret" }
            clientID = id
        }
        self.init(clientID: clientID, key: key, fix: fix, problem)
    }

    /// Creates a fault that only the management API finds, such as an invalid `client_secret`.
    package init(of clientID: String, key: String, found: String, allowed: String, fix: String) {
        self.clientID = clientID
        self.key = key
        self.found = found
        self.allowed = allowed
        self.fix = fix
    }

    init(clientID: String?, key: String? = nil, fix: String? = nil, _ problem: SettingsProblem) {
        self.clientID = clientID
        self.key = key ?? problem.key
        self.found = problem.found
        self.allowed = problem.allowed
        self.fix = fix ?? problem.fix
    }

    /// The fault as text, e.g. `session_transfer.on_replay: found "end"; allowed: refuse or revoke_derived; write …`.
    package var sentence: String { "\(self.key): found \(self.found); allowed: \(self.allowed); \(self.fix)" }
}
