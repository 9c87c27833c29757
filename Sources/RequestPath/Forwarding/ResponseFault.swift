import NIOCore
package import Vocabulary

/// Why an app's answer cannot be forwarded, for the operator.
package struct ResponseFault: Equatable, Sendable {
    package let rule: Rule
    /// The name of the faulty field, as offsets into the head. Empty if no field is at fault.
    package let field: Slice

    package init(_ rule: Rule, _ field: Slice = .empty) {
        self.rule = rule
        self.field = field
    }

    /// A rule that an app's answer has broken. The raw value is a sentence for the log.
    package enum Rule: String, Sendable {
        case startLine = "it does not begin with HTTP/1.1 or HTTP/1.0 and a status from 100 to 599"
        case noField = "a line is not a header field: it has no name and colon"
        case blank = "there is whitespace between the name and its colon"
        case folded = "the next line continues its value"
        case lineEnd = "the line does not end with CR and LF"
        case control = "the value has a control character"
        case repeated = "the field occurs twice"
        case length = "the length is not a decimal number"
        case encoding = "the transfer encoding is not chunked alone"
        case encodingVersion = "HTTP/1.0 has no transfer encoding"
        case lengthAndEncoding = "there are both a length and a transfer encoding"
        case fieldCount = "it has too many fields"
        case size = "its head is too large"
        case cutOff = "the connection ended within its head"
        case upgrade = "it agrees to a protocol upgrade that was not requested"
        case interimCount = "there are too many interim answers before it"
        case unasked = "it came before the request"
        case chunk = "a chunk of its content has no valid size or end"
    }
}

/// A problem with an app, for the operator's log.
package struct UpstreamNotice: Sendable, Equatable {
    /// The app's name in the settings.
    package let upstream: String
    /// The reason that clients receive.
    package let reason: Reason
    /// One sentence. Contains no field values.
    package let sentence: String
    /// The name of the field at fault, cut to 64 characters. `nil` if no field is at fault.
    package let field: String?
}

extension TimeAmount {
    /// The duration as text, such as `60 s` or `300 ms`.
    var inWords: String {
        let milliseconds = self.nanoseconds / 1_000_000
        return milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
