package import Vocabulary

/// Refusals as problem documents (RFC 9457). The member `reason` is a stable id (`Reason`).
package enum ProblemDocument {
    package static let mediaType = "application/problem+json"

    /// Returns a problem document as text.
    ///
    /// - Parameters:
    ///   - detail: A text for the user or operator who called. `nil` to leave the member out.
    ///   - requestID: The request's id. It is not escaped: token characters only. `nil` to leave the member out.
    ///   - loginURL: The URL of the sign-in page. It is not escaped. `nil` if signing in does not help.
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

    /// Returns `document` with the status and its title replaced (RFC 9457 3.1.2, 4.2.1).
    ///
    /// - Parameter document: A document that `text` made.
    package static func restated(_ document: [UInt8], as status: Int) -> [UInt8] {
        // No title contains a quotation mark, so the first match is the member `reason`.
        guard let rest = document.firstRange(of: Array(Self.reason.utf8)) else { return document }
        return Array(Self.beginning(status).utf8) + document[rest.lowerBound...]
    }

    private static let reason = ",\"reason\":\""

    /// Returns the beginning of a document: the members that depend on the status.
    private static func beginning(_ status: Int) -> String {
        #"{"type":"about:blank","title":"\#(StatusText.phrase(status))","status":\#(status)"#
    }
}

extension EndpointResponse {
    /// Returns a refusal as a problem document.
    ///
    /// - Parameters:
    ///   - refusal: The status, challenge and `Retry-After`. `nil` for the default of the reason.
    ///   - explanation: A text for the user or operator who called. `nil` for the gateway's text.
    ///   - requestID: The request's id, for searching the logs.
    ///   - wait: The remaining time of a rate limit.
    ///   - loginURL: The URL of the sign-in page (`SignInPath.url`). `nil` if signing in does not help.
    ///   - fields: Additional fields. `WWW-Authenticate` replaces the default challenge.
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
    /// Returns `Retry-After` if the refusal has one (RFC 9110 10.2.3).
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
