package import Providers
import Sessions
import Synchronization
package import Vocabulary

/// A provider that redirects browsers and answers what a test says. Its ids are `sign-in-1`, `sign-in-2` and so on.
package final class ScriptedBrowserProvider: BrowserProvider {
    private struct State {
        var wishes: [BrowserSignIn] = []
        var completions: [[String]] = []
        var next: Result<ProvenUser, NotDone>
        var isAway = false
        var meanwhile: (@Sendable () async -> Void)?
    }

    package let name = "https://idp.example.com"
    package let answersByForm: Bool
    private let state: Mutex<State>

    /// A provider that signs in the user `user-1`, until a test says something else.
    ///
    /// - Parameter byForm: Whether browsers post its answers.
    package init(byForm: Bool = false) {
        self.answersByForm = byForm
        self.state = Mutex(State(next: Self.user()))
    }

    /// The answer that a user has signed in.
    package static func user(
        _ id: String = "user-1",
        aal: AssuranceLevel = .aal1,
        at time: UnixTime? = nil
    ) -> Result<ProvenUser, NotDone> {
        let authentication = Authentication(
            identity: Identity(id: id, traits: ["email": "ada@example.com"]),
            aal: aal,
            methods: ["oidc"],
            authenticatedAt: time
        )
        let evidence = ProviderEvidence(provider: "https://idp.example.com", sessionID: "idp-session")
        return .success(ProvenUser(authentication, evidence))
    }

    /// From now on every sign-in ends like this.
    package func answer(_ completion: Result<ProvenUser, NotDone>) {
        self.state.withLock { $0.next = completion }
    }

    /// Runs while the next sign-in is completed, before its answer.
    package func meanwhile(_ act: @escaping @Sendable () async -> Void) {
        self.state.withLock { $0.meanwhile = act }
    }

    /// From now on it cannot be reached, or can be again.
    package func leave(_ isAway: Bool = true) {
        self.state.withLock { $0.isAway = isAway }
    }

    /// The requirements of each sign-in that began.
    package var wishes: [BrowserSignIn] { self.state.withLock { $0.wishes } }

    /// The parameters of each sign-in that was completed, as `name=value`.
    package var completions: [[String]] { self.state.withLock { $0.completions } }

    package func begin(_ wish: BrowserSignIn) async throws(NotDone) -> BrowserBeginning {
        let number = self.state.withLock { state -> Int? in
            guard !state.isAway else { return nil }
            state.wishes.append(wish)
            return state.wishes.count
        }
        guard let number else { throw NotDone(.providerUnavailable) }
        let id = "sign-in-\(number)"
        return BrowserBeginning(
            url: "\(self.name)/authorize?state=\(id)",
            pending: PendingSignIn(
                provider: self.name,
                id: id,
                nonce: "",
                verifier: "verifier of \(id)",
                callback: wish.callback
            )
        )
    }

    package func complete(
        _ pending: PendingSignIn,
        _ parameters: [(name: String, value: String)]
    ) async throws(NotDone) -> ProvenUser {
        let meanwhile = self.state.withLock { state in
            defer { state.meanwhile = nil }
            return state.meanwhile
        }
        await meanwhile?()
        let completion = self.state.withLock { state -> Result<ProvenUser, NotDone> in
            guard !state.isAway else {
                return .failure(NotDone(.providerUnavailable, detail: "the provider is away"))
            }
            state.completions.append(parameters.map { "\($0.name)=\($0.value)" })
            let id = parameters.first { $0.name == "state" }?.value ?? ""
            guard pending.verifier == "verifier of \(id)" else {
                return .failure(NotDone(.signInStateMismatch, detail: "state"))
            }
            return state.next
        }
        return try completion.get()
    }

    package func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String? { nil }
}
