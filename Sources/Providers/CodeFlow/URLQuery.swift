import Calls
import Vocabulary

/// The parameters of requests to providers, as `application/x-www-form-urlencoded` (RFC 6749 B).
enum URLQuery {
    typealias Parameter = (name: String, value: String)

    /// Returns the URL with the parameters appended. The URL's own query must be retained (RFC 6749 3.1).
    static func appending(_ parameters: [Parameter], to url: EndpointURL) -> String {
        let text = url.text
        let separator =
            !text.utf8.contains(UInt8(ascii: "?")) ? "?" : text.hasSuffix("?") || text.hasSuffix("&") ? "" : "&"
        return text + separator + FormText.encoded(parameters)
    }
}
