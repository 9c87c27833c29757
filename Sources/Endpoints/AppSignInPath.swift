import Pages
import Vocabulary

/// The page where a native app's sign-in begins in the browser. Its cookie binds the sign-in to the browser.
enum AppSignInPath {
    static let path = "/.sallyport/app"
    static let flow = "flow"
    static let returnTo = "return_to"
    static let provider = "provider"

    /// Returns the absolute URL of the page.
    ///
    /// - Parameters:
    ///   - request: The app's request to this host.
    ///   - returnTo: The app's URL that the browser opens after sign-in. `nil` for the flow's own URL.
    ///   - provider: The provider to sign in at. `nil` to let the user choose if there are several.
    static func url(on request: EndpointRequest, flow: String, returnTo: String?, provider: String? = nil) -> String {
        request.origin + request.design.path(self.target(flow: flow, returnTo: returnTo, provider: provider))
    }

    /// Returns the page's path and query, without the design's path prefix.
    static func target(flow: String, returnTo: String?, provider: String? = nil) -> String {
        var parameters = [(name: self.flow, value: flow)]
        if let returnTo { parameters.append((self.returnTo, returnTo)) }
        if let provider { parameters.append((self.provider, provider)) }
        return "\(self.path)?\(FormText.encoded(parameters))"
    }

    /// Returns `returnTo` with `code` appended to its query, once for each name in `names`.
    static func back(to returnTo: String, code: Secret, in names: [String]) -> String {
        let code = String(decoding: code.bytes, as: UTF8.self)
        let start =
            returnTo.utf8.contains(UInt8(ascii: "?"))
            ? (returnTo.hasSuffix("?") || returnTo.hasSuffix("&") ? "" : "&") : "?"
        return returnTo + start + names.map { "\($0)=\(code)" }.joined(separator: "&")
    }
}
