/// The fields with which JavaScript libraries mark the requests of scripts. Links and forms do not send them.
///
/// They matter if a browser sends no Fetch Metadata (old browsers, plain http beyond loopback). A redirect would show
/// the sign-in page inside a part of the app's page.
///
/// - `X-Requested-With: XMLHttpRequest`: jQuery, jquery-pjax, Prototype, Inertia and, if configured, axios. Android's
///   WebView sends another value, its app's package name, with every page load.
/// - `HX-Request`: htmx, also for links with `hx-boost`. `X-PJAX`: pjax libraries.
/// - `Turbo-Frame`: frames of Turbo. `X-Turbo-Request-Id`: every request of Turbo 8. Turbo Drive reloads the whole page
///   after a 401 that is not HTML, so the user reaches the sign-in page.
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
