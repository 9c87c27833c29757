import UIKit

@MainActor public final class WKHTTPCookieStore {
    public func setCookie(_ cookie: HTTPCookie) async {
        // A cookie without a domain is the host's alone, and Foundation writes the host as its domain.
        let attributes = (cookie.isSecure ? "; Secure" : "") + (cookie.isHTTPOnly ? "; HttpOnly" : "")
        let domain = cookie.domain.hasPrefix(".") ? "; Domain=\(cookie.domain)" : ""
        let origin = ProcessInfo.processInfo.environment["GATEWAY"]
        say(["cookie": "\(cookie.name)=\(cookie.value); Path=\(cookie.path)\(domain)\(attributes)", "url": origin])
    }
}

@MainActor public final class WKWebsiteDataStore {
    private static let shared = WKWebsiteDataStore()
    public let httpCookieStore = WKHTTPCookieStore()
    public static func `default`() -> WKWebsiteDataStore { self.shared }
    public static func allWebsiteDataTypes() -> Set<String> { [] }
    public func removeData(ofTypes: Set<String>, modifiedSince: Date) async {}
}

@MainActor public protocol WKScriptMessageHandler: AnyObject {
    func userContentController(_ controller: WKUserContentController, didReceive message: WKScriptMessage)
}

@MainActor public final class WKUserContentController {
    private var handlers: [String: any WKScriptMessageHandler] = [:]
    public func add(_ handler: any WKScriptMessageHandler, name: String) {
        // WebKit raises NSInvalidArgumentException.
        precondition(self.handlers[name] == nil, "script message handler with name '\(name)' when one already exists")
        self.handlers[name] = handler
        let post = "data => bridge(JSON.stringify({data, url: location.href, mainFrame: window === top}))"
        say(["script": "((window.webkit ??= {}).messageHandlers ??= {}).\(name) = {postMessage: \(post)}"])
    }
    public func received(_ message: WKScriptMessage, name: String) {
        self.handlers[name]?.userContentController(self, didReceive: message)
    }
}

@MainActor public final class WKWebViewConfiguration {
    public let userContentController = WKUserContentController()
    public let websiteDataStore = WKWebsiteDataStore.default()
    public init() {}
}

@MainActor public final class WKSecurityOrigin {
    public let `protocol`: String
    public let host: String
    public let port: Int
    init(_ url: URL) {
        self.protocol = url.scheme ?? ""
        self.host = url.host ?? ""
        self.port = url.port ?? 0
    }
}

@MainActor public final class WKFrameInfo {
    public let isMainFrame: Bool
    public let securityOrigin: WKSecurityOrigin
    public init(_ url: URL, isMainFrame: Bool) {
        self.isMainFrame = isMainFrame
        self.securityOrigin = WKSecurityOrigin(url)
    }
}

@MainActor public final class WKScriptMessage {
    public let body: Any
    public let frameInfo: WKFrameInfo
    public init(_ body: Any, _ frameInfo: WKFrameInfo) {
        self.body = body
        self.frameInfo = frameInfo
    }
}

public enum WKNavigationType: Sendable { case linkActivated, other }
public enum WKNavigationActionPolicy: Sendable { case allow, cancel }

@MainActor public final class WKNavigationAction {
    public let request: URLRequest
    public let navigationType: WKNavigationType
    public let targetFrame: WKFrameInfo?
    public init(_ url: URL, _ navigationType: WKNavigationType) {
        self.request = URLRequest(url: url)
        self.navigationType = navigationType
        self.targetFrame = WKFrameInfo(url, isMainFrame: true)
    }
}

@MainActor public final class WKNavigation {}

@MainActor public protocol WKNavigationDelegate: AnyObject {
    func webView(_ webView: WKWebView, decidePolicyFor action: WKNavigationAction) async -> WKNavigationActionPolicy
    func webView(_ webView: WKWebView, didFailProvisionalNavigation: WKNavigation!, withError error: any Error)
    func webViewWebContentProcessDidTerminate(_ webView: WKWebView)
}

public final class WKWebView: UIView {
    public let configuration: WKWebViewConfiguration
    public weak var navigationDelegate: (any WKNavigationDelegate)?
    public init(frame: CGRect, configuration: WKWebViewConfiguration) {
        self.configuration = configuration
        super.init()
    }
    public func load(_ request: URLRequest) {
        say(["load": request.url?.absoluteString, "headers": request.allHTTPHeaderFields ?? [:]])
    }
    public func reload() {}
}
