extension EndpointRequest {
    /// The fields with which browsers and crawlers mark a prefetch or preview.
    private static let purposes: Set<String> = ["sec-purpose", "purpose", "x-purpose", "x-moz"]

    /// Whether the user opens a page in a tab or frame with GET. The answer may then change state.
    package var isPageLoad: Bool { self.method == "GET" && self.isNavigation }

    /// Whether the browser navigates: it opens a page or posts a form. False for prefetches, previews, images and
    /// scripts. Without `Sec-Fetch-Mode`, scripts are recognised by a `ScriptField` only, and images are not
    /// recognised.
    package var isNavigation: Bool {
        guard !self.fields.contains(where: { Self.purposes.contains($0.name) }),
            !LinkPreview.isFetch(userAgent: (self.field("user-agent") ?? "").utf8)
        else { return false }
        if let mode = self.field("sec-fetch-mode") { return mode == "navigate" }
        return !self.fields.contains { ScriptField.isSet($0.name.utf8, to: $0.value.utf8) }
    }

    /// Whether a page of another origin sent the browser here, even a page of a sibling domain. False if the user
    /// entered the URL or an app opened it (`none`), and without `Sec-Fetch-Site`.
    package var isFromOtherOrigin: Bool {
        self.fields.contains { $0.name == "sec-fetch-site" && $0.value != "none" && $0.value != "same-origin" }
    }

    /// Whether the user opens a page in a tab. False for frames.
    package var isTopLevelPageLoad: Bool {
        self.isPageLoad && (self.field("sec-fetch-dest") ?? "document") == "document"
    }
}
