package import Calls
package import Sessions
package import Settings
import Synchronization
package import Vocabulary

/// Verifies the session tokens and session cookies of Ory Kratos with `/sessions/whoami` of its public API.
package final class KratosProvider: TokenProvider {
    /// The maximum number of concurrent calls that verify sessions.
    private static let maxCalls = 256
    /// The maximum size of an answer in bytes.
    static let bodyLimit = 65_536
    /// The time limit of a call. Kratos answers in milliseconds, and requests wait for it.
    static let timeLimit = Duration.seconds(3)

    /// The URL of Kratos's public API.
    package let name: String
    package let configuration: String
    package let staleLifetime: Duration
    private let publicURL: String
    let adminURL: String?
    let cookieName: String
    let answers: KratosAnswer
    private let verdicts: SharedQuestions<PresentedToken, TokenVerdict>
    private let readiness: SharedQuestions<String, Bool>
    let transport: any CallTransport
    let clock: Clock
    let reportOutage: @Sendable (String) -> Void
    private let silence = Mutex(Silence())

    /// The latest series of calls that Kratos did not answer.
    private struct Silence {
        var count = 0
        var detail = ""
    }

    /// From this number of unanswered calls in a row, `failure` is set. Fewer may concern a single session.
    private static let longSilence = 3

    /// The reason why Kratos does not name the owners of sessions, after `longSilence` failed calls in a row; otherwise
    /// `nil`.
    package var failure: String? {
        self.silence.withLock { $0.count < Self.longSilence ? nil : $0.detail }
    }

    /// - Parameter reportOutage: Called with the reason why Kratos names no owner, without any part of the token.
    package init(
        _ settings: KratosSettings,
        transport: any CallTransport,
        clock: Clock,
        reportOutage: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.publicURL = settings.publicURL.description
        self.adminURL = settings.adminURL?.description
        self.name = self.publicURL
        self.cookieName = settings.cookieName
        self.staleLifetime = settings.staleLifetime
        self.answers = KratosAnswer(cacheLifetime: settings.cacheLifetime, names: settings.names)
        self.verdicts = SharedQuestions(most: Self.maxCalls, clock: clock) { verdict in
            if case .known = verdict { true } else { false }
        }
        self.readiness = SharedQuestions(most: 1, clock: clock)
        self.transport = transport
        self.clock = clock
        self.reportOutage = reportOutage
        self.configuration = VerdictConfiguration.text(
            ["kratos", self.publicURL, settings.cookieName] + settings.names.marks
        )
    }

    // MARK: Tokens and cookies

    package func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool { self.mayKnow(token, as: .native) }

    package func mayKnow(_ token: UnsafeRawBufferPointer, as kind: Session.Kind) -> Bool {
        switch kind {
        // `ory_st_` and 32 letters and digits. Older tokens have no prefix.
        case .native: (16...128).contains(token.count) && token.allSatisfy { Self.isOfToken($0) }
        // The value of a secure cookie in base64url.
        case .web:
            (16...4096).contains(token.count)
                && token.allSatisfy { Self.isOfToken($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "=") }
        }
    }

    private static func isOfToken(_ byte: UInt8) -> Bool { byte.isAlphanumeric || byte == UInt8(ascii: "_") }

    package func introspect(_ presented: PresentedToken) async -> TokenVerdict {
        if presented.isDoubted { return await self.judged(presented) }
        var question = PresentedToken(presented.token, as: presented.kind)
        question.wasGood = presented.wasGood
        let answer = await self.verdicts.answer(to: question, for: presented.caller) { await self.judged(presented) }
        guard let answer else {
            self.transport.withhold(.session)
            self.reportOutage(presented.refusal(of: "questions"))
            return .unavailable
        }
        return answer
    }

    /// Asks Kratos now, and returns its verdict.
    private func judged(_ presented: PresentedToken) async -> TokenVerdict {
        let verdict = await self.whoami([self.field(of: presented)], for: presented.caller)
        switch verdict {
        case .unknown, .ended:
            guard presented.wasGood else { return verdict.ofStranger }
            // A Kratos that is not ready says nothing about a session that was valid.
            guard await self.isReady else {
                self.reportOutage("it refuses a session that it has vouched for, and says that it is not ready")
                return .unavailable
            }
            return verdict
        case .known, .insufficient, .unavailable: return verdict
        }
    }

    /// Asks Kratos for the owner of the session that these fields present.
    ///
    /// - Parameter caller: The caller. `nil` for the caller of the current task.
    func whoami(_ credentials: [(name: String, value: String)], for caller: ProviderCaller? = nil) async -> TokenVerdict
    {
        var call = self.call("GET", Self.whoamiPath, for: .session, fields: credentials)
        call.caller = caller
        do throws(CallError) {
            let answer = try await self.transport.send(call)
            let verdict = self.answers.verdict(answer, now: self.clock.now())
            self.note(verdict == .unavailable ? Self.words(answer) : nil)
            return verdict
        } catch {
            self.note(error.detail)
            return .unavailable
        }
    }

    private static func words(_ answer: CallAnswer) -> String {
        let words = "it answers with status \(answer.status)"
        guard answer.status == 200 else { return words }
        do throws(JSONFault) {
            _ = try JSONText.object(answer.body, loneSurrogates: .replaced)
            return words + " and what is no session of a user"
        } catch {
            return words + " and a body that \(error.rawValue)"
        }
    }

    private func note(_ failure: String?) {
        if let failure { self.reportOutage(failure) }
        self.silence.withLock { silence in
            silence.count = failure == nil ? 0 : silence.count + 1
            silence.detail = failure ?? ""
        }
    }

    /// True if Kratos reports that it is ready. Kratos is asked when it refuses a session that it confirmed before: a
    /// Kratos that lost its database, or is being replaced, refuses everybody.
    var isReady: Bool {
        get async {
            let path = "/health/ready"
            let answer = await self.readiness.answer(to: path) {
                (try? await self.transport.send(self.call("GET", path, for: .health)))?.status == 200
            }
            return answer ?? false
        }
    }

    // MARK: Sign-out

    package func revoke(_ presented: PresentedToken, sessionID: String?) async -> Bool {
        do throws(CallError) {
            if let adminURL = self.adminURL, let sessionID, Self.isPathSegment(sessionID) {
                return try await self.revoke(sessionID, at: adminURL)
            }
            switch presented.kind {
            case .native: return try await self.revoke(token: presented.token)
            case .web: return try await self.revoke(cookie: presented)
            }
        } catch {
            return false
        }
    }

    /// Disables the session with the admin API. 404 means that the session does not exist.
    private func revoke(_ sessionID: String, at adminURL: String) async throws(CallError) -> Bool {
        let answer = try await self.transport.send(
            OutgoingCall(
                "DELETE",
                "\(adminURL)/admin/sessions/\(sessionID)",
                for: .revocation,
                timeLimit: Self.timeLimit
            )
        )
        return (200..<300).contains(answer.status) || answer.status == 404
    }

    /// Returns whether the text needs no encoding in a path. UUIDs need none.
    static func isPathSegment(_ text: String) -> Bool {
        text.utf8.allSatisfy { Self.isOfToken($0) || $0 == UInt8(ascii: "-") }
    }

    /// Signs out with the native logout. 403 means that the token is not, or no longer, one of Kratos's.
    private func revoke(token: Secret) async throws(CallError) -> Bool {
        var call = self.call("DELETE", "/self-service/logout/api", for: .revocation)
        call.fields.append(("content-type", "application/json"))
        call.body = JSONText.encode(["session_token": .string(String(decoding: token.bytes, as: UTF8.self))])
        let answer = try await self.transport.send(call)
        return (200..<300).contains(answer.status) || answer.status == 403
    }

    /// Signs out with the browser logout: requests a logout token for the cookie, then sends both. 401 means that the
    /// session has ended.
    private func revoke(cookie: PresentedToken) async throws(CallError) -> Bool {
        let field = self.field(of: cookie)
        let begun = try await self.transport.send(
            self.call("GET", "/self-service/logout/browser", for: .revocation, fields: [field])
        )
        guard begun.status != 401 else { return true }
        guard begun.status == 200, let token = begun.json()?["logout_token"]?.string
        else { return false }
        let path = "/self-service/logout?" + FormText.encoded([("token", token)])
        let answer = try await self.transport.send(self.call("GET", path, for: .revocation, fields: [field]))
        return (200..<400).contains(answer.status) || answer.status == 401
    }

    // MARK: Calls

    func call(
        _ method: String,
        _ path: String,
        for purpose: OutgoingCall.Purpose,
        fields: [(name: String, value: String)] = []
    ) -> OutgoingCall {
        OutgoingCall(
            method,
            self.publicURL + path,
            for: purpose,
            fields: [("accept", "application/json")] + fields,
            bodyLimit: Self.bodyLimit,
            timeLimit: Self.timeLimit
        )
    }

    /// Returns the field that presents the credential to Kratos. The credential has no character that could end the
    /// field or cookie.
    private func field(of presented: PresentedToken) -> (name: String, value: String) {
        let text = String(decoding: presented.token.bytes, as: UTF8.self)
        return presented.kind == .native ? ("x-session-token", text) : ("cookie", "\(self.cookieName)=\(text)")
    }
}

extension TokenVerdict {
    /// The verdict for a token that was never valid: `unknown` instead of `ended`, because no session came from it.
    fileprivate var ofStranger: TokenVerdict {
        if case .ended(let reason) = self { .unknown(reason) } else { self }
    }
}
