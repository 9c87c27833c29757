import Endpoints
import Synchronization
import Vocabulary

/// The unfinished sign-ins of the demo's native app, each with its code verifier.
final class DemoWaitingSignIns: Sendable {
    /// The cookie that ties a sign-in to its browser. A real app opens the browser itself and needs no cookie.
    static let cookie = "demo-native-app"
    private static let largest = 32

    private let waiting = Mutex<[(state: String, verifier: String)]>([])

    /// Adds a sign-in. Drops the oldest one if there are too many.
    func keep(_ verifier: String, of state: String) {
        self.waiting.withLock { waiting in
            waiting.append((state, verifier))
            if waiting.count > Self.largest { waiting.removeFirst() }
        }
    }

    /// Removes a sign-in and returns its verifier; `nil` unless its state is both in the URL and in the browser's
    /// cookie.
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
