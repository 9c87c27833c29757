#if canImport(AuthenticationServices)
import AuthenticationServices

/// The system's browser, in which password managers, passkeys and single sign-on work. Keep it as long as it is open.
///
/// An https callback needs the entitlement `com.apple.developer.associated-domains` with `webcredentials:HOST`, and the app in
/// `https://HOST/.well-known/apple-app-site-association`. A callback with a scheme of its own needs nothing.
@MainActor
public final class SystemBrowser: NSObject, ASWebAuthenticationPresentationContextProviding {
    private let window: ASPresentationAnchor
    private var session: ASWebAuthenticationSession?

    public init(over window: ASPresentationAnchor) {
        self.window = window
    }

    /// The URL with which the browser comes back: what `AppSession.signIn` calls.
    public func open(_ page: URL, until callback: URL) async throws -> URL {
        let match: ASWebAuthenticationSession.Callback =
            callback.scheme == "https"
            ? .https(host: callback.host ?? "", path: callback.path) : .customScheme(callback.scheme ?? "")
        return try await withCheckedThrowingContinuation { continuation in
            // The system may call it on any thread.
            let completed: @Sendable (URL?, (any Error)?) -> Void = { url, error in
                if let url { return continuation.resume(returning: url) }
                let isCancelled = (error as? ASWebAuthenticationSessionError)?.code == .canceledLogin
                let reason = error?.localizedDescription ?? "no answer"
                continuation.resume(throwing: isCancelled ? GatewayError.cancelled : .refused(reason))
            }
            let session = ASWebAuthenticationSession(url: page, callback: match, completionHandler: completed)
            session.presentationContextProvider = self
            guard session.canStart else { return completed(nil, nil) }
            self.session = session
            session.start()
        }
    }

    public func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor { self.window }
}
#endif
