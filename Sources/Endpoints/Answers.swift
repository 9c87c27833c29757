package import Vocabulary

/// Answers that the gateway's endpoints share. None may be stored by a cache or sniffed for another type.
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
        var json = JSONWriter()
        json.write(value)
        return self.json(status, json, fields: fields, reason: reason)
    }

    /// A JSON document that has been written.
    package static func json(
        _ status: Int,
        _ document: JSONWriter,
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        EndpointResponse(
            status: status,
            fields: [("content-type", "application/json; charset=utf-8")] + Self.always + fields,
            body: document.bytes,
            reason: reason
        )
    }

    /// A page that no page on another site may frame, and that runs no script but its own one.
    ///
    /// - Parameters:
    ///   - styleDigest: SHA-256 of the page's one inline style in padded base64; nil if it has none.
    ///   - scriptDigest: The same of its one inline script.
    ///   - hasImages: Whether it holds embedded images.
    ///   - framing: Which sites may show the page in a frame; a page with a form must allow none.
    package static func html(
        _ status: Int,
        _ page: String,
        styleDigest: String?,
        scriptDigest: String? = nil,
        hasImages: Bool = false,
        framing: Framing = .nobody,
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        // No `form-action`: browsers also apply it to redirects after the post, and an app may redirect the user from
        // `return_to` to another host. A page with escaped text and no script of others does not need it.
        let style = styleDigest.map { "; style-src 'sha256-\($0)'" } ?? ""
        let script = scriptDigest.map { "; script-src 'sha256-\($0)'" } ?? ""
        let images = hasImages ? "; img-src data:" : ""
        let (ancestors, frameOptions): (String, String?) =
            switch framing {
            case .nobody: ("'none'", "DENY")
            case .ownOrigin: ("'self'", "SAMEORIGIN")
            // `X-Frame-Options` has no word for it, and browsers that read both would refuse the frame.
            case .origin(let origin): (origin, nil)
            }
        let frames: [(name: String, value: String)] = frameOptions.map { [("x-frame-options", $0)] } ?? []
        return EndpointResponse(
            status: status,
            fields: [
                ("content-type", "text/html; charset=utf-8"),
                (
                    "content-security-policy",
                    "default-src 'none'\(style)\(script)\(images); base-uri 'none'; frame-ancestors \(ancestors)"
                ),
                // Not `no-referrer`: with that, the page's own form is posted with `Origin: null` (Fetch, "append a
                // request `Origin` header"), and the same-origin check could not tell it from another site's.
                ("referrer-policy", "same-origin"),
            ] + frames + Self.always + fields,
            body: Array(page.utf8),
            reason: reason
        )
    }

    /// A text for operators and developers. It is not stored.
    package static func text(_ status: Int, _ text: String) -> EndpointResponse {
        EndpointResponse(
            status: status,
            fields: [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")],
            body: Array(text.utf8)
        )
    }

    /// 303 to a path on this host, or to a URL from the configuration: the browser does not repeat a POST there (RFC
    /// 9700 4.12).
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
    package var retryAfter: String { String(max(1, self.wholeMilliseconds.addingWithinBounds(999) / 1000)) }
}
