import Calls
import Sessions
import Settings
import Vocabulary

/// An answer of Kratos's `/sessions/whoami`, read and judged.
struct KratosAnswer: Sendable {
    /// The configured limit on how long a session is used.
    let cacheLifetime: Duration
    /// What the users are called.
    let names: SubjectNames

    /// The verdict in an answer: `ended` if Kratos knows no such session, or one that is over. Only a session, Kratos's own 401
    /// and its demand for another factor say something about the credential. Too many requests (429), errors (5xx), and answers
    /// of something else that listens there do not.
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

    /// `Ory-Session-Cache-For` in seconds, which Kratos sends if its feature `cacheable_sessions` is on, limits the
    /// configured time.
    private func lifetime(_ answer: CallAnswer) -> Duration {
        guard let text = answer.field("ory-session-cache-for"), (1...9).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text)
        else { return self.cacheLifetime }
        return min(self.cacheLifetime, .seconds(seconds))
    }

    /// Whether the document is Kratos's envelope of a 401. One of another error is not Kratos's word about a session, but a
    /// failure that something on the way has given this status.
    private static func isUnauthorized(_ document: JSONValue) -> Bool { self.error(document)?["code"] == 401 }

    /// The `error` of Kratos's envelope.
    private static func error(_ document: JSONValue) -> JSONValue? {
        guard let error = document["error"], error["code"] != nil else { return nil }
        return error
    }

    /// `redirect_browser_to`: a URL for a browser, of which only an absolute one of the web is followed.
    private static func page(_ document: JSONValue) -> String? {
        guard let text = document["redirect_browser_to"]?.string,
            text.hasPrefix("https://") || text.hasPrefix("http://"), text.utf8.count <= 2048,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
    }
}
