package import Calls
import Sessions
import Vocabulary

/// The requests by which apps and browsers end sessions at Kratos itself.
extension KratosProvider {
    /// The native logout, which names a session token in its body.
    package static let nativeLogoutPath = "/self-service/logout/api"
    /// The logout of browsers, which a link leads to.
    package static let browserLogoutPath = "/self-service/logout"
    /// The sessions of the user who asks, and one of them.
    package static let sessionsPath = "/sessions"
    package static let sessionPath = "/sessions/{id}"
    /// Whose session the request presents.
    package static let whoamiPath = "/sessions/whoami"
    /// The methods by which sessions end at these paths, or are found to have ended. Some versions of Kratos take HEAD for GET.
    package static let ends = [
        KratosProvider.nativeLogoutPath: ["DELETE"], KratosProvider.browserLogoutPath: ["GET", "HEAD"],
        KratosProvider.sessionsPath: ["DELETE"], KratosProvider.sessionPath: ["DELETE"],
        KratosProvider.whoamiPath: ["GET", "HEAD"],
    ]

    /// Whose session a request to Kratos presents.
    package enum Holder: Sendable, Hashable {
        /// - Parameters:
        ///   - session: Kratos's id of the session.
        ///   - user: What the provider's settings call its user.
        case known(session: String, user: String)
        /// Nobody's: Kratos knows no such session.
        case nobody
        /// Kratos demands more of the user before it tells who that is.
        case hidden
        /// Kratos does not say.
        case unavailable
    }

    /// Asks Kratos whose session these fields present, in Kratos's own order of precedence.
    ///
    /// - Parameter wasKnown: Whether Kratos has said so before: then it is nobody's only if Kratos is ready to judge sessions.
    package func holder(
        _ credentials: [(name: String, value: String)],
        wasKnown: Bool = false
    ) async -> Holder {
        switch await self.whoami(credentials) {
        case .known(let token):
            guard let session = token.sessionID else { return .unavailable }
            return .known(session: session, user: token.identity.id)
        case .unknown, .ended:
            if wasKnown, await !self.isReady { return .unavailable }
            return .nobody
        case .insufficient: return .hidden
        case .unavailable: return .unavailable
        }
    }

    /// The most pages of a user's sessions that are read, and how long that may take.
    private static let mostPages = 4
    private static let listTimeLimit = Duration.seconds(2)
    /// The largest page in bytes: 250 sessions with their users.
    private static let pageLimit = 2_097_152

    /// Kratos's ids of the user's other live sessions, as far as Kratos says in time.
    package func otherSessions(_ credentials: [(name: String, value: String)]) async -> Set<String> {
        var ids: Set<String> = []
        let clock = ContinuousClock()
        let deadline = clock.now + Self.listTimeLimit
        for page in 1...Self.mostPages {
            let left = clock.now.duration(to: deadline)
            guard left > .zero else { break }
            // Kratos counts pages from 1, and has up to 250 sessions on each.
            var call = self.call("GET", "/sessions?per_page=250&page=\(page)", for: .session, fields: credentials)
            (call.bodyLimit, call.timeLimit) = (Self.pageLimit, left)
            guard let answer = try? await self.transport.send(call), answer.status == 200,
                case .array(let elements)? = answer.json(), !elements.isEmpty
            else { break }
            let found = Set(elements.compactMap { $0["id"]?.string })
            // A page that says nothing new is one that Kratos has given before.
            guard !found.isSubset(of: ids) else { break }
            ids.formUnion(found)
            if elements.count < 250 { break }
        }
        return ids
    }

    /// Passes a request on to Kratos.
    ///
    /// - Returns: Kratos's answer; `nil` if there is none, and Kratos may have done what was asked.
    package func pass(
        _ method: String,
        _ target: String,
        fields: [(name: String, value: String)],
        body: [UInt8]
    ) async -> CallAnswer? {
        // By `fields` alone: Kratos answers some requests by what they accept.
        var call = self.call(method, target, for: .revocation)
        call.fields = fields
        call.body = body
        do throws(CallError) {
            return try await self.transport.send(call)
        } catch {
            self.tellOutage(error.detail)
            return nil
        }
    }
}
