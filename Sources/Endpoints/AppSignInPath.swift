import Pages
import Vocabulary

/// The page where a browser begins to sign in for a native app. It is the gateway's own page, because only the gateway
/// can set the cookie that binds the browser to its sign-in.
enum AppSignInPath {
    static let path = "/.sallyport/app"
    static let flow = "flow"
    static let returnTo = "return_to"
    static let provider = "provider"

    /// Returns the absolute URL of the page to which an app sends its user's browser.
    ///
    /// - Parameters:
    ///   - request: The app's request, which was sent to this host.
    ///   - returnTo: The URL that the browser returns to. `nil` for the URL that the flow names.
    ///   - provider: The provider to sign in at. `nil` for the only provider, or the one that the user chooses.
    static func url(on request: EndpointRequest, flow: String, returnTo: String?, provider: String? = nil) -> String {
        request.origin + request.design.path(self.target(flow: flow, returnTo: returnTo, provider: provider))
    }

    /// Returns the page's path and query on its host, without the prefix that a proxy may add.
    static func target(flow: String, returnTo: String?, provider: String? = nil) -> String {
        var parameters = [(name: self.flow, value: flow)]
        if let returnTo { parameters.append((self.returnTo, returnTo)) }
        if let provider { parameters.append((self.provider, provider)) }
        return "\(self.path)?\(FormText.encoded(parameters))"
    }

    /// Returns an app's URL with a code appended to the query. The URL's own path and query are not changed.
    ///
    /// - Parameter names: The query parameters that carry the code.
    static func back(to returnTo: String, code: Secret, in names: [String]) -> String {
        let code = String(decoding: code.bytes, as: UTF8.self)
        let start =
            returnTo.utf8.contains(UInt8(ascii: "?"))
            ? (returnTo.hasSuffix("?") || returnTo.hasSuffix("&") ? "" : "&") : "?"
        return returnTo + start + names.map { "\($0)=\(code)" }.joined(separator: "&")
    }
}
