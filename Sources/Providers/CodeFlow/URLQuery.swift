import Calls
import Vocabulary

/// Parameters in URLs of providers, in the form encoding (RFC 6749 B).
enum URLQuery {
    typealias Parameter = (name: String, value: String)

    /// Returns the URL with the parameters added to its query (RFC 6749 3.1).
    static func appending(_ parameters: [Parameter], to url: EndpointURL) -> String {
        let text = url.text
        let separator =
            !text.utf8.contains(UInt8(ascii: "?")) ? "?" : text.hasSuffix("?") || text.hasSuffix("&") ? "" : "&"
        return text + separator + FormText.encoded(parameters)
    }
}
