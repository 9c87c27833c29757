package import Vocabulary

/// The answers that our endpoints share. None may be stored by a cache, none may be sniffed for another type.
extension EndpointResponse {
    private static let always: [(name: String, value: String)] = [
        ("cache-control", "no-store"), ("x-content-type-options", "nosniff"),
    ]

    /// A JSON document.
    package static func json(
        _ status: Int,
        _ value: JSONValue,
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        EndpointResponse(
            status: status,
            fields: [("content-type", "application/json; charset=utf-8")] + Self.always + fields,
            body: JSONText.encode(value),
            reason: reason
        )
    }

    /// A page without script, that no other page may frame.
    ///
    /// - Parameters:
    ///   - styleDigest: SHA-256 of the page's one inline style in padded base64; nil: the page has none.
    ///   - framing: Which sites may show the page in a frame; none may show one with a form.
    package static func html(
        _ status: Int,
        _ page: String,
        styleDigest: String?,
        framing: Framing = .nobody,
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        // No `form-action`: browsers apply it to the redirects that follow the post as well, and an app may send the
        // user on from `return_to` to another host. A page without script and with escaped text needs none.
        let style = styleDigest.map { "; style-src 'sha256-\($0)'" } ?? ""
        let (ancestors, frameOptions) =
            switch framing {
            case .nobody: ("'none'", "DENY")
            case .ownOrigin: ("'self'", "SAMEORIGIN")
            }
        return EndpointResponse(
            status: status,
            fields: [
                ("content-type", "text/html; charset=utf-8"),
                (
                    "content-security-policy",
                    "default-src 'none'\(style); base-uri 'none'; frame-ancestors \(ancestors)"
                ),
                ("x-frame-options", frameOptions),
                // Not `no-referrer`: with it a page's own form is posted with `Origin: null` (Fetch, "append a request
                // `Origin` header"), and the same-origin check could not tell it from a foreign one.
                ("referrer-policy", "same-origin"),
            ] + Self.always + fields,
            body: Array(page.utf8),
            reason: reason
        )
    }

    /// 303 to a path on this host, or to a URL from the configuration: a POST is never repeated there (RFC 9700 4.12).
    package static func seeOther(
        _ location: String,
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        EndpointResponse(
            status: 303,
            fields: [("location", location), ("referrer-policy", "no-referrer")] + Self.always + fields,
            reason: reason
        )
    }

    /// 204.
    package static func noContent(fields: [(name: String, value: String)] = []) -> EndpointResponse {
        EndpointResponse(status: 204, fields: Self.always + fields)
    }
}

extension Duration {
    /// The value of `Retry-After` (RFC 9110 10.2.3): whole seconds, rounded up, at least one.
    package var retryAfter: String { String(max(1, (self.wholeMilliseconds + 999) / 1000)) }
}
