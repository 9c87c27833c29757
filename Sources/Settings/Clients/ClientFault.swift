import Vocabulary

/// The reason why a client from the management API is rejected, in the words of a problem in the settings file.
package struct ClientFault: Error, Sendable, Hashable {
    /// The client whose member is wrong; `nil` if the change breaks another part of the settings.
    package let clientID: String?
    /// The path of the member in the client's object, e.g. `session_transfer.on_replay`, or of another key.
    package let key: String
    package let found: String
    package let allowed: String
    package let fix: String

    /// - Parameter ids: The ids of all clients, in the order in which the builder saw them.
    init(_ problem: SettingsProblem, ids: [String]) {
        var (key, fix) = (problem.key, problem.fix)
        var clientID: String?
        for (index, id) in ids.enumerated() where key.hasPrefix("clients[\(index)]") {
            key = String(key.dropFirst("clients[\(index)]".count).drop { $0 == "." })
            fix = fix.replacing("clients[\(index)].", with: "")
            // A secret from the API replaces the file of the client's secret.
            if key == "client_secret_file", problem.origin == .builtIn { key = "client_secret" }
            clientID = id
        }
        self.init(clientID: clientID, key: key, fix: fix, problem)
    }

    /// Creates the fault of a member that has another form in the API than in the file.
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
