extension EndpointRequest {
    /// The fields with which browsers and crawlers say that they fetch a page before anyone opens it.
    private static let purposes: Set<String> = ["sec-purpose", "purpose", "x-purpose", "x-moz"]

    /// Whether the browser loads a page that the user opens, so that the answer may change state. False for HEAD,
    /// prefetches, previews, images and scripts. A client without `Sec-Fetch-Mode` is assumed to load a page, unless a
    /// script's field is present (`ScriptField`).
    package var isPageLoad: Bool { self.method == "GET" && self.isNavigation }

    /// Whether the browser navigates, with any method. A posted form is a navigation, too.
    package var isNavigation: Bool {
        guard !self.fields.contains(where: { Self.purposes.contains($0.name) }),
            !LinkPreview.isFetch(userAgent: (self.field("user-agent") ?? "").utf8)
        else { return false }
        if let mode = self.field("sec-fetch-mode") { return mode == "navigate" }
        return !self.fields.contains { ScriptField.isSet($0.name.utf8, to: $0.value.utf8) }
    }

    /// Whether a page of another origin started the navigation: another site, or a sibling domain that someone else may
    /// control. False if the user started it (`none`), for example by a URL that an app opens.
    package var isFromOtherOrigin: Bool {
        self.fields.contains { $0.name == "sec-fetch-site" && $0.value != "none" && $0.value != "same-origin" }
    }

    /// Whether the browser loads a page that the user opens in a tab, not in a frame of another page.
    package var isTopLevelPageLoad: Bool {
        self.isPageLoad && (self.field("sec-fetch-dest") ?? "document") == "document"
    }
}
