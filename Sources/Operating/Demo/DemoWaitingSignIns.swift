import Endpoints
import Synchronization
import Vocabulary

/// The sign-ins that the demo's native app has begun in browsers: the secret of each, which the app keeps to itself.
final class DemoWaitingSignIns: Sendable {
    /// The cookie by which the app knows a browser again. A phone's app knows which browser it has opened.
    static let cookie = "demo-native-app"
    private static let largest = 32

    private let waiting = Mutex<[(state: String, verifier: String)]>([])

    /// Keeps the secret of a sign-in; the oldest goes when there are too many.
    func keep(_ verifier: String, of state: String) {
        self.waiting.withLock { waiting in
            waiting.append((state, verifier))
            if waiting.count > Self.largest { waiting.removeFirst() }
        }
    }

    /// The secret of the sign-in that both the URL and the browser's cookie name, once; nil if the app has not begun it
    /// in this browser.
    func take(for request: EndpointRequest) -> String? {
        let start = "\(Self.cookie)="
        var states: [Substring] = []
        for line in (request.head ?? "").split(separator: "\n") where line.lowercased().hasPrefix("cookie: ") {
            for cookie in line.dropFirst("cookie: ".count).split(separator: ";") {
                let cookie = cookie.drop { $0 == " " }
                if cookie.hasPrefix(start) { states.append(cookie.dropFirst(start.count)) }
            }
        }
        let returned = request.parameters("state")
        return self.waiting.withLock { waiting in
            waiting.firstIndex { states.contains($0.state[...]) && returned == [$0.state] }
                .map { waiting.remove(at: $0).verifier }
        }
    }
}
