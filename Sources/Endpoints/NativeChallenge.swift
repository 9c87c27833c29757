package import Pages
import Vocabulary

/// What a native app's WebView gets instead of the sign-in page: `WWW-Authenticate: SessionTransfer` and a page that
/// passes this challenge to the app. The app mints a new session-transfer token and opens the page again with it. If
/// the challenge has demands, the app first signs the user in at `/authorize`, in the system's browser.
///
/// A WebView announces itself with a field (on pages that the app opens) or a cookie (on every page). Apps behind the
/// gateway get neither. Anyone can send them: they prove nothing and only select this answer.
package struct NativeChallenge: Sendable {
    /// The field with which a WebView announces itself, in lower case.
    package static let field = "sallyport-native"
    /// The label of the cookie with which a WebView announces itself (`CompanionCookie`).
    package static let cookieLabel = "native"
    /// The value of the field and of the cookie.
    package static let announcement = "1"

    /// The origin of the host.
    private let realm: String
    /// The path and query that the app opens with its next token.
    private let returnTo: String
    /// The parameters for `/authorize` (`acr_values`, `max_age`). Empty if the app's current sign-in may suffice.
    private let demands: [(name: String, value: String)]

    /// - Parameters:
    ///   - realm: The configured origin of the host.
    ///   - target: The path and query of the requested page. An unsafe target becomes `/`.
    ///   - parameter: The query parameter for a transfer token. It is removed from the target.
    ///   - demands: The parameters for `/authorize`. Empty to demand no sign-in.
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
        // `ReturnTo` permits no backslash, so only a quotation mark could end the parameter.
        let returnTo = self.returnTo.replacing("\"", with: "%22")
        let parameters = [("realm", self.realm), ("return_to", returnTo)] + self.demands
        return [
            ("www-authenticate", "SessionTransfer " + Refusal.Challenge.text(parameters)),
            ("vary", "Cookie, Sallyport-Native"),
        ]
    }

    /// The script that posts the challenge to the app's bridge: a script message handler of WKWebView, an object that
    /// the app adds to Android's WebView, or the bridge of React Native.
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
