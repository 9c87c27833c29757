import Synchronization
import Vocabulary

/// The callbacks that are being answered. If a browser sends a callback several times at once (a double click, an
/// impatient reload), its code is redeemed once, and all requests get one answer. A provider may revoke the tokens
/// after a second use (RFC 6749 4.1.2).
final class CallbackFlights: Sendable {
    /// A callback: the state and the sessions of the browser, and the provider's answer.
    struct Key: Hashable {
        let authority: String
        /// The provider in the path. `nil` for the path without a name.
        let place: String?
        let kept: Secret
        let sessions: [Secret]
        let parameters: [String]
    }

    /// The maximum number of shared answers. Further callbacks are answered separately.
    private static let most = 1024

    private let answers = Mutex<[Key: Task<EndpointResponse, Never>]>([:])

    /// Returns the answer of `make`, or the pending answer of an equal callback.
    func answer(
        _ key: Key,
        _ make: @escaping @Sendable () async -> EndpointResponse
    ) async -> EndpointResponse {
        let task: Task<EndpointResponse, Never>? = self.answers.withLock { answers in
            if let task = answers[key] { return task }
            guard answers.count < Self.most else { return nil }
            let task = Task {
                let answer = await make()
                self.answers.withLock { $0[key] = nil }
                return answer
            }
            answers[key] = task
            return task
        }
        guard let task else { return await make() }
        return await task.value
    }
}
