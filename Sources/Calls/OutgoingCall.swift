package import NIOCore
package import Sessions
package import Vocabulary

/// Sends requests to the endpoints of a provider.
package protocol CallTransport: Sendable {
    /// Sends a request once; a question twice if the connection on which it was sent first had served other calls and ended
    /// without a byte of an answer. Redirects are not followed, and a body over the call's limit is an error. TLS is verified.
    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer
    /// Counts a call that is not made, because too many are under way, or too many of its client (`CallLimit`).
    func withhold(_ purpose: OutgoingCall.Purpose)
}

extension CallTransport {
    package func withhold(_ purpose: OutgoingCall.Purpose) {}
}

/// A request to an endpoint of a provider.
package struct OutgoingCall: Sendable {
    /// What a call is for, in the names of metrics.
    package enum Purpose: String, Sendable, CaseIterable {
        case metadata, keys, token, userinfo, introspection, revocation
        /// Of Kratos: whose session it is, whether it is ready, and a session for two codes.
        case session, health, exchange
        /// Only for `check --network`: else a browser makes it.
        case authorization
    }

    package var purpose: Purpose
    package var method: String
    /// An absolute https URL; http only for loopback.
    package var url: String
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// A body that is long: it is sent as it is, in place of `body`.
    package var longBody: ByteBuffer?
    /// The largest answer in bytes.
    package var bodyLimit: Int
    /// From the call to the end of the answer.
    package var timeLimit: Duration
    /// Who needs it. `nil`: whoever the task in which it is sent works for.
    package var caller: ProviderCaller?
    /// Whether the server may receive it twice, whatever its method.
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

    /// Whether its answer serves all clients.
    var isShared: Bool {
        switch self.purpose {
        case .metadata, .keys, .health, .authorization: true
        case .token, .userinfo, .introspection, .revocation, .session, .exchange: false
        }
    }

    /// Whether the provider may receive it twice: it is a question, which changes nothing there (RFC 9110 9.2.2), and
    /// proves nothing that is good for one request only (RFC 9449 11.1).
    var isRepeatable: Bool {
        if self.isHarmlessTwice { return true }
        guard !self.fields.contains(where: { $0.name == "dpop" }) else { return false }
        switch self.purpose {
        // Kratos ends a session and redeems codes by GET.
        case .revocation, .exchange: return false
        // A question, although it is a POST (RFC 7662 2.1).
        case .introspection: return true
        default: return self.method == "GET" || self.method == "HEAD"
        }
    }
}

/// A provider's answer.
package struct CallAnswer: Sendable {
    package var status: Int
    /// Names in lower case.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The first field of this name (lower case).
    package func field(_ name: String) -> String? {
        self.fields.first { $0.name == name }?.value
    }

    /// The body as JSON; nil if it is none.
    package func json(maxDepth: Int = 32) -> JSONValue? {
        JSONText.decode(self.body, maxDepth: maxDepth, loneSurrogates: .replaced)
    }
}

/// Why there is no answer.
package struct CallError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Cause: Sendable, Hashable {
        /// The host's name has no address.
        case name
        case connection
        /// The proxy on the way does not let the gateway through.
        case proxy
        /// The authority of the server's certificate is not trusted, or the certificate is not valid now.
        case certificate
        /// The server's certificate is for another name.
        case certificateName
        /// The server answers without TLS.
        case notTLS
        /// Another failure of TLS.
        case tls
        case time
        /// The answer is larger than the limit.
        case size
        case other

        /// The word for spans.
        package var label: String {
            switch self {
            case .certificateName: "certificate_name"
            case .notTLS: "not_tls"
            default: "\(self)"
            }
        }
    }

    /// Whether the request cannot have reached the provider, so that repeating it is safe.
    package var isUnsent: Bool
    /// For logs and `check --network`: what failed, without credentials.
    package var detail: String
    package var cause: Cause

    package var description: String { self.detail }

    package init(isUnsent: Bool, detail: String, cause: Cause = .other) {
        self.isUnsent = isUnsent
        self.detail = detail
        self.cause = cause
    }
}
