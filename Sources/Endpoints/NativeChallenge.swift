package import Pages
import Vocabulary

/// The answer that a native app's WebView gets instead of the sign-in page: `WWW-Authenticate: SessionTransfer`, and a
/// page that passes the challenge on to the app. The app opens the page again with a new session-transfer token.
///
/// The WebView announces itself with a field, which apps can add to a page that they open, or with a cookie of the
/// host, which is sent with every request. The gateway removes both before it forwards a request. Anyone can send them,
/// so they prove nothing and only select another page. On https, a sibling domain cannot set the cookie, because its
/// name has the prefix `__Host-`.
package struct NativeChallenge: Sendable, Equatable {
    /// The field with which a WebView announces itself, in lower case.
    package static let field = "sallyport-native"
    /// The suffix of the cookie with which a WebView announces itself, after the session cookie's name and `-`.
    package static let cookieLabel = "native"
    /// The value of the field and of the cookie.
    package static let announcement = "1"

    /// The origin of the host.
    private let realm: String
    /// The path and query on the host that the app opens with its next token.
    private let returnTo: String

    /// - Parameters:
    ///   - realm: The configured origin of the host.
    ///   - target: The path and query of the requested page. A target that could lead to another host becomes `/`.
    ///   - parameter: The query parameter that may carry a transfer token. It is removed from the target.
    package init(realm: String, target: String, without parameter: String) {
        self.realm = realm
        self.returnTo = ReturnTo.page([target], without: parameter)
    }

    /// The fields of the answer that carry the challenge (RFC 9110 11.6.1).
    package var fields: [(name: String, value: String)] {
        // The target is visible ASCII without a backslash (`ReturnTo`). A quotation mark would end the parameter.
        let returnTo = self.returnTo.replacing("\"", with: "%22")
        return [
            ("www-authenticate", #"SessionTransfer realm="\#(self.realm)", return_to="\#(returnTo)""#),
            ("vary", "Cookie, Sallyport-Native"),
        ]
    }

    /// The script that calls the app's bridge: a script message handler of WKWebView, an object of Android's WebView,
    /// or the bridge of React Native. If none exists, the page stays and says what to do.
    package var script: WebPage.Script {
        WebPage.Script(Self.script, data: [("realm", self.realm), ("return-to", self.returnTo)])
    }

    private static let script = """
        (() => {
        const {realm, returnTo} = document.currentScript.dataset;
        const bridge = window.webkit?.messageHandlers?.sallyport ?? window.sallyport ?? window.ReactNativeWebView;
        bridge?.postMessage(JSON.stringify({type: "session_transfer", realm, return_to: returnTo}));
        })()
        """
}

extension EndpointRequest {
    /// Whether the request claims to come from a native app's WebView (`NativeChallenge`).
    package var announcesNativeApp: Bool {
        if let field = self.field(NativeChallenge.field) { return field == NativeChallenge.announcement }
        return self.credentials.companion(NativeChallenge.cookieLabel)
            == Secret(NativeChallenge.announcement)
    }
}
