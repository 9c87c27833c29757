/// Checks that a form post comes from a page of the host itself.
package enum SameOrigin {
    /// Returns whether the browser reports that a page of the configured `request.origin` sent the request.
    ///
    /// `Sec-Fetch-Site` decides, because a page cannot set it. `Origin` must match, or be `null` (policy
    /// `no-referrer`). Without `Sec-Fetch-Site` (old browsers, plain http), `Origin` must match. A request without both
    /// is rejected.
    package static func isProven(_ request: EndpointRequest) -> Bool {
        let sites = request.fields.filter { $0.name == "sec-fetch-site" }.map(\.value)
        let origins = request.fields.filter { $0.name == "origin" }.map(\.value)
        switch (sites.count, origins.count) {
        case (0, 1): return self.isOwn(origins[0], request)
        case (1, 0): return sites[0] == "same-origin"
        case (1, 1): return sites[0] == "same-origin" && (self.isOwn(origins[0], request) || origins[0] == "null")
        default: return false
        }
    }

    private static func isOwn(_ origin: String, _ request: EndpointRequest) -> Bool {
        WebOrigin.isSame(origin.utf8, as: request.origin.utf8)
    }
}
