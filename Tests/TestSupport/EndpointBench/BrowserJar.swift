package import Endpoints

/// The cookies of a browser on one host, as far as the gateway's answers change them.
package struct BrowserJar: Sendable {
    /// The values by name.
    package private(set) var cookies: [String: String] = [:]

    package init() {}

    /// Does what the `Set-Cookie` fields of an answer say.
    package mutating func take(_ response: EndpointResponse) {
        for field in response.fields where field.name == "set-cookie" {
            let pair = field.value.prefix { $0 != ";" }
            let name = String(pair.prefix { $0 != "=" })
            self.cookies[name] = field.value.contains("Max-Age=0") ? nil : String(pair.dropFirst(name.count + 1))
        }
    }

    /// Forgets a cookie, or adds one that another site planted.
    package subscript(name: String) -> String? {
        get { self.cookies[name] }
        set { self.cookies[name] = newValue }
    }

    /// The `Cookie` field; none if the jar is empty.
    package var fields: [(name: String, value: String)] {
        guard !self.cookies.isEmpty else { return [] }
        let pairs = self.cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return [("cookie", pairs.joined(separator: "; "))]
    }
}
