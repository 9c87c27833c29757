package import NIOCore
package import Sessions
package import Vocabulary

/// Sends requests to a provider's endpoints.
package protocol CallTransport: Sendable {
    /// Sends a request. A repeatable request is retried once if a reused connection was lost before the answer.
    /// Redirects are not followed. A body longer than `bodyLimit` is an error.
    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer
    /// Counts a call that was not sent, because too many calls are in progress (`CallLimit`).
    func withhold(_ purpose: OutgoingCall.Purpose)
}

extension CallTransport {
    package func withhold(_ purpose: OutgoingCall.Purpose) {}
}

/// A request to a provider's endpoint.
package struct OutgoingCall: Sendable {
    /// What a call is for, as in metric labels.
    package enum Purpose: String, Sendable, CaseIterable {
        case metadata, keys, token, userinfo, introspection, revocation
        /// Calls to Kratos: the user of a session, readiness, the exchange of two codes for a session.
        case session, health, exchange
        /// A page for browsers. The gateway itself requests it only in `check --network`.
        case authorization
    }

    package var purpose: Purpose
    package var method: String
    /// An https URL, or an http URL that the transport allows (`EndpointURL`).
    package var url: String
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// A long body, sent without copying it. Replaces `body`.
    package var longBody: ByteBuffer?
    /// The maximum length of the answer's body in bytes.
    package var bodyLimit: Int
    /// The time limit from the call until the end of the answer.
    package var timeLimit: Duration
    /// True if `timeLimit` begins anew when the request is sent. A call that waits for a connection then fails unsent,
    /// and not while the provider acts on it.
    package var hasTimeForAnswer = false
    /// Who needs the answer; `nil` for the caller of the current task.
    package var caller: ProviderCaller?
    /// True if the server may receive the call twice, whatever the method.
    package var isHarmlessTwice = false

    package init(
        _ method: String,
        _ url: String,
        for purpose: Purpose = .token,
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        bodyLimit: Int = 262_144,
        timeLimit: Duration = .seconds(5)
    ) {
        self.purpose = purpose
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.bodyLimit = bodyLimit
        self.timeLimit = timeLimit
    }

    /// True if the answer serves all clients.
    var isShared: Bool {
        switch self.purpose {
        case .metadata, .keys, .health, .authorization: true
        case .token, .userinfo, .introspection, .revocation, .session, .exchange: false
        }
    }

    /// True if the provider may receive the call twice: `isHarmlessTwice`, or the call changes nothing (RFC 9110 9.2.2)
    /// and carries no DPoP proof. A proof is valid only once (RFC 9449 11.1).
    var isRepeatable: Bool {
        if self.isHarmlessTwice { return true }
        guard !self.fields.contains(where: { $0.name == "dpop" }) else { return false }
        switch self.purpose {
        // Kratos ends sessions and redeems codes with GET.
        case .revocation, .exchange: return false
        // A POST, but it only reads (RFC 7662 2.1).
        case .introspection: return true
        default: return self.method == "GET" || self.method == "HEAD"
        }
    }
}

/// A provider's answer.
package struct CallAnswer: Sendable {
    package var status: Int
    /// The header fields, with names in lower case.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Returns the value of the first field with this name, given in lower case.
    package func field(_ name: String) -> String? {
        self.fields.first { $0.name == name }?.value
    }

    /// Returns the body as JSON; `nil` if it is not JSON.
    package func json(maxDepth: Int = 32) -> JSONValue? {
        JSONText.decode(self.body, maxDepth: maxDepth, loneSurrogates: .replaced)
    }
}

/// Why a call has no answer.
package struct CallError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Cause: Sendable, Hashable {
        /// The host name cannot be resolved.
        case name
        case connection
        /// The proxy refuses to connect.
        case proxy
        /// The server's certificate is not trusted or not valid now.
        case certificate
        /// The server's certificate is for another name.
        case certificateName
        /// The server answers without TLS.
        case notTLS
        /// TLS failed for another reason.
        case tls
        case time
        /// The answer exceeds the size limit.
        case size
        case other

        /// The cause as shown in spans.
        package var label: String {
            switch self {
            case .certificateName: "certificate_name"
            case .notTLS: "not_tls"
            default: "\(self)"
            }
        }
    }

    /// True if the provider cannot have received the request. A retry is then safe.
    package var isUnsent: Bool
    /// What failed, without credentials, for logs and `check --network`.
    package var detail: String
    package var cause: Cause
    /// The status of an answer whose body is too long or compressed; `nil` for all other failures.
    package var status: Int?

    package var description: String { self.detail }

    package init(isUnsent: Bool, detail: String, cause: Cause = .other, status: Int? = nil) {
        self.status = status
        self.isUnsent = isUnsent
        self.detail = detail
        self.cause = cause
    }
}
