import Vocabulary

/// A URL that a proxy copied into a query without encoding it, as nginx does with `rd=$scheme://$host$request_uri`.
/// Read as a query value, it would lose its escapes, each `+`, and every parameter except the first.
package enum UnencodedURL {
    /// Returns the URL in the parameter `name`. A URL with a query extends to the end of `query`, any other URL to the
    /// next `&`. `nil` if `name` does not occur exactly once, or if the value is not a URL with a path or is
    /// percent-encoded (`rd=$scheme://$host$escaped_request_uri`).
    package static func value(of name: String, in query: String) -> String? {
        let bytes = Array(query.utf8)
        let sought = Array("\(name)=".utf8)
        let starts = bytes.indices.filter { start in
            (start == 0 || bytes[start - 1] == UInt8(ascii: "&")) && bytes[start...].starts(with: sought)
        }
        guard starts.count == 1 else { return nil }
        let rest = bytes[(starts[0] + sought.count)...]
        let value = rest.prefix { $0 != UInt8(ascii: "&") }
        let scheme = Array("://".utf8)
        guard
            let colon = value.firstIndex(of: UInt8(ascii: ":")), value[colon...].starts(with: scheme),
            let path = value[(colon + scheme.count)...].firstIndex(where: { "/?%".utf8.contains($0) }),
            value[path] != UInt8(ascii: "%")
        else { return nil }
        if value.contains(UInt8(ascii: "?")) { return String(validating: rest, as: UTF8.self) }
        let mark = Array("%3f".utf8)
        let isEncoded = value.indices.contains { index in
            value[index...].prefix(mark.count).elementsEqual(mark) { ($0 | 0x20) == ($1 | 0x20) }
        }
        return isEncoded ? nil : String(validating: value, as: UTF8.self)
    }
}
