extension EndpointRequest {
    /// By these fields browsers and crawlers say that they fetch a page before anyone opens it.
    private static let purposes: Set<String> = ["sec-purpose", "purpose", "x-purpose", "x-moz"]

    /// Whether the browser loads a page that the user opens, so that the answer may begin or complete something: not
    /// HEAD, a prefetch, a preview, an image or a script's request. A client that does not send `Sec-Fetch-Mode` is
    /// believed to load a page, unless a script names itself (`ScriptField`).
    package var isPageLoad: Bool { self.method == "GET" && self.isNavigation }

    /// The same for any method: a posted form is a navigation, too.
    package var isNavigation: Bool {
        guard !self.fields.contains(where: { Self.purposes.contains($0.name) }),
            !LinkPreview.isFetch(userAgent: (self.field("user-agent") ?? "").utf8)
        else { return false }
        if let mode = self.field("sec-fetch-mode") { return mode == "navigate" }
        return !self.fields.contains { ScriptField.isSet($0.name.utf8, to: $0.value.utf8) }
    }

    /// Whether a page of another origin started the navigation: one of another site, or of a sibling domain, which may be
    /// in other hands. Not the user's own doing (`none`), such as a URL that an app opens.
    package var isFromOtherOrigin: Bool {
        self.fields.contains { $0.name == "sec-fetch-site" && $0.value != "none" && $0.value != "same-origin" }
    }

    /// Whether that page fills a tab: not a frame of another page.
    package var isTopLevelPageLoad: Bool {
        self.isPageLoad && (self.field("sec-fetch-dest") ?? "document") == "document"
    }
}
