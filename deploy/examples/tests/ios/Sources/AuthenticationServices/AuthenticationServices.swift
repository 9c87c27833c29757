@_exported import UIKit

public typealias ASPresentationAnchor = UIWindow

public struct ASWebAuthenticationSessionError: Error {
    public enum Code: Sendable { case canceledLogin, presentationContextInvalid }
    public let code: Code
}

@MainActor public protocol ASWebAuthenticationPresentationContextProviding: AnyObject {
    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}

@MainActor public final class ASWebAuthenticationSession {
    public struct Callback: Sendable {
        let prefix: String
        public static func https(host: String, path: String) -> Callback { Callback(prefix: "https://\(host)\(path)") }
        public static func customScheme(_ scheme: String) -> Callback { Callback(prefix: "\(scheme):") }
    }
    public typealias CompletionHandler = @Sendable (URL?, (any Error)?) -> Void

    /// The one whose browser is open.
    public private(set) static var current: ASWebAuthenticationSession?
    public weak var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)?
    private let url: URL
    private let callback: Callback
    private let completed: CompletionHandler

    public init(url: URL, callback: Callback, completionHandler: @escaping CompletionHandler) {
        self.url = url
        self.callback = callback
        self.completed = completionHandler
    }
    public var canStart: Bool { self.presentationContextProvider?.presentationAnchor(for: self) != nil }
    @discardableResult public func start() -> Bool {
        Self.current = self
        say(["browse": self.url.absoluteString, "until": self.callback.prefix])
        return true
    }
    public func came(back url: URL?) {
        let completed = self.completed
        // Not on the main thread.
        Task.detached { completed(url, url == nil ? ASWebAuthenticationSessionError(code: .canceledLogin) : nil) }
    }
}
