package import Vocabulary

/// Refusals as problem documents (RFC 9457), whose `reason` is the stable id. The request's id is the only part of the
/// request in them.
package enum ProblemDocument {
    package static let mediaType = "application/problem+json"

    /// The document.
    ///
    /// - Parameters:
    ///   - detail: What happened, in words of the operator.
    ///   - requestID: Consists of token characters only, as every request id does; nil if there is no request.
    ///   - loginURL: Consists of the characters of a URL only.
    static func text(
        _ reason: Reason,
        _ refusal: Refusal,
        detail: String?,
        requestID: String?,
        loginURL: String?
    ) -> String {
        var text = Self.beginning(refusal.status)
        text += "\(Self.reason)\(reason.rawValue)\""
        if let detail { text += ",\"detail\":" + String(decoding: JSONText.encode(.string(detail)), as: UTF8.self) }
        if let requestID { text += ",\"request_id\":\"\(requestID)\"" }
        if let loginURL { text += ",\"login_url\":\"\(loginURL)\"" }
        text += "}\n"
        return text
    }

    /// The document for an answer whose status became another one after the document was made: the document's status and
    /// title are those of the answer (RFC 9457 3.1.2, 4.2.1), and everything else stays.
    ///
    /// - Parameter document: A document that `text` made.
    package static func restated(_ document: [UInt8], as status: Int) -> [UInt8] {
        // No title has a quote, so the first occurrence is the member.
        guard let rest = document.firstRange(of: Array(Self.reason.utf8)) else { return document }
        return Array(Self.beginning(status).utf8) + document[rest.lowerBound...]
    }

    private static let reason = ",\"reason\":\""

    /// The members that tell the status.
    private static func beginning(_ status: Int) -> String {
        #"{"type":"about:blank","title":"\#(StatusText.phrase(status))","status":\#(status)"#
    }
}

extension EndpointResponse {
    /// A refusal as a problem document.
    ///
    /// - Parameters:
    ///   - refusal: The answer, if it is another one than that of the reason.
    ///   - explanation: What happened, in words of the operator for the user; nil: what the reason says.
    ///   - requestID: The id of the request, by which the logs can be searched.
    ///   - wait: The remaining time of a rate limit.
    ///   - loginURL: Where a script can send its user to sign in (`SignInPath.url`); nil if signing in does not help.
    ///   - fields: Further fields; a `WWW-Authenticate` among them replaces the usual challenge.
    package static func problem(
        _ reason: Reason,
        as refusal: Refusal? = nil,
        explanation: String? = nil,
        requestID: String?,
        retryAfter wait: Duration? = nil,
        loginURL: String? = nil,
        fields: [(name: String, value: String)] = []
    ) -> EndpointResponse {
        let refusal = refusal ?? reason.refusal ?? .internalError
        var all: [(name: String, value: String)] = [
            ("content-type", ProblemDocument.mediaType), ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
        ]
        if refusal.challenge == .bearer, !fields.contains(where: { $0.name.lowercased() == "www-authenticate" }) {
            all.append(("www-authenticate", Refusal.Challenge.anyBearer))
        }
        all += refusal.retryFields(wait)
        all += fields
        let text = ProblemDocument.text(
            reason,
            refusal,
            detail: explanation,
            requestID: requestID,
            loginURL: loginURL
        )
        var response = EndpointResponse(
            status: refusal.status,
            fields: all,
            body: Array(text.utf8),
            reason: reason
        )
        response.explanation = explanation
        return response
    }
}

extension Refusal {
    /// `Retry-After`, where the refusal has one (RFC 9110 10.2.3).
    ///
    /// - Parameter wait: The remaining time of a rate limit.
    package func retryFields(_ wait: Duration? = nil) -> [(name: String, value: String)] {
        switch self.retryAfter {
        case .seconds(let seconds): [("retry-after", String(seconds))]
        case .limited: [("retry-after", (wait ?? .seconds(1)).retryAfter)]
        case nil: []
        }
    }
}
