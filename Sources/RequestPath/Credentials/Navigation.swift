import Endpoints
import Pages

/// Classifies requests by the fields in which browsers describe them (Fetch Metadata).
package enum Navigation {
    /// True if the request may consume a transfer token, because it is a top-level page load. Browsers and scanners of
    /// links send other requests, such as prefetches and HEAD, without the user's action.
    package static func mayConsume(_ head: RequestHead, _ base: Bytes) -> Bool {
        guard head.knownMethod == .get, !head.isWebSocketUpgrade, head.line(.purpose) == nil else { return false }
        if let mode = head.value(.fetchMode, in: base) {
            guard ByteClass.equal(mode, "navigate") else { return false }
        } else if Self.isOfScript(head, base) {
            return false
        }
        if let dest = head.value(.fetchDest, in: base), !ByteClass.equal(dest, "document") { return false }
        return true
    }

    /// True if the request is a prefetch or preview. The browser sends another request if the user opens the page.
    package static func isSpeculative(_ head: RequestHead) -> Bool {
        head.line(.purpose) != nil
    }

    /// True if a messenger or social network fetches a link preview. The user may follow the link later.
    package static func isPreview(_ head: RequestHead, _ base: Bytes) -> Bool {
        head.value(.userAgent, in: base).map { LinkPreview.isFetch(userAgent: $0) } ?? false
    }

    /// True if a browser loads a page or posts a form, so that a person sees the answer.
    ///
    /// `Sec-Fetch-Mode` decides. Without it (old browsers, plain http), the request must accept HTML but not JSON, and
    /// must have no field of a script (`ScriptField`).
    package static func wantsPage(_ head: RequestHead, _ base: Bytes) -> Bool {
        switch head.knownMethod {
        case .get, .head, .post: break
        case .put, .patch, .delete, .options, .other: return false
        }
        guard !head.isWebSocketUpgrade else { return false }
        if let mode = head.value(.fetchMode, in: base) { return ByteClass.equal(mode, "navigate") }
        guard let accept = head.value(.accept, in: base) else { return false }
        // A quick test: many programs send only `*/*`.
        return accept.count > 3 && Self.acceptsPage(accept) && !Self.isOfScript(head, base)
    }

    /// True if a field marks the request as sent by a page's script. Only some libraries mark their requests.
    @inline(__always)
    private static func isOfScript(_ head: RequestHead, _ base: Bytes) -> Bool {
        guard let first = head.line(.script) else { return false }
        return Self.isOfScript(head, base, from: first)
    }

    @inline(never)
    private static func isOfScript(_ head: RequestHead, _ base: Bytes, from first: Int) -> Bool {
        for index in first..<head.fields.count where head.fields[index].role == .script {
            let field = head.fields[index]
            if ScriptField.isSet(field.name.bytes(in: base), to: field.value.bytes(in: base)) { return true }
        }
        return false
    }

    /// Estimates `wantsPage` from the received lines of a head that is too large to parse.
    package static func seemsToWantPage(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var mode: Bool?
        var (accepts, isOfScript) = (false, false)
        for line in bytes.split(separator: 0x0A).dropFirst() {
            guard let colon = line.firstIndex(of: 0x3A) else { continue }
            let name = UnsafeBufferPointer(rebasing: line[..<colon])
            var end = line.endIndex
            while end > colon + 1, line[end - 1] == 0x0D { end -= 1 }
            let value = ByteClass.trimmed(UnsafeBufferPointer(rebasing: line[(colon + 1)..<end]))
            if ByteClass.equal(name, "sec-fetch-mode") { mode = ByteClass.equal(value, "navigate") }
            if ByteClass.equal(name, "accept") { accepts = Self.acceptsPage(value) }
            isOfScript = isOfScript || ScriptField.isSet(name, to: value)
        }
        return mode ?? (accepts && !isOfScript)
    }

    /// Returns the index in `languages` of the language that the browser prefers. 0 if the request names no language.
    static func language(of head: RequestHead, _ base: Bytes, among languages: [PageLanguage]) -> Int {
        for index in 0..<head.fields.count
        where ByteClass.equal(head.fields[index].name.bytes(in: base), "accept-language") {
            return languages.position(accepting: head.fields[index].value.bytes(in: base))
        }
        return 0
    }

    private static func acceptsPage(_ accept: UnsafeBufferPointer<UInt8>) -> Bool {
        var acceptsHTML = false
        var acceptsJSON = false
        ByteClass.forEachElement(of: accept) { element in
            let type = UnsafeBufferPointer(rebasing: element.prefix { $0 != 0x3B && $0 != 0x20 })
            if ByteClass.equal(type, "text/html") || ByteClass.equal(type, "application/xhtml+xml") {
                acceptsHTML = true
            } else if ByteClass.equal(type, "application/json") || ByteClass.equal(type, "application/problem+json") {
                acceptsJSON = true
            }
        }
        return acceptsHTML && !acceptsJSON
    }

    /// True if the request announces a native app's WebView (`NativeChallenge`).
    static func announcesNativeApp(_ head: RequestHead, _ base: Bytes, _ cookies: OwnCookies) -> Bool {
        func isAnnouncement(_ value: Slice) -> Bool {
            value.bytes(in: base).elementsEqual(NativeChallenge.announcement.utf8)
        }
        if let line = head.line(.native) { return isAnnouncement(head.fields[line].value) }
        guard let line = head.line(.cookie) else { return false }
        var values: [Slice] = []
        cookies.forEachCompanion(in: head.fields[line].value, base) { label, value in
            if label.bytes(in: base).elementsEqual(NativeChallenge.cookieLabel.utf8) { values.append(value) }
        }
        // If values differ, one of them was not set by the app.
        return !values.isEmpty && values.allSatisfy(isAnnouncement)
    }

    /// True if a page of another origin, possibly a sibling domain, caused the navigation. False if the user or an app
    /// opened the URL (`Sec-Fetch-Site: none`).
    package static func isCrossSite(_ head: RequestHead, _ base: Bytes) -> Bool {
        guard let site = head.value(.fetchSite, in: base) else { return false }
        return !ByteClass.equal(site, "none") && !ByteClass.equal(site, "same-origin")
    }
}

/// Decides whether another site may have caused a request that contains the browser's cookie (CSRF).
package enum CrossSite {
    /// True if the request may be forged. This is possible for unsafe methods and upgrades, unless `Sec-Fetch-Site` or
    /// `Origin` shows this origin, a trusted origin, or that no page sent the request (`none`).
    ///
    /// - Parameter isMethodTold: False if the client's method is unknown. A request with `Origin` is then treated as
    ///   unsafe, because browsers send `Origin` with every unsafe method.
    package static func isSuspect(
        _ head: RequestHead,
        _ base: Bytes,
        isMethodKnown: Bool = true,
        origin: [UInt8],
        trusted: [[UInt8]]
    ) -> Bool {
        let claimed = head.value(.origin, in: base)
        if head.knownMethod.isSafe, !head.isWebSocketUpgrade, isMethodKnown || claimed == nil { return false }
        if let claimed, trusted.contains(where: { WebOrigin.isSame(claimed, as: $0) }) { return false }
        if let site = head.value(.fetchSite, in: base) {
            return !(ByteClass.equal(site, "same-origin") || ByteClass.equal(site, "none"))
        }
        guard let claimed else { return true }
        return !WebOrigin.isSame(claimed, as: origin)
    }
}
