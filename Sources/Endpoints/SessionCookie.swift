package import Vocabulary

/// A cookie of one host with a secret value, e.g. a browser's session (RFC 6265).
///
/// Setting and clearing use equal attributes: browsers ignore the deletion of a `__Host-` cookie without `Secure` or
/// `Path=/` (CVE-2025-55162).
package struct SessionCookie: Sendable, Hashable {
    /// The name that the browser sends.
    package let name: String
    /// How long the browser keeps the cookie, in seconds. `nil` to keep it until the browser closes.
    private let maxAge: Int?
    private let reach: CookieScope

    /// - Parameters:
    ///   - name: The configured name, e.g. `__Host-sallyport`.
    ///   - reach: The requests with which browsers send the cookie.
    ///   - maxAge: How long the browser keeps the cookie, in seconds. `nil` to keep it until the browser closes.
    package init(name: String, reach: CookieScope, maxAge: Int? = nil) {
        self.name = reach.name(name)
        self.maxAge = maxAge
        self.reach = reach
    }

    /// Returns the `Set-Cookie` value that sets this secret.
    ///
    /// - Parameter maxAge: How long the browser keeps the cookie, in seconds. `nil` for the cookie's own lifetime.
    package func setting(_ value: Secret, maxAge: Int? = nil) -> String {
        var text: [UInt8] = []
        self.append(value, maxAge, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the `Set-Cookie` field line that sets this secret, ready to be sent.
    package func line(setting value: Secret, maxAge: Int? = nil) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        line.append(utf8: "Set-Cookie: ")
        self.append(value, maxAge, to: &line)
        line.append(utf8: "\r\n")
        return line
    }

    private func append(_ value: Secret, _ maxAge: Int?, to text: inout [UInt8]) {
        text.append(utf8: self.name)
        text.append(UInt8(ascii: "="))
        text.append(contentsOf: value.bytes)
        if let age = maxAge ?? self.maxAge {
            text.append(utf8: "; Max-Age=")
            text.append(digits: age)
        }
        text.append(utf8: Self.attributes(self.reach))
    }

    /// Returns the `Set-Cookie` value that deletes the cookie.
    package func clearing() -> String { self.clearing(self.reach) }

    /// Returns the `Set-Cookie` values that delete the cookie. A `Secure` cookie is deleted with and without
    /// `Partitioned`: browsers store two cookies, and the setting may have changed.
    package func clearingAll() -> [String] {
        self.reach.isSecure ? [self.clearing(.site), self.clearing(.partitioned)] : [self.clearing()]
    }

    private func clearing(_ reach: CookieScope) -> String {
        "\(self.name)=\(Self.attributes(reach)); Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT"
    }

    private static func attributes(_ reach: CookieScope) -> String {
        switch reach {
        case .plain: "; Path=/; HttpOnly; SameSite=Lax"
        case .site: "; Path=/; Secure; HttpOnly; SameSite=Lax"
        case .partitioned: "; Path=/; Secure; HttpOnly; SameSite=None; Partitioned"
        }
    }
}
