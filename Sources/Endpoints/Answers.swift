package import Vocabulary

/// Answers that the gateway's endpoints share. Caches must not store them, and browsers must not sniff their type.
extension EndpointResponse {
    private static let always: [(name: String, value: String)] = [
        ("cache-control", "no-store"), ("x-content-type-options", "nosniff"),
    ]

    /// Returns an answer with a JSON document.
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

    /// Returns an answer with a JSON document that is already written.
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

    /// Returns a page that runs only its own script. By default, no page may frame it.
    ///
    /// - Parameters:
    ///   - styleDigest: The SHA-256 digest of the page's inline style in padded base64. `nil` if the page has no style.
    ///   - scriptDigest: The SHA-256 digest of the page's inline script in padded base64. `nil` if there is no script.
    ///   - hasImages: Whether the page has embedded images.
    ///   - framing: The sites that may show the page in a frame. A page with a form must allow none.
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
        // `return_to` to another host. A page with escaped text and no foreign script does not need it.
        let style = styleDigest.map { "; style-src 'sha256-\($0)'" } ?? ""
        let script = scriptDigest.map { "; script-src 'sha256-\($0)'" } ?? ""
        let images = hasImages ? "; img-src data:" : ""
        let (ancestors, frameOptions): (String, String?) =
            switch framing {
            case .nobody: ("'none'", "DENY")
            case .ownOrigin: ("'self'", "SAMEORIGIN")
            // `X-Frame-Options` cannot name an origin, and browsers that read both fields would refuse the frame.
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
                // Not `no-referrer`: with it, the page's own form is posted with `Origin: null` (Fetch, "append a
                // request `Origin` header"). The same-origin check could not distinguish it from another site's form.
                ("referrer-policy", "same-origin"),
            ] + frames + Self.always + fields,
            body: Array(page.utf8),
            reason: reason
        )
    }

    /// Returns an answer with a text for operators and developers. Caches must not store it.
    package static func text(_ status: Int, _ text: String) -> EndpointResponse {
        EndpointResponse(
            status: status,
            fields: [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")],
            body: Array(text.utf8)
        )
    }

    /// Returns a 303 redirect to a path on this host or to a URL from the configuration. The browser follows it with
    /// GET, even after a POST (RFC 9700 4.12).
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

    /// Returns 204 without a body.
    package static func noContent(fields: [(name: String, value: String)] = []) -> EndpointResponse {
        EndpointResponse(status: 204, fields: Self.always + fields)
    }
}

extension Duration {
    /// The duration as a value of `Retry-After` (RFC 9110 10.2.3): whole seconds, rounded up, at least 1.
    package var retryAfter: String { String(max(1, self.wholeMilliseconds.addingWithinBounds(999) / 1000)) }
}
