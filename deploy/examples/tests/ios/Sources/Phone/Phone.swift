import AuthenticationServices
import NativeApp
import UIKit
import WebKit

/// Runs the example's app for deploy/examples/tests/check.py: commands on standard input, one JSON object a line.
@main @MainActor struct Phone {
    private static let environment = ProcessInfo.processInfo.environment
    private let origin = Self.environment["GATEWAY"] ?? ""
    private let store = KeychainStore(service: "com.example.app")
    private let browser: SystemBrowser
    private var session: AppSession
    private var controller: WebAppViewController?
    private var web: WKWebView? { self.controller?.view as? WKWebView }

    private static func gateway(_ callback: String) -> Gateway {
        let url = { URL(string: Self.environment[$0] ?? "") ?? URL(fileURLWithPath: "/") }
        let scope = Self.environment["SCOPE"] ?? ""
        return Gateway(origin: url("GATEWAY"), clientID: "app", callback: url(callback), scope: scope)
    }

    private init() {
        self.browser = SystemBrowser(over: UIWindow())
        self.session = AppSession(gateway: Self.gateway("CALLBACK"), store: self.store)
    }

    static func main() async {
        let lines = AsyncStream<String> { lines in
            Thread {
                while let line = readLine() { lines.yield(line) }
                lines.finish()
            }.start()
        }
        var phone = Phone()
        for await line in lines {
            guard let message = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
                continue
            }
            if let event = message["event"] as? String {
                phone.event(event, message)
                continue
            }
            guard let id = message["id"] as? Int, let name = message["do"] as? String else { continue }
            if name == "restart" {
                phone.restart(Self.gateway("CALLBACK"))
                say(["id": id, "value": nil])
                continue
            }
            if name == "open" {
                phone.open(message["target"] as? String ?? "")
                say(["id": id, "value": nil])
                continue
            }
            if name == "signInByExchange" { phone.restart(Self.gateway("RETURN_TO")) }
            if name == "signIn" { phone.restart(Self.gateway("CALLBACK")) }
            if name == "signInByHTTPS" { phone.restart(Self.gateway("HTTPS")) }
            let now = phone
            let count = message["count"] as? Int ?? 0
            let session = (message["session"] as? [String: Any])?["id"]
            let text = (message["url"] ?? message["path"] ?? session) as? String ?? ""
            let isLink = message["link"] as? Bool ?? false
            Task {
                do {
                    say(["id": id, "value": try await now.perform(name, count: count, text: text, isLink: isLink)])
                } catch let error as GatewayError {
                    let kind = "\(error)".prefix { $0 != "(" }
                    say(["id": id, "error": String(kind), "reason": "\(error)"])
                } catch {
                    say(["id": id, "error": "\(error)"])
                }
            }
        }
    }

    private mutating func restart(_ gateway: Gateway) {
        self.session = AppSession(gateway: gateway, store: self.store)
    }

    private mutating func open(_ target: String) {
        self.controller = WebAppViewController(app: WebApp(origin: self.origin), session: self.session, target: target)
        {
            say(["signedOut": true])
        }
        // Shown, left by a swipe that the user takes back, and shown again.
        for _ in 0..<3 { _ = self.controller?.view }
    }

    private func perform(_ name: String, count: Int, text: String, isLink: Bool) async throws -> Any? {
        let session = self.session
        switch name {
        case "state": return "\(try await session.state)"
        case "stored":
            switch try self.store.load() {
            case .refreshToken(let token): return ["refreshToken": token]
            case .sessionToken(let token): return ["sessionToken": token]
            case nil: return nil
            }
        case "signIn": return try await self.signIn(Self.gateway("CALLBACK").beginSignIn())
        case "signInByHTTPS": return try await self.signIn(Self.gateway("HTTPS").beginSignIn())
        case "signInByExchange":
            return try await self.signIn(try await Self.gateway("RETURN_TO").beginExchange(provider: "static"))
        case "signOut":
            try await session.signOut()
            return nil
        case "signOutOfTheBrowser":
            let gateway = Self.gateway("CALLBACK")
            return try await self.browser.open(gateway.signOutPage, until: gateway.callback).absoluteString
        case "transferToken": return try await session.transferToken()
        case "accessTokens": return try await Self.times(count) { try await session.accessToken() }
        case "transferTokens": return try await Self.times(count) { try await session.transferToken() }
        case "otherSessions": return try await session.otherSessions().map { ["id": $0.id] }
        case "endSession":
            let other = try await session.otherSessions().first { $0.id == text }
            if let other { try await session.endSession(other) }
            return nil
        case "endOtherSessions":
            try await session.endOtherSessions()
            return nil
        case "fetch":
            guard let url = URL(string: self.origin + text) else { return nil }
            let (data, response) = try await session.data(for: URLRequest(url: url))
            return [response.statusCode, String(decoding: data, as: UTF8.self)]
        case "navigates":
            guard let web = self.web, let url = URL(string: text) else { return nil }
            let action = WKNavigationAction(url, isLink ? .linkActivated : .other)
            return await web.navigationDelegate?.webView(web, decidePolicyFor: action) == .allow
        default: return nil
        }
    }

    private func signIn(_ begun: PendingSignIn) async throws -> Any? {
        let browser = self.browser
        try await self.session.signIn(begun) { try await browser.open($0, until: $1) }
        return nil
    }

    private static func times(
        _ count: Int,
        _ work: @escaping @Sendable () async throws -> String
    ) async throws -> [String] {
        let tasks = (0..<count).map { _ in Task.detached { try await work() } }
        var tokens: [String] = []
        for task in tasks { tokens.append(try await task.value) }
        return tokens
    }

    private func event(_ name: String, _ message: [String: Any]) {
        let url = (message["url"] as? String).flatMap { URL(string: $0) }
        switch name {
        case "callback": ASWebAuthenticationSession.current?.came(back: url)
        case "message":
            guard let url, let data = message["data"], let web = self.web else { return }
            let frame = WKFrameInfo(url, isMainFrame: message["mainFrame"] as? Bool ?? false)
            web.configuration.userContentController.received(WKScriptMessage(data, frame), name: "sallyport")
        case "tryAgain":
            let alert = self.controller?.presented as? UIAlertController
            if let again = alert?.actions.first(where: { $0.style == .default }) { again.handler?(again) }
        default: break
        }
    }
}
