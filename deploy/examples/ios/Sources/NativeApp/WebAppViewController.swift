#if canImport(UIKit) && canImport(WebKit)
import UIKit
import WebKit

/// Shows pages of the web app, in which the app's user is signed in, and stays signed in when the web session ends.
public final class WebAppViewController: UIViewController, WKNavigationDelegate {
    private let app: WebApp
    private let session: AppSession
    private let target: String
    private let signedOut: @MainActor () -> Void
    private var tries = Tries()
    private let webView = WKWebView(frame: .zero, configuration: WKWebViewConfiguration())

    /// - Parameters:
    ///   - target: The path and query of the first page.
    ///   - signedOut: Shows the app's sign-in: the user is signed out.
    public init(app: WebApp, session: AppSession, target: String, signedOut: @escaping @MainActor () -> Void) {
        self.app = app
        self.session = session
        self.target = target
        self.signedOut = signedOut
        super.init(nibName: nil, bundle: nil)
    }

    public required init?(coder: NSCoder) { nil }

    public override func loadView() { self.view = self.webView }

    /// Once in the life of a view: to add a handler of the same name again would end the app.
    public override func viewDidLoad() {
        super.viewDidLoad()
        self.webView.configuration.userContentController.add(Messages(to: self), name: "sallyport")
        self.webView.navigationDelegate = self
        Task { await self.open(self.target) }
    }

    private func open(_ target: String) async {
        do {
            guard self.tries.next() else { throw GatewayError.refused("too many tries") }
            let token = try await self.session.transferToken()
            let store = self.webView.configuration.websiteDataStore.httpCookieStore
            for cookie in self.app.cookies(token) { await store.setCookie(cookie) }
            if let page = self.app.page(target) { self.webView.load(URLRequest(url: page)) }
        } catch GatewayError.signedOut {
            self.signedOut()
        } catch GatewayError.unavailable {
            self.offerToTryAgain(target)
        } catch {
            if let page = self.app.signInPage(target) { self.webView.load(URLRequest(url: page)) }
        }
    }

    private func offerToTryAgain(_ target: String) {
        let alert = UIAlertController(title: "No connection", message: nil, preferredStyle: .alert)
        alert.addAction(UIAlertAction(title: "Cancel", style: .cancel, handler: nil))
        alert.addAction(
            UIAlertAction(title: "Try again", style: .default) { [weak self] _ in
                self?.tries = Tries()
                Task { await self?.open(target) }
            }
        )
        self.present(alert, animated: true, completion: nil)
    }

    /// The gateway's page asks for another token.
    fileprivate func received(_ message: WKScriptMessage) {
        let sender = message.frameInfo.securityOrigin
        let port = sender.port == 0 ? "" : ":\(sender.port)"
        guard message.frameInfo.isMainFrame, "\(sender.protocol)://\(sender.host)\(port)" == self.app.origin,
            let text = message.body as? String, let target = self.app.challenged(text)
        else { return }
        Task { await self.open(target) }
    }

    /// Links to other sites open in the browser, which says where the user is.
    public func webView(
        _ webView: WKWebView,
        decidePolicyFor action: WKNavigationAction
    ) async -> WKNavigationActionPolicy {
        let opensWindow = action.targetFrame == nil
        guard let url = action.request.url, opensWindow || action.navigationType == .linkActivated else {
            return .allow
        }
        if !self.app.contains(url) {
            await UIApplication.shared.open(url)
            return .cancel
        }
        if opensWindow { webView.load(action.request) }
        return opensWindow ? .cancel : .allow
    }

    public func webView(_ webView: WKWebView, didFailProvisionalNavigation: WKNavigation!, withError error: any Error) {
        let error = error as NSError
        guard error.domain == NSURLErrorDomain, error.code != NSURLErrorCancelled else { return }
        let failed = (error.userInfo[NSURLErrorFailingURLErrorKey] as? URL).flatMap { self.app.target($0) }
        self.offerToTryAgain(failed ?? self.target)
    }

    /// Removes what the app's web views keep of all users: after the sign-out, which may not have reached the gateway.
    public static func forgetPages() async {
        let types = WKWebsiteDataStore.allWebsiteDataTypes()
        await WKWebsiteDataStore.default().removeData(ofTypes: types, modifiedSince: .distantPast)
    }

    /// The system has ended the page's process.
    public func webViewWebContentProcessDidTerminate(_ webView: WKWebView) { webView.reload() }
}

/// The web view keeps its handlers, so they must not keep the controller.
private final class Messages: NSObject, WKScriptMessageHandler {
    private weak var controller: WebAppViewController?

    init(to controller: WebAppViewController) {
        self.controller = controller
    }

    func userContentController(_ controller: WKUserContentController, didReceive message: WKScriptMessage) {
        self.controller?.received(message)
    }
}
#endif

#if canImport(SafariServices) && canImport(UIKit)
import SafariServices

extension WebApp {
    /// A page in Safari's view, which keeps its cookies to itself: so the token is in the query. The view may reach the gateway
    /// through iCloud Private Relay, from another address than the app; `enforce_device_binding: none` lets it.
    @MainActor
    public func safariView(_ target: String, _ session: AppSession) async throws -> SFSafariViewController? {
        self.page(target, try await session.transferToken()).map { SFSafariViewController(url: $0) }
    }
}
#endif
