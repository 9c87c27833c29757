import Calls
import Sessions
import Settings
import Vocabulary

/// Reads and judges the answers of Kratos's `/sessions/whoami`.
struct KratosAnswer: Sendable {
    /// The configured maximum time for which a session is used without asking Kratos.
    let cacheLifetime: Duration
    /// The names that Kratos's users have at the gateway.
    let names: SubjectNames

    /// Returns the verdict in an answer: `ended` if the session is unknown to Kratos, inactive or expired. Only a
    /// session, Kratos's own 401 and its request for another factor say something about the credential. Too many
    /// requests (429), errors (5xx), and answers of other software at the URL do not.
    func verdict(_ answer: CallAnswer, now: UnixTime) -> TokenVerdict {
        guard let document = answer.json() else { return .unavailable }
        switch answer.status {
        case 200:
            return KratosSession(document)?.verdict(named: self.names, cachedFor: self.lifetime(answer), now: now)
                ?? .unavailable
        case 401:
            return Self.isUnauthorized(document) ? .ended(.credentialInvalidToken) : .unavailable
        case 403:
            guard Self.error(document)?["id"] == "session_aal2_required" else { return .unavailable }
            return .insufficient(ProviderDemand(page: Self.page(document), document: answer.body))
        default:
            return .unavailable
        }
    }

    /// What an answer of the admin API says about a user.
    enum User: Sendable, Equatable {
        case active(Identity)
        /// The user may no longer sign in, or no longer exists.
        case gone
        /// The answer says nothing about the user.
        case unknown
    }

    /// Reads an answer of `GET /admin/identities/{id}`. Only Kratos's own 404 says that the user no longer exists.
    func user(_ answer: CallAnswer) -> User {
        guard let document = answer.json() else { return .unknown }
        if answer.status == 404, Self.error(document)?["code"] == 404 { return .gone }
        guard answer.status == 200, let members = document.members,
            let identity = KratosSession.identity(members)?.named(by: self.names)
        else { return .unknown }
        switch members["state"] ?? "active" {
        case "active": return .active(identity)
        case "inactive": return .gone
        default: return .unknown
        }
    }

    /// Returns how long a session may be used. `Ory-Session-Cache-For`, in seconds, limits the configured time. Kratos
    /// sends this field if its feature `cacheable_sessions` is on.
    private func lifetime(_ answer: CallAnswer) -> Duration {
        guard let text = answer.field("ory-session-cache-for"), (1...9).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text)
        else { return self.cacheLifetime }
        return min(self.cacheLifetime, .seconds(seconds))
    }

    /// Returns whether the document is Kratos's own error 401. Any other document comes from a proxy instead of Kratos
    /// and says nothing about a session.
    private static func isUnauthorized(_ document: JSONValue) -> Bool { self.error(document)?["code"] == 401 }

    /// Returns the `error` of Kratos's envelope.
    private static func error(_ document: JSONValue) -> JSONValue? {
        guard let error = document["error"], error["code"] != nil else { return nil }
        return error
    }

    /// Returns `redirect_browser_to`, a URL for a browser. `nil` unless it is an absolute http or https URL.
    private static func page(_ document: JSONValue) -> String? {
        guard let text = document["redirect_browser_to"]?.string,
            text.hasPrefix("https://") || text.hasPrefix("http://"), text.utf8.count <= 2048,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
    }
}
