import AddressIntelligence
import Cryptography
package import Observability
import Sessions
package import Settings
package import SignOn
import Vocabulary

/// Lets operators in by their tokens, and records every call.
package struct OperatorGate: Sendable {
    /// What an operator asks for, for the record.
    package struct Act: Sendable {
        package var name: String
        package var subject: String?
        package var session: String?
        package var client: String?
        /// How the call is written, for a caller whose parameters cannot be understood.
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

    /// An operator who was let in.
    struct Caller {
        let name: String
        /// Tells tokens of one operator apart: the first digits of the hash that `admin.tokens_file` has.
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
    /// Counts calls without a good token; nil: they are not counted, because only operators reach the listener.
    private let tries: TryCounter?
    /// One address key: whoever has a good token is never counted.
    private static let perAddress = RateLimit("operator.address", burst: 50, interval: .seconds(1))
    /// Of the calls that are refused above it, one a minute is recorded: a flood must not fill the audit stream.
    private static let recorded = RateLimit("operator.throttled", burst: 1, interval: .seconds(60))
    /// How callers are refused; nil: with problem documents.
    private var envelope: RefusalEnvelope?

    /// - Parameters:
    ///   - tokens: The tokens that are valid now; a reload changes them.
    ///   - audit: Receives every call before it is answered; returns false when it has no room and the configuration forbids
    ///     unrecorded acts.
    ///   - tries: Counts calls without a good token, for each address; nil: they are not counted.
    package init(
        tokens: @escaping @Sendable () -> [OperatorToken],
        audit: @escaping @Sendable (AuditEvent) -> Bool,
        tries: TryCounter? = nil
    ) {
        self.tokens = tokens
        self.audit = audit
        self.tries = tries
    }

    /// The same gate for callers that parse no problem documents.
    func answering(_ envelope: @escaping RefusalEnvelope) -> OperatorGate {
        var gate = self
        gate.envelope = envelope
        return gate
    }

    /// Answers the request if its token has the scope.
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
        // All are compared, so that the time does not tell which one is similar.
        let known = self.tokens().filter { constantTimeEqual($0.digest, digest) }
        guard let first = known.first else { return await self.refuseStranger(act, request) }
        guard let token = known.first(where: { $0.scopes.contains(scope) }) else {
            return self.refuse(.operatorScope, Caller(first), act, request, needing: scope)
        }
        let caller = Caller(token)
        guard self.audit(self.event(.operatorActed, nil, caller, act, request)) else {
            return self.response(.gatewayOverloaded, request)
        }
        do throws(NotDone) {
            return try await answer(caller)
        } catch {
            return self.response(error.reason, request, Self.detail(of: error.reason, act, scope))
        }
    }

    /// Refuses a call without a good token, and counts it.
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

    /// Records one of the calls that are refused because there are too many.
    private func recordThrottled(_ reason: Reason, _ act: Act, _ request: EndpointRequest, _ address: [UInt8]) async {
        do throws(NotDone) {
            try await self.tries?.count([RateBucket(Self.recorded, address)], or: reason)
            self.recordRefusal(reason, nil, act, request)
        } catch {
            // Another one was recorded a short time ago.
        }
    }

    /// Refuses a call, also one of an operator who was let in, and records that.
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

    /// What an operator can do about a refusal; nil: the reason says all.
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
        // It is not the operator's own session that is unknown.
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
