package import Vocabulary

/// An answer that the gateway gives itself: a refusal, a redirect, or what one of its endpoints said.
package struct LocalAnswer: Sendable {
    package var status: Int
    package var reason: Reason?
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// The connection cannot carry another request.
    package var closes: Bool
    /// The body is a problem document, in whose place a person gets a page.
    package var isProblem = false
    /// The path of the sign-in page that leads back to where this user wanted to go; nil: to the start page.
    package var signIn: String?

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

    /// A refusal as problem+json (RFC 9457) with the reason id; never with anything of the request in it.
    package static func problem(
        _ status: Int,
        _ reason: Reason,
        requestID: RequestID? = nil,
        fields: [(name: String, value: String)] = [],
        closes: Bool = false
    ) -> LocalAnswer {
        var text = #"{"type":"about:blank","title":""#
        text += StatusText.phrase(status)
        text += "\",\"status\":\(status),\"reason\":\"\(reason.rawValue)\""
        // A given id was checked to be token characters only: nothing in it needs escaping.
        if let requestID { text += ",\"request_id\":\"\(requestID.text)\"" }
        text += "}\n"
        var all: [(name: String, value: String)] = [
            ("Content-Type", "application/problem+json"), ("Cache-Control", "no-store"),
        ]
        all += fields
        if status == 503, !all.contains(where: { $0.name == "Retry-After" }) { all.append(("Retry-After", "1")) }
        var answer = LocalAnswer(
            status: status,
            reason: reason,
            fields: all,
            body: Array(text.utf8),
            closes: closes
        )
        answer.isProblem = true
        return answer
    }

    /// 303 to `location`, which nobody may keep and which is not told where it came from (RFC 9700 4.12).
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

    /// The answer as it goes out.
    ///
    /// - Parameters:
    ///   - extraLines: lines of ours that are due on whatever is answered, each with its CRLF.
    ///   - isHead: the length is told but the body is not sent.
    func serialized(
        requestID: RequestID?,
        date: String,
        extraLines: [UInt8],
        isHead: Bool,
        keepsAlive: Bool,
        saysKeepAlive: Bool
    ) -> [UInt8] {
        var text = "HTTP/1.1 \(self.status) \(StatusText.phrase(self.status))\r\nDate: \(date)\r\n"
        // No value of ours has a line break; one that had would be another field or another answer.
        for field in self.fields where !field.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) {
            text += "\(field.name): \(field.value)\r\n"
        }
        if let requestID { text += "X-Request-Id: \(requestID.text)\r\n" }
        if self.status != 204, self.status != 304 { text += "Content-Length: \(self.body.count)\r\n" }
        if !keepsAlive {
            text += "Connection: close\r\n"
        } else if saysKeepAlive {
            text += "Connection: keep-alive\r\n"
        }
        var bytes = Array(text.utf8)
        bytes += extraLines
        bytes += [0x0D, 0x0A]
        if !isHead, self.status != 204, self.status != 304 { bytes += self.body }
        return bytes
    }
}

/// The reason phrases of the statuses that the gateway answers itself (RFC 9110 15).
package enum StatusText {
    package static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 303: "See Other"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 425: "Too Early"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: "Status"
        }
    }
}
