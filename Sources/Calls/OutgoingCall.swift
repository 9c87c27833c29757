package import NIOCore
package import Sessions
package import Vocabulary

/// Sends requests to the endpoints of a provider.
package protocol CallTransport: Sendable {
    /// Sends a request once. A repeatable request is retried once if a reused connection ended without a byte of an
    /// answer. Redirects are not followed. A body over the call's limit is an error. The server's certificate is
    /// verified.
    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer
    /// Counts a call that is not sent because too many calls are under way, in total or for its client (`CallLimit`).
    func withhold(_ purpose: OutgoingCall.Purpose)
}

extension CallTransport {
    package func withhold(_ purpose: OutgoingCall.Purpose) {}
}

/// A request to an endpoint of a provider.
package struct OutgoingCall: Sendable {
    /// The purpose of a call, as metrics name it.
    package enum Purpose: String, Sendable, CaseIterable {
        case metadata, keys, token, userinfo, introspection, revocation
        /// Purposes of calls to Kratos: a session's owner, readiness, and the exchange of two codes for a session.
        case session, health, exchange
        /// A call that browsers make. The gateway makes it only in `check --network`.
        case authorization
    }

    package var purpose: Purpose
    package var method: String
    /// An absolute https URL, or an http URL for loopback.
    package var url: String
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// A long body, which replaces `body` and is sent without a copy.
    package var longBody: ByteBuffer?
    /// The size limit of the answer in bytes.
    package var bodyLimit: Int
    /// The time limit from the call to the end of the answer.
    package var timeLimit: Duration
    /// The caller who needs the answer; `nil` for the caller of the current task.
    package var caller: ProviderCaller?
    /// Whether the server may receive the call twice, whatever its method.
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

    /// Whether the answer serves all clients, as metadata and keys do.
    var isShared: Bool {
        switch self.purpose {
        case .metadata, .keys, .health, .authorization: true
        case .token, .userinfo, .introspection, .revocation, .session, .exchange: false
        }
    }

    /// Whether the provider may receive the call twice. A repeatable call changes nothing at the provider (RFC 9110
    /// 9.2.2) and carries no proof that is valid for one request only (RFC 9449 11.1).
    var isRepeatable: Bool {
        if self.isHarmlessTwice { return true }
        guard !self.fields.contains(where: { $0.name == "dpop" }) else { return false }
        switch self.purpose {
        // Kratos ends a session and redeems codes by GET.
        case .revocation, .exchange: return false
        // Introspection only reads, although it is a POST (RFC 7662 2.1).
        case .introspection: return true
        default: return self.method == "GET" || self.method == "HEAD"
        }
    }
}

/// A provider's answer.
package struct CallAnswer: Sendable {
    package var status: Int
    /// The fields, with names in lower case.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Returns the value of the first field with this name (lower case).
    package func field(_ name: String) -> String? {
        self.fields.first { $0.name == name }?.value
    }

    /// Returns the body as JSON; `nil` if it is not JSON.
    package func json(maxDepth: Int = 32) -> JSONValue? {
        JSONText.decode(self.body, maxDepth: maxDepth, loneSurrogates: .replaced)
    }
}

/// The reason why a call has no answer.
package struct CallError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Cause: Sendable, Hashable {
        /// The host's name has no address.
        case name
        case connection
        /// The proxy on the way rejects the gateway.
        case proxy
        /// The authority of the server's certificate is not trusted, or the certificate is not valid now.
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

        /// The name of the cause in spans.
        package var label: String {
            switch self {
            case .certificateName: "certificate_name"
            case .notTLS: "not_tls"
            default: "\(self)"
            }
        }
    }

    /// Whether the request cannot have reached the provider, so that a retry is safe.
    package var isUnsent: Bool
    /// The failure in words, without credentials, for logs and `check --network`.
    package var detail: String
    package var cause: Cause

    package var description: String { self.detail }

    package init(isUnsent: Bool, detail: String, cause: Cause = .other) {
        self.isUnsent = isUnsent
        self.detail = detail
        self.cause = cause
    }
}
