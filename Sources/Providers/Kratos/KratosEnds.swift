package import Calls
import Sessions
import Vocabulary

/// The requests with which apps and browsers end sessions at Kratos itself.
extension KratosProvider {
    /// The path of the native logout. Its requests have the session token in the body.
    package static let nativeLogoutPath = "/self-service/logout/api"
    /// The path of the browser logout. Browsers follow a link to it.
    package static let browserLogoutPath = "/self-service/logout"
    /// The path of all sessions of the requesting user.
    package static let sessionsPath = "/sessions"
    package static let sessionPath = "/sessions/{id}"
    /// The path that describes the presented session.
    package static let whoamiPath = "/sessions/whoami"
    /// The methods that end sessions at each path, or find them ended. Some versions of Kratos treat HEAD as GET.
    package static let ends = [
        KratosProvider.nativeLogoutPath: ["DELETE"], KratosProvider.browserLogoutPath: ["GET", "HEAD"],
        KratosProvider.sessionsPath: ["DELETE"], KratosProvider.sessionPath: ["DELETE"],
        KratosProvider.whoamiPath: ["GET", "HEAD"],
    ]

    /// The owner of the session that a request to Kratos presents.
    package enum Holder: Sendable, Hashable {
        /// - Parameters:
        ///   - session: Kratos's id of the session.
        ///   - user: The user's name for apps and operators (`SubjectNames`).
        case known(session: String, user: String)
        /// Kratos does not know the session.
        case nobody
        /// Kratos requires another factor before it names the user.
        case hidden
        /// Kratos does not say.
        case unavailable
    }

    /// Asks Kratos for the owner of the session that these fields present. Kratos decides which field takes precedence.
    ///
    /// - Parameter wasKnown: True if Kratos named an owner before. Then the result is `nobody` only if Kratos is ready.
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

    /// The maximum number of pages of a user's sessions that are read within `listTimeLimit`.
    private static let maxPages = 4
    private static let listTimeLimit = Duration.seconds(2)
    /// The maximum size of a page in bytes: 250 sessions with their users.
    private static let pageLimit = 2_097_152

    /// Returns Kratos's ids of the user's other live sessions that Kratos lists in time.
    package func otherSessions(_ credentials: [(name: String, value: String)]) async -> Set<String> {
        var ids: Set<String> = []
        let clock = ContinuousClock()
        let deadline = clock.now + Self.listTimeLimit
        for page in 1...Self.maxPages {
            let left = clock.now.duration(to: deadline)
            guard left > .zero else { break }
            // Kratos numbers pages from 1, with up to 250 sessions on each.
            var call = self.call("GET", "/sessions?per_page=250&page=\(page)", for: .session, fields: credentials)
            (call.bodyLimit, call.timeLimit) = (Self.pageLimit, left)
            guard let answer = try? await self.transport.send(call), answer.status == 200,
                case .array(let elements)? = answer.json(), !elements.isEmpty
            else { break }
            let found = Set(elements.compactMap { $0["id"]?.string })
            // A page with nothing new repeats an earlier page.
            guard !found.isSubset(of: ids) else { break }
            ids.formUnion(found)
            if elements.count < 250 { break }
        }
        return ids
    }

    /// Passes a request on to Kratos.
    ///
    /// - Returns: Kratos's answer. `nil` if no answer arrives. Kratos may still have processed the request.
    package func pass(
        _ method: String,
        _ target: String,
        fields: [(name: String, value: String)],
        body: [UInt8]
    ) async -> CallAnswer? {
        // Only `fields` are sent, because some of Kratos's answers depend on what the request accepts.
        var call = self.call(method, target, for: .revocation)
        call.fields = fields
        call.body = body
        do throws(CallError) {
            return try await self.transport.send(call)
        } catch {
            self.reportOutage(error.detail)
            return nil
        }
    }
}
