import AddressIntelligence
import Cryptography
package import Observability
import Sessions
package import Settings
package import SignOn
import Vocabulary

/// Admits operators by their tokens, and records every call.
package struct OperatorGate: Sendable {
    /// The operation that an operator requests, as the audit stream records it.
    package struct Act: Sendable {
        package var name: String
        package var subject: String?
        package var session: String?
        package var client: String?
        /// The correct form of the call, for a caller whose parameters cannot be understood.
        package var usage: String?

        package init(
            _ name: String,
            subject: String? = nil,
            session: String? = nil,
            client: String? = nil,
            usage: String? = nil
        ) {
            self.name = name
            self.subject = subject
            self.session = session
            self.client = client.map { String($0.prefix(128)) }
            self.usage = usage
        }
    }

    /// An operator whose token is valid.
    struct Caller {
        let name: String
        /// The first digits of the token's hash in `admin.tokens_file`. They distinguish the tokens of one operator.
        let tokenID: String

        init(_ token: OperatorToken) {
            self.name = token.name
            var digits: [UInt8] = []
            for byte in token.digest.prefix(4) { Hexadecimal.append(byte, to: &digits) }
            self.tokenID = String(decoding: digits, as: UTF8.self)
        }
    }

    private let tokens: @Sendable () -> [OperatorToken]
    private let audit: @Sendable (AuditEvent) -> Bool
    /// Limits calls without a valid token. `nil` on the admin listener, which only operators reach.
    private let tries: TryCounter?
    /// The limit for each address key. Calls with a valid token are never counted.
    private static let perAddress = RateLimit("operator.address", burst: 50, interval: .seconds(1))
    /// The limit of recorded calls above `perAddress`: one per minute, so that a flood does not fill the audit stream.
    private static let recorded = RateLimit("operator.throttled", burst: 1, interval: .seconds(60))
    /// The form of refusals. `nil` for problem documents.
    private var envelope: RefusalEnvelope?

    /// - Parameters:
    ///   - tokens: The tokens that are valid now. A reload changes them.
    ///   - audit: Records every call before it is answered. Returns false if the call must not be answered without a
    ///     record (`log.audit_on_full: refuse`).
    ///   - tries: Limits calls without a valid token for each address. `nil` for no limit.
    package init(
        tokens: @escaping @Sendable () -> [OperatorToken],
        audit: @escaping @Sendable (AuditEvent) -> Bool,
        tries: TryCounter? = nil
    ) {
        self.tokens = tokens
        self.audit = audit
        self.tries = tries
    }

    /// Returns this gate with refusals in the format of `envelope`, for callers that do not parse problem documents.
    func answering(_ envelope: @escaping RefusalEnvelope) -> OperatorGate {
        var gate = self
        gate.envelope = envelope
        return gate
    }

    /// Records the request, and calls `answer` if the request's token has the scope. Otherwise refuses the request.
    func admit(
        _ request: EndpointRequest,
        _ scope: OperatorToken.Scope,
        _ act: Act,
        then answer: (Caller) async throws(NotDone) -> EndpointResponse
    ) async -> EndpointResponse {
        guard case .bearer(let presented) = request.credentials.authorization else {
            return await self.refuseStranger(act, request)
        }
        let digest = SHA256.digest(presented.bytes).bytes
        // All tokens are compared, so that the time does not reveal which one is similar.
        let known = self.tokens().filter { constantTimeEqual($0.digest, digest) }
        guard let first = known.first else { return await self.refuseStranger(act, request) }
        guard let token = known.first(where: { $0.scopes.contains(scope) }) else {
            return self.refuse(.operatorScope, Caller(first), act, request, needing: scope)
        }
        let caller = Caller(token)
        guard self.record(act, caller, request) else {
            return self.response(.gatewayOverloaded, request)
        }
        do throws(NotDone) {
            return try await answer(caller)
        } catch {
            return self.response(error.reason, request, Self.detail(of: error.reason, act, scope))
        }
    }

    /// Records an act of an admitted operator.
    ///
    /// - Returns: False if the act cannot be recorded and the configuration forbids unrecorded acts.
    func record(_ act: Act, _ caller: Caller, _ request: EndpointRequest) -> Bool {
        self.audit(self.event(.operatorActed, nil, caller, act, request))
    }

    /// Counts and refuses a call without a valid token.
    private func refuseStranger(_ act: Act, _ request: EndpointRequest) async -> EndpointResponse {
        let address = Array(request.address.key.description.utf8)
        do throws(NotDone) {
            try await self.tries?.count([RateBucket(Self.perAddress, address)], or: .operatorThrottled)
            return self.refuse(.operatorUnknown, nil, act, request)
        } catch {
            if !error.isUnavailable { await self.recordThrottled(error.reason, act, request, address) }
            return self.response(error.reason, request)
        }
    }

    /// Records a throttled call, at most one per minute for each address.
    private func recordThrottled(_ reason: Reason, _ act: Act, _ request: EndpointRequest, _ address: [UInt8]) async {
        do throws(NotDone) {
            try await self.tries?.count([RateBucket(Self.recorded, address)], or: reason)
            self.recordRefusal(reason, nil, act, request)
        } catch {
            // A refused call was recorded within the last minute, or the store cannot count.
        }
    }

    /// Records and refuses a call. `caller` is `nil` if the call has no valid token.
    func refuse(
        _ reason: Reason,
        _ caller: Caller?,
        _ act: Act,
        _ request: EndpointRequest,
        needing scope: OperatorToken.Scope? = nil
    ) -> EndpointResponse {
        self.recordRefusal(reason, caller, act, request)
        return self.response(reason, request, Self.detail(of: reason, act, scope))
    }

    /// Returns what an operator can do about a refusal. `nil` if the reason says everything.
    private static func detail(of reason: Reason, _ act: Act, _ scope: OperatorToken.Scope?) -> String? {
        switch reason {
        case .operatorUnknown: "send Authorization: Bearer with a token whose SHA-256 is in admin.tokens_file"
        case .operatorScope: scope.map { "the token lacks the scope \($0.rawValue) in admin.tokens_file" }
        case .requestParameters: act.usage.map { "write \($0)" }
        case .storeUnavailable: "the store cannot be asked: see /readyz?verbose"
        default: nil
        }
    }

    /// Records why a call is refused.
    func recordRefusal(_ reason: Reason, _ caller: Caller?, _ act: Act, _ request: EndpointRequest) {
        _ = self.audit(self.event(.operatorRefused, reason, caller, act, request))
    }

    private func response(_ reason: Reason, _ request: EndpointRequest, _ detail: String? = nil) -> EndpointResponse {
        // The unknown session is the requested session, not the operator's own, so the status is 404 instead of 401.
        let refusal: Refusal? = reason == .sessionUnknown ? .missing : nil
        return self.envelope?(reason, request.requestID)
            ?? .problem(reason, as: refusal, explanation: detail, requestID: request.requestID)
    }

    private func event(
        _ kind: AuditEvent.Kind,
        _ reason: Reason?,
        _ caller: Caller?,
        _ act: Act,
        _ request: EndpointRequest
    ) -> AuditEvent {
        AuditEvent(
            kind,
            reason: reason,
            subject: act.subject,
            session: act.session,
            clientID: act.client,
            address: request.address.description,
            userAgent: request.field("user-agent"),
            requestID: request.requestID,
            details: [("act", act.name)] + (caller.map { [("operator", $0.name), ("token", $0.tokenID)] } ?? [])
        )
    }
}
