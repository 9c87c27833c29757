package import Endpoints
package import Vocabulary

/// An answer that the gateway itself gives: a refusal, a redirect, or an endpoint's answer.
package struct LocalAnswer: Sendable {
    package var response: EndpointResponse
    /// True if the connection cannot carry another request.
    package var closes: Bool
    /// True if the body is a problem document (RFC 9457).
    package let isProblem: Bool

    package init(_ response: EndpointResponse, closes: Bool = false) {
        self.response = response
        self.closes = closes
        self.isProblem = response.fields.contains {
            $0.name == "content-type" && $0.value == ProblemDocument.mediaType
        }
    }

    /// Returns a refusal as a problem document (RFC 9457). The reason determines its status.
    ///
    /// - Parameters:
    ///   - explanation: The text about what happened. `nil` for the text of the reason.
    ///   - loginURL: The URL at which the user can sign in. `nil` if signing in does not help.
    ///   - fields: Further fields, such as `Allow`. A `WWW-Authenticate` field replaces the usual challenge.
    ///   - closes: True to close the connection even if `reason` does not require closing.
    package static func problem(
        _ reason: Reason,
        explanation: String? = nil,
        requestID: RequestID? = nil,
        loginURL: String? = nil,
        fields: [(name: String, value: String)] = [],
        closes: Bool = false
    ) -> LocalAnswer {
        LocalAnswer(
            .problem(reason, explanation: explanation, requestID: requestID?.text, loginURL: loginURL, fields: fields),
            closes: closes || reason.refusal?.closes ?? false
        )
    }

    /// Returns a refusal in the format of another protocol. Returns any other answer unchanged.
    package func enclosed(in envelope: RefusalEnvelope, requestID: RequestID) -> LocalAnswer {
        guard self.isProblem, let reason = self.response.reason else { return self }
        return self.rendered(as: envelope(reason, requestID.text))
    }

    /// Returns `response` and adds the fields of this answer that `response` lacks.
    func rendered(as response: EndpointResponse) -> LocalAnswer {
        var response = response
        let own = Set(response.fields.map { $0.name.lowercased() })
        response.fields += self.response.fields.filter { !own.contains($0.name.lowercased()) }
        return LocalAnswer(response, closes: self.closes)
    }

    /// Returns the answer with another status. Changes the status in a problem document, too (RFC 9457 3.1.2).
    func restated(as status: Int) -> LocalAnswer {
        guard status != self.response.status else { return self }
        var answer = self
        answer.response.status = status
        if self.isProblem { answer.response.body = ProblemDocument.restated(answer.response.body, as: status) }
        return answer
    }

    /// Returns a redirect that is not stored and does not reveal the current URL to the target (RFC 9700 4.12).
    ///
    /// - Parameter status: 303, or 307 if the client is to repeat the method and the body (RFC 9110 15.4.8).
    package static func redirect(to location: String, status: Int = 303, reason: Reason? = nil) -> LocalAnswer {
        let fields = [("Location", location), ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]
        return LocalAnswer(EndpointResponse(status: status, fields: fields, reason: reason))
    }

    /// True if answers with this status have content (RFC 9110 6.4.1).
    package var hasContent: Bool { self.response.status != 204 && self.response.status != 304 }
}

/// The head of an answer by the gateway, with additional field lines.
package struct LocalAnswerHead {
    package let answer: LocalAnswer
    package let requestID: RequestID
    /// The additional lines, such as cookies and CORS fields, each with its CRLF.
    package let lines: [UInt8]

    package init(_ answer: LocalAnswer, requestID: RequestID, lines: [UInt8]) {
        self.answer = answer
        self.requestID = requestID
        self.lines = lines
    }
}
