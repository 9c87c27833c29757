import Endpoints
import Pages

/// Decisions that depend on the kind of request that a browser reports (Fetch Metadata).
package enum Navigation {
    /// True if the request is a top-level page load that may consume a transfer token. HEAD, prefetches, previews and
    /// subresources may not, because link scanners and browsers request them on their own.
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

    /// True if the request is a prefetch or preview. The browser requests the page again if the user really opens it.
    package static func isSpeculative(_ head: RequestHead) -> Bool {
        head.line(.purpose) != nil
    }

    /// True if a messenger or a social network fetches a preview for a user who may follow the link later.
    package static func isPreview(_ head: RequestHead, _ base: Bytes) -> Bool {
        head.value(.userAgent, in: base).map { LinkPreview.isFetch(userAgent: $0) } ?? false
    }

    /// True if a person sees the answer because a browser loads a page or posts a form. `Sec-Fetch-Mode` decides. Old
    /// browsers, and all browsers on plain http, do not send it. Then the request must accept HTML and, unlike programs
    /// that accept everything, not name JSON. Scripts that request HTML identify themselves (`ScriptField`).
    ///
    /// Sign-in redirects and the pages of refusals depend only on this result.
    package static func wantsPage(_ head: RequestHead, _ base: Bytes) -> Bool {
        switch head.knownMethod {
        case .get, .head, .post: break
        case .put, .patch, .delete, .options, .other: return false
        }
        guard !head.isWebSocketUpgrade else { return false }
        if let mode = head.value(.fetchMode, in: base) { return ByteClass.equal(mode, "navigate") }
        guard let accept = head.value(.accept, in: base) else { return false }
        // Programs send "*/*", which is shorter than the name of any page type.
        return accept.count > 3 && Self.acceptsPage(accept) && !Self.isOfScript(head, base)
    }

    /// True if a field shows that a page's script sent the request. Only some libraries add such a field.
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

    /// True if a person sees the answer, judged by the received lines of a head that is too large to parse.
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

    /// Returns the position in `languages` of the language that the browser requests; 0 if it requests no language.
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

    /// True if the request announces that it comes from a native app's WebView (`NativeChallenge`).
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
        // If two values differ, one is not the app's.
        return !values.isEmpty && values.allSatisfy(isAnnouncement)
    }

    /// True if a page of another origin started the navigation: another site, or a sibling domain that may belong to
    /// others. Excludes navigations of the user (`none`), such as a URL that an app opens.
    package static func isCrossSite(_ head: RequestHead, _ base: Bytes) -> Bool {
        guard let site = head.value(.fetchSite, in: base) else { return false }
        return !ByteClass.equal(site, "none") && !ByteClass.equal(site, "same-origin")
    }
}

/// Decides whether another site may have caused a request with the browser's cookie (CSRF).
package enum CrossSite {
    /// True if a request with an unsafe method, or an upgrade, is not proven to come from this or a trusted origin.
    ///
    /// A browser reports the source of a request in `Sec-Fetch-Site`, or at least in `Origin`. A request with a cookie
    /// and neither field is rejected: it does not come from a browser that can be protected.
    ///
    /// - Parameter isMethodTold: True if the head's method is the client's. Otherwise, an `Origin` implies an unsafe
    ///   method: browsers send `Origin` with all unsafe methods, but not with a safe method that follows a link.
    package static func isSuspect(
        _ head: RequestHead,
        _ base: Bytes,
        isMethodTold: Bool = true,
        origin: [UInt8],
        trusted: [[UInt8]]
    ) -> Bool {
        let claimed = head.value(.origin, in: base)
        if head.knownMethod.isSafe, !head.isWebSocketUpgrade, isMethodTold || claimed == nil { return false }
        if let claimed, trusted.contains(where: { WebOrigin.isSame(claimed, as: $0) }) { return false }
        if let site = head.value(.fetchSite, in: base) {
            return !(ByteClass.equal(site, "same-origin") || ByteClass.equal(site, "none"))
        }
        guard let claimed else { return true }
        return !WebOrigin.isSame(claimed, as: origin)
    }
}
