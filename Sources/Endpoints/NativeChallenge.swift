package import Pages
import Vocabulary

/// The answer that a native app's WebView gets instead of the sign-in page: `WWW-Authenticate: SessionTransfer`, and a
/// page that passes the challenge on to the app. The app mints another session-transfer token and opens the page again
/// with it. If the challenge demands a sign-in, the app first signs its user in at `/authorize`, in the system's
/// browser.
///
/// The WebView announces itself with a field or with a cookie of the host. Apps can add the field only to pages that
/// they open. The cookie comes with every page. The gateway removes both before it forwards a request. Anyone can send
/// them, so they prove nothing and only select another page. On https, a sibling domain cannot set the cookie, because
/// its name has the prefix `__Host-`.
package struct NativeChallenge: Sendable {
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
    /// The parameters of `/authorize` that lead to a sufficient sign-in (`acr_values`, `max_age`). Empty if the sign-in
    /// of the app may suffice.
    private let demands: [(name: String, value: String)]

    /// - Parameters:
    ///   - realm: The configured origin of the host.
    ///   - target: The path and query of the requested page. A target that could lead to another host becomes `/`.
    ///   - parameter: The query parameter that may carry a transfer token. It is removed from the target.
    ///   - demands: The parameters of `/authorize` for a sign-in that suffices. Empty to demand no sign-in.
    package init(
        realm: String,
        target: String,
        without parameter: String,
        demanding demands: [(name: String, value: String)] = []
    ) {
        self.realm = realm
        self.returnTo = ReturnTo.page([target], without: parameter)
        self.demands = demands
    }

    /// Whether the app must sign its user in again before it mints another token.
    package var demandsSignIn: Bool { !self.demands.isEmpty }

    /// The fields of the answer that carry the challenge (RFC 9110 11.6.1).
    package var fields: [(name: String, value: String)] {
        // The target is visible ASCII without a backslash (`ReturnTo`). A quotation mark would end the parameter.
        let returnTo = self.returnTo.replacing("\"", with: "%22")
        let parameters = [("realm", self.realm), ("return_to", returnTo)] + self.demands
        return [
            ("www-authenticate", "SessionTransfer " + Refusal.Challenge.text(parameters)),
            ("vary", "Cookie, Sallyport-Native"),
        ]
    }

    /// The script that calls the app's bridge: a script message handler of WKWebView, an object of Android's WebView,
    /// or the bridge of React Native. Without a bridge, the page stays and says what to do. Missing demands are left
    /// out.
    package var script: WebPage.Script {
        let demands = self.demands.map { (name: $0.name.replacing("_", with: "-"), value: $0.value) }
        return WebPage.Script(Self.script, data: [("realm", self.realm), ("return-to", self.returnTo)] + demands)
    }

    private static let script = """
        (() => {
        const {realm, returnTo, acrValues, maxAge} = document.currentScript.dataset;
        const message = {type: "session_transfer", realm, return_to: returnTo, acr_values: acrValues, max_age: maxAge};
        const bridge = window.webkit?.messageHandlers?.sallyport ?? window.sallyport ?? window.ReactNativeWebView;
        bridge?.postMessage(JSON.stringify(message));
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
