import Endpoints
import Synchronization
import Vocabulary

/// The sign-ins that the demo's native app has begun in browsers: the code of each, which the app keeps to itself.
final class DemoWaitingSignIns: Sendable {
    /// The cookie by which the app knows a browser again. A phone's app knows which browser it has opened.
    static let cookie = "demo-native-app"
    private static let largest = 32

    private let waiting = Mutex<[(flow: String, code: String)]>([])

    /// Keeps the code of a flow; the oldest goes when there are too many.
    func keep(_ code: String, of flow: String) {
        self.waiting.withLock { waiting in
            waiting.append((flow, code))
            if waiting.count > Self.largest { waiting.removeFirst() }
        }
    }

    /// The code of the flow that the browser's cookie names, once; nil: the app has begun none there.
    func take(for request: EndpointRequest) -> String? {
        let start = "\(Self.cookie)="
        var flows: [Substring] = []
        for line in (request.head ?? "").split(separator: "\n") where line.lowercased().hasPrefix("cookie: ") {
            for cookie in line.dropFirst("cookie: ".count).split(separator: ";") {
                let cookie = cookie.drop { $0 == " " }
                if cookie.hasPrefix(start) { flows.append(cookie.dropFirst(start.count)) }
            }
        }
        return self.waiting.withLock { waiting in
            waiting.firstIndex { flows.contains($0.flow[...]) }.map { waiting.remove(at: $0).code }
        }
    }
}
