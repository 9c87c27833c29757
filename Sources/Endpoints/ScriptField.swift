/// The fields with which JavaScript libraries mark the requests of scripts. Links and forms do not send them.
///
/// They matter if a browser sends no Fetch Metadata: an old browser, or any browser on plain http beyond loopback
/// (Fetch Metadata 2: only to trustworthy URLs). A redirect would put the sign-in page into a part of the page.
///
/// - `X-Requested-With: XMLHttpRequest` comes from jQuery, jquery-pjax, Prototype, Inertia and, if an app asks for it,
///   axios. Android's WebView sends the package name of its app in this field with every page that it loads.
/// - `HX-Request` comes from htmx, also for links that `hx-boost` handles, and `X-PJAX` from pjax libraries.
/// - `Turbo-Frame` comes from a frame of Turbo, and `X-Turbo-Request-Id` from everything that Turbo 8 fetches. Turbo
///   Drive reloads the whole page after a 401 that is not HTML, so its user reaches the sign-in page, too.
package enum ScriptField {
    /// The names of the fields, in lower case.
    package static let names = ["x-requested-with", "hx-request", "turbo-frame", "x-turbo-request-id", "x-pjax"]

    private static let valuedName = "x-requested-with"
    private static let value = "xmlhttprequest"

    /// Returns whether a field with this name and value comes from a script.
    package static func isSet(_ name: some Collection<UInt8>, to value: some Collection<UInt8>) -> Bool {
        func isEqual(_ bytes: some Collection<UInt8>, _ text: String) -> Bool {
            bytes.count == text.utf8.count && zip(bytes, text.utf8).allSatisfy { Self.lowercased($0) == $1 }
        }
        if isEqual(name, Self.valuedName) { return isEqual(value, Self.value) }
        guard !value.isEmpty, !isEqual(value, "false") else { return false }
        return Self.names.contains { $0 != Self.valuedName && isEqual(name, $0) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
