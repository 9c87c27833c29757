package import Endpoints
package import Vocabulary

/// An answer that the gateway itself gives: a refusal, a redirect, or an endpoint's answer.
package struct LocalAnswer: Sendable {
    package var status: Int
    package var reason: Reason?
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// Whether the connection cannot carry another request.
    package var closes: Bool
    /// Whether the body is a problem document, which is replaced by a page for a person.
    package var isProblem = false
    /// The path of the sign-in page that leads back to the user's target; nil: to the start page.
    package var signIn: String?
    /// What happened, in words of the operator, which the page shows in place of its own.
    package var explanation: String?
    /// What the page passes on to the native app that shows it; nil: nothing.
    package var native: NativeChallenge?

    package init(
        status: Int,
        reason: Reason? = nil,
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        closes: Bool = false
    ) {
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = body
        self.closes = closes
    }

    /// A refusal as a problem document (RFC 9457). Its status, and whether the connection closes, follow from the
    /// reason.
    ///
    /// - Parameters:
    ///   - explanation: What happened, in words of the operator for the user; nil: what the reason says.
    ///   - loginURL: Where a script can send its user to sign in; nil if signing in does not help.
    ///   - fields: Further fields, such as `Allow`; a challenge replaces the usual one.
    ///   - closes: Whether the connection cannot carry another request, whatever the reason.
    package static func problem(
        _ reason: Reason,
        explanation: String? = nil,
        requestID: RequestID? = nil,
        loginURL: String? = nil,
        fields: [(name: String, value: String)] = [],
        closes: Bool = false
    ) -> LocalAnswer {
        var answer = LocalAnswer(
            EndpointResponse.problem(
                reason,
                explanation: explanation,
                requestID: requestID?.text,
                loginURL: loginURL,
                fields: fields
            )
        )
        answer.closes = closes || reason.refusal?.closes ?? false
        return answer
    }

    /// The same refusal in the envelope of a protocol, any other answer unchanged.
    package func enclosed(in envelope: RefusalEnvelope, requestID: RequestID) -> LocalAnswer {
        guard self.isProblem, let reason = self.reason else { return self }
        return self.rendered(as: envelope.response(reason, requestID: requestID.text))
    }

    /// The same refusal in another format, with the fields that the format does not set itself.
    func rendered(as response: EndpointResponse) -> LocalAnswer {
        var answer = LocalAnswer(response)
        let own = Set(answer.fields.map { $0.name.lowercased() })
        answer.fields += self.fields.filter { !own.contains($0.name.lowercased()) }
        answer.closes = self.closes
        return answer
    }

    /// 303 to `location`. The answer may not be stored, and the target does not learn the referring URL (RFC 9700
    /// 4.12).
    package static func redirect(
        to location: String,
        reason: Reason? = nil,
        fields: [(name: String, value: String)] = []
    ) -> LocalAnswer {
        LocalAnswer(
            status: 303,
            reason: reason,
            fields: [("Location", location), ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")] + fields
        )
    }

    /// The bytes of the answer.
    ///
    /// - Parameters:
    ///   - extraLines: Field lines that are added to any answer, each with its CRLF.
    ///   - crossOriginLines: Those that let a script of another origin read it, each with its CRLF.
    ///   - isHead: Whether to state the length but omit the body.
    package func serialized(
        requestID: RequestID?,
        date: String,
        extraLines: [[UInt8]],
        crossOriginLines: [UInt8],
        isHead: Bool,
        keepsAlive: Bool,
        saysKeepAlive: Bool
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1024 + self.body.count)
        bytes.append(utf8: "HTTP/1.1 ")
        bytes.append(digits: self.status)
        bytes.append(UInt8(ascii: " "))
        bytes.append(utf8: StatusText.phrase(self.status))
        bytes.append(utf8: "\r\nDate: ")
        bytes.append(utf8: date)
        // No value of the gateway contains a line break; one that did would add a field or another answer.
        for field in self.fields where !field.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) {
            bytes.append(utf8: "\r\n")
            bytes.append(utf8: field.name)
            bytes.append(utf8: ": ")
            bytes.append(utf8: field.value)
        }
        if let requestID {
            bytes.append(utf8: "\r\nX-Request-Id: ")
            requestID.withBytes { bytes.append(contentsOf: $0) }
        }
        let hasBody = self.status != 204 && self.status != 304
        if hasBody {
            bytes.append(utf8: "\r\nContent-Length: ")
            bytes.append(digits: self.body.count)
        }
        if !keepsAlive {
            bytes.append(utf8: "\r\nConnection: close")
        } else if saysKeepAlive {
            bytes.append(utf8: "\r\nConnection: keep-alive")
        }
        bytes.append(utf8: "\r\n")
        for line in extraLines { bytes.append(contentsOf: line) }
        bytes.append(contentsOf: crossOriginLines)
        bytes.append(utf8: "\r\n")
        if !isHead, hasBody { bytes.append(contentsOf: self.body) }
        return bytes
    }
}
