/// What kind of request a browser says this is (Fetch Metadata), for the decisions that depend on it.
package enum Navigation {
    /// A top-level page load that may consume a transfer token: not HEAD, prefetch, preview or a subresource, which link
    /// scanners and browsers send on their own (systems.md T3).
    package static func mayConsume(_ head: RequestHead, _ base: Bytes) -> Bool {
        guard head.knownMethod == .get, !head.isWebSocketUpgrade, head.line(.purpose) == nil else { return false }
        if let mode = head.value(.fetchMode, in: base), !ByteClass.equal(mode, "navigate") { return false }
        if let dest = head.value(.fetchDest, in: base), !ByteClass.equal(dest, "document") { return false }
        return true
    }

    /// A prefetch or preview: the browser asks again if the user really goes there.
    package static func isSpeculative(_ head: RequestHead) -> Bool {
        head.line(.purpose) != nil
    }

    /// Someone who can be shown a login page: by `Sec-Fetch-*` where the browser sends it, by `Accept` where not.
    package static func wantsPage(_ head: RequestHead, _ base: Bytes) -> Bool {
        guard head.knownMethod == .get || head.knownMethod == .head, !head.isWebSocketUpgrade else { return false }
        if let mode = head.value(.fetchMode, in: base) { return ByteClass.equal(mode, "navigate") }
        guard let accept = head.value(.accept, in: base) else { return false }
        var wants = false
        ByteClass.forEachElement(of: accept) { element in
            let type = UnsafeBufferPointer(rebasing: element.prefix { $0 != 0x3B && $0 != 0x20 })
            if ByteClass.equal(type, "text/html") || ByteClass.equal(type, "application/xhtml+xml") { wants = true }
        }
        return wants
    }

    /// The navigation was started by another site.
    package static func isCrossSite(_ head: RequestHead, _ base: Bytes) -> Bool {
        guard let site = head.value(.fetchSite, in: base) else { return false }
        return ByteClass.equal(site, "cross-site")
    }
}

/// Whether a cookie on this request could have been sent at another site's wish (CSRF).
package enum CrossSite {
    /// True for an unsafe method or an upgrade that does not prove that it comes from this origin or a trusted one.
    ///
    /// A browser says where a request comes from by `Sec-Fetch-Site` or at least `Origin`; a request with a cookie and
    /// neither is not a browser we can protect, and is refused.
    package static func isSuspect(_ head: RequestHead, _ base: Bytes, origin: [UInt8], trusted: [[UInt8]]) -> Bool {
        if head.knownMethod.isSafe, !head.isWebSocketUpgrade { return false }
        let claimed = head.value(.origin, in: base)
        if let claimed, trusted.contains(where: { $0.elementsEqual(claimed) }) { return false }
        if let site = head.value(.fetchSite, in: base) {
            return !(ByteClass.equal(site, "same-origin") || ByteClass.equal(site, "none"))
        }
        guard let claimed else { return true }
        return !origin.elementsEqual(claimed)
    }
}
