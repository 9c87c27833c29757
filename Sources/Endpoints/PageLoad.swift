extension EndpointRequest {
    /// By these fields browsers and crawlers say that they fetch a page before anyone opens it.
    private static let purposes: Set<String> = ["sec-purpose", "purpose", "x-purpose", "x-moz"]

    /// Whether the browser loads a page that the user opens, so that the answer may begin or complete something: not
    /// HEAD, a prefetch, a preview, an image or a script's request. A client that does not send `Sec-Fetch-Mode` is
    /// believed to load a page.
    package var isPageLoad: Bool {
        guard self.method == "GET", !self.fields.contains(where: { Self.purposes.contains($0.name) }) else {
            return false
        }
        return (self.field("sec-fetch-mode") ?? "navigate") == "navigate"
    }
}
