import UIKit
import WebKit

/// Shows a page of the web app, in which the app's user is signed in, and stays signed in when the web session ends.
final class TransferViewController: UIViewController, WKScriptMessageHandler {
    private let page: URL
    private let origin: String
    private let tokens: TransferTokens
    private var tries = TransferTries()
    private let webView = WKWebView(frame: .zero, configuration: WKWebViewConfiguration())

    /// - Parameters:
    ///   - origin: Where the page is, e.g. `https://app.example.com`.
    ///   - path: The page's path and query.
    init?(origin: String, path: String, tokens: TransferTokens) {
        guard let page = URL(string: origin + path) else { return nil }
        self.page = page
        self.origin = origin
        self.tokens = tokens
        super.init(nibName: nil, bundle: nil)
    }

    required init?(coder: NSCoder) { nil }

    override func loadView() { self.view = self.webView }

    override func viewWillAppear(_ animated: Bool) {
        super.viewWillAppear(animated)
        // Removed again below: the web view keeps its handlers, and they would keep this object.
        self.webView.configuration.userContentController.add(self, name: "sallyport")
        if self.webView.url == nil { Task { await self.open(self.page) } }
    }

    override func viewDidDisappear(_ animated: Bool) {
        super.viewDidDisappear(animated)
        self.webView.configuration.userContentController.removeScriptMessageHandler(forName: "sallyport")
    }

    /// The gateway's page asks for another token.
    func userContentController(_ controller: WKUserContentController, didReceive message: WKScriptMessage) {
        let sender = message.frameInfo.securityOrigin
        let port = sender.port == 0 ? "" : ":\(sender.port)"
        guard message.frameInfo.isMainFrame, "\(sender.protocol)://\(sender.host)\(port)" == self.origin,
            let text = message.body as? String, let page = TransferChallenge.page(in: text, from: self.origin)
        else { return }
        Task { await self.open(page) }
    }

    private func open(_ page: URL) async {
        guard self.tries.next(), let token = try? await self.tokens.mint() else { return await self.signIn(page) }
        await self.set("auth0_session_transfer_token", token)
        await self.set("__Host-sallyport-native", "1")
        self.webView.load(URLRequest(url: page))
    }

    /// The user signs in by hand, and comes back to the page.
    private func signIn(_ page: URL) async {
        var login = URLComponents(string: self.origin + "/.sallyport/login")
        let target = page.absoluteString.dropFirst(self.origin.count)
        login?.queryItems = [URLQueryItem(name: "return_to", value: String(target))]
        if let url = login?.url { self.webView.load(URLRequest(url: url)) }
    }

    /// A cookie of this host only: with `originURL` in place of a domain.
    private func set(_ name: String, _ value: String) async {
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .originURL: self.page, .path: "/", .secure: "TRUE",
            HTTPCookiePropertyKey("HttpOnly"): "TRUE",
        ]
        guard let cookie = HTTPCookie(properties: properties) else { return }
        await self.webView.configuration.websiteDataStore.httpCookieStore.setCookie(cookie)
    }
}
