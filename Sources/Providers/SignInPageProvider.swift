/// A provider that signs users in at pages of its own and gives the browser a cookie of its own, which the gateway accepts
/// (Kratos). Its pages are passed through on the hosts with endpoints. Nothing has to be exchanged when the browser comes
/// back.
package protocol SignInPageProvider: Sendable {
    /// The path and query of the page on the gateway's host to which a browser goes to sign in.
    ///
    /// - Parameter wish: Its `callback` is the absolute URL to which the browser comes back.
    func signInPath(_ wish: BrowserSignIn) -> String
}
