package import Vocabulary

/// A secret cookie of one host, as `Set-Cookie` text (RFC 6265): the one that carries a browser's session, and the one
/// that lets it repeat a handoff whose answer was lost.
///
/// Setting and clearing use the same attributes: browsers ignore the deletion of a `__Host-` cookie that lacks `Secure`
/// or `Path=/` (CVE-2025-55162).
package struct SessionCookie: Sendable, Hashable {
    /// The name under which the browser sends it back.
    package let name: String
    /// How many seconds the browser keeps it; nil: until the browser closes.
    private let maxAge: Int?
    private let attributes: String

    /// - Parameters:
    ///   - name: The configured name, e.g. `__Host-sallyport`. Without `Secure`, its `__Host-` or `__Secure-` prefix is
    ///     left out, because browsers would refuse the cookie (RFC 6265bis 4.1.3).
    ///   - isSecure: Whether the cookie carries `Secure`; false only on loopback http with the flag.
    ///   - maxAge: How many seconds the browser keeps it; nil: until the browser closes.
    package init(name: String, isSecure: Bool, maxAge: Int? = nil) {
        var name = Substring(name)
        if !isSecure {
            for prefix in ["__Host-", "__Secure-"] where name.hasPrefix(prefix) && name.utf8.count > prefix.utf8.count {
                name = name.dropFirst(prefix.utf8.count)
            }
        }
        self.name = String(name)
        self.maxAge = maxAge
        self.attributes = "; Path=/; \(isSecure ? "Secure; " : "")HttpOnly; SameSite=Lax"
    }

    /// The `Set-Cookie` value that sets this secret.
    package func setting(_ value: Secret) -> String {
        let age = self.maxAge.map { "; Max-Age=\($0)" } ?? ""
        return "\(self.name)=\(String(decoding: value.bytes, as: UTF8.self))\(age)\(self.attributes)"
    }

    /// The `Set-Cookie` value that deletes the cookie.
    package func clearing() -> String {
        "\(self.name)=\(self.attributes); Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT"
    }
}
