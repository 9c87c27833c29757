import Synchronization
import Vocabulary

/// The callbacks that are being answered, so that one that a browser sends several times at once (a double click, an
/// impatient reload) redeems its code once: a provider may take a second use for a theft and revoke what it gave for the
/// first (RFC 6749 4.1.2). All get the answer of the first.
final class CallbackFlights: Sendable {
    /// One browser's way back: what it has kept of the sign-in, the sessions that this one replaces, and what it brings.
    struct Key: Hashable {
        let authority: String
        /// The provider whose place it is; nil: the place of an only one.
        let place: String?
        let kept: Secret
        let sessions: [Secret]
        let parameters: [String]
    }

    /// How many are noted at once; further ones are answered each by itself.
    private static let most = 1024

    private let answers = Mutex<[Key: Task<EndpointResponse, Never>]>([:])

    /// The answer of `make`, or that of the same callback under way.
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
