import Pages
import Vocabulary

/// The page at which a browser begins to sign in for a native app: our own, because the browser has no cookie yet that
/// would bind it to its sign-in.
enum AppSignInPath {
    static let path = "/.sallyport/app"
    static let flow = "flow"
    static let returnTo = "return_to"
    static let provider = "provider"

    /// The URL to which an app sends its user's browser.
    ///
    /// - Parameters:
    ///   - request: Was sent to the host.
    ///   - returnTo: Where the browser goes back to; nil: what the flow says.
    ///   - provider: The provider at which the user signs in; nil: the only one, or the one that the user chooses.
    static func url(on request: EndpointRequest, flow: String, returnTo: String?, provider: String? = nil) -> String {
        request.origin + request.design.path(self.target(flow: flow, returnTo: returnTo, provider: provider))
    }

    /// The same as a path of the host, wherever browsers find it.
    static func target(flow: String, returnTo: String?, provider: String? = nil) -> String {
        var parameters = [(name: self.flow, value: flow)]
        if let returnTo { parameters.append((self.returnTo, returnTo)) }
        if let provider { parameters.append((self.provider, provider)) }
        return "\(self.path)?\(FormText.encoded(parameters))"
    }

    /// The URL of an app with a code: its path and query stay as they are.
    ///
    /// - Parameter names: The parameters in which the code stands.
    static func back(to returnTo: String, code: Secret, in names: [String]) -> String {
        let code = String(decoding: code.bytes, as: UTF8.self)
        let start =
            returnTo.utf8.contains(UInt8(ascii: "?"))
            ? (returnTo.hasSuffix("?") || returnTo.hasSuffix("&") ? "" : "&") : "?"
        return returnTo + start + names.map { "\($0)=\(code)" }.joined(separator: "&")
    }
}
