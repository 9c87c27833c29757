package import Vocabulary

/// Answers that the gateway's endpoints share. Caches must not store them.
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

    /// Returns an HTML page. Its content security policy permits only the inline style and script with these digests.
    ///
    /// - Parameters:
    ///   - styleDigest: The SHA-256 digest of the page's inline style in padded base64. `nil` if the page has no style.
    ///   - scriptDigest: The SHA-256 digest of the page's inline script in padded base64. `nil` if there is no script.
    ///   - hasImages: Whether the page has embedded images.
    ///   - framing: The sites that may show the page in a frame. Use `.nobody` for a page with a form (clickjacking).
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
        // No `form-action`: it also applies to redirects after the post, and `return_to` may lead to another host.
        let style = styleDigest.map { "; style-src 'sha256-\($0)'" } ?? ""
        let script = scriptDigest.map { "; script-src 'sha256-\($0)'" } ?? ""
        let images = hasImages ? "; img-src data:" : ""
        let (ancestors, frameOptions): (String, String?) =
            switch framing {
            case .nobody: ("'none'", "DENY")
            case .ownOrigin: ("'self'", "SAMEORIGIN")
            // `X-Frame-Options` cannot name an origin. `frame-ancestors` alone permits the frame.
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
                // With `no-referrer`, browsers post the page's form with `Origin: null` (Fetch, "append a request
                // `Origin` header"). Without `Sec-Fetch-Site`, the same-origin check needs the real origin.
                ("referrer-policy", "same-origin"),
            ] + frames + Self.always + fields,
            body: Array(page.utf8),
            reason: reason
        )
    }

    /// Returns a plain-text answer for operators and developers.
    package static func text(_ status: Int, _ text: String) -> EndpointResponse {
        EndpointResponse(
            status: status,
            fields: [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")],
            body: Array(text.utf8)
        )
    }

    /// Returns a 303 redirect. Browsers follow it with GET, even after a POST (RFC 9700 4.12).
    ///
    /// - Parameter location: A path on this host, or a URL that the caller has checked (open redirects).
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
