package import Pages
import Vocabulary

/// What a native app's WebView gets in place of the sign-in page: `WWW-Authenticate: SessionTransfer`, and a page that
/// passes it on to the app. The app mints another session-transfer token and opens the page again with it.
///
/// The WebView announces itself by a field, which apps can add to a page that they open, or by a cookie of the host, which
/// also comes with the pages that follow. Both are the gateway's own, and no app behind it gets them: anyone can send
/// them, so an app must conclude nothing from them. Whoever sends them only gets another page; a sibling domain cannot set
/// the cookie on https, because its name has the prefix `__Host-`.
package struct NativeChallenge: Sendable, Equatable {
    /// The name of the field by which a WebView announces itself, in lower case.
    package static let field = "sallyport-native"
    /// What follows the session cookie's name and `-` in the name of the cookie that does the same.
    package static let cookieLabel = "native"
    /// The value of either.
    package static let announcement = "1"

    /// The origin of the host.
    private let realm: String
    /// The path and query on it that the app opens with its next token.
    private let returnTo: String

    /// - Parameters:
    ///   - realm: The configured origin of the host.
    ///   - target: The path and query of the page that was asked for.
    ///   - parameter: The query parameter that may carry a transfer token, which the target does not keep. A target that
    ///     could lead to another host becomes `/`.
    package init(realm: String, target: String, without parameter: String) {
        self.realm = realm
        self.returnTo = ReturnTo.page([target], without: parameter)
    }

    /// The fields of the answer, with the challenge (RFC 9110 11.6.1).
    package var fields: [(name: String, value: String)] {
        // Visible ASCII without a backslash (`ReturnTo`); a quotation mark would end the parameter.
        let returnTo = self.returnTo.replacing("\"", with: "%22")
        return [
            ("www-authenticate", #"SessionTransfer realm="\#(self.realm)", return_to="\#(returnTo)""#),
            ("vary", "Cookie, Sallyport-Native"),
        ]
    }

    /// Calls the app's bridge: a script message handler of WKWebView, an object of Android's WebView, or that of React
    /// Native. Without any, the page stays as it is and says what to do.
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
    /// Whether it comes from a native app's WebView, as far as it says (`NativeChallenge`).
    package var announcesNativeApp: Bool {
        if let field = self.field(NativeChallenge.field) { return field == NativeChallenge.announcement }
        return self.credentials.companion(NativeChallenge.cookieLabel)
            == Secret(NativeChallenge.announcement)
    }
}
