import Endpoints
import Synchronization
import Vocabulary

/// The sign-ins that the demo's native app has started in browsers, each with the code verifier that the app keeps.
final class DemoWaitingSignIns: Sendable {
    /// The cookie that ties a sign-in to its browser. A real app on a phone opens the browser itself and needs no
    /// cookie.
    static let cookie = "demo-native-app"
    private static let largest = 32

    private let waiting = Mutex<[(state: String, verifier: String)]>([])

    /// Keeps the verifier of a sign-in. If there are too many sign-ins, the oldest is dropped.
    func keep(_ verifier: String, of state: String) {
        self.waiting.withLock { waiting in
            waiting.append((state, verifier))
            if waiting.count > Self.largest { waiting.removeFirst() }
        }
    }

    /// Returns the verifier of the sign-in whose state is in both the URL and the browser's cookie, and forgets it.
    /// `nil` if the app has not started that sign-in in this browser.
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
