import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Whether the user is signed in to the app, and the tokens for that. One object for the whole app.
public actor AppSession {
    public enum State: Sendable, Equatable { case signedOut, signingIn, signedIn }

    let gateway: Gateway
    private let store: any TokenStore
    private let changed: @Sendable (State) -> Void
    private var isSigningIn = false
    /// The credential that counts, also while the store cannot keep it.
    private var newest: Credential?
    private var access: AccessToken?
    /// The refresh that is under way: all who need an access token wait for it.
    private var refresh: Task<String, any Error>?
    /// The last use of the credential.
    private var last: Task<Void, Never>?

    /// - Parameter changed: Called with each new state, on any thread.
    public init(gateway: Gateway, store: any TokenStore, changed: @escaping @Sendable (State) -> Void = { _ in }) {
        self.gateway = gateway
        self.store = store
        self.changed = changed
    }

    public var state: State {
        get throws {
            if self.isSigningIn { return .signingIn }
            return try self.credential() == nil ? .signedOut : .signedIn
        }
    }

    /// Signs the user in with the system's browser.
    ///
    /// - Parameter browse: Opens the page and gives the URL of the gateway's `callback` with which the browser comes back.
    public func signIn(
        _ begun: PendingSignIn,
        browse: @Sendable (_ page: URL, _ callback: URL) async throws -> URL
    ) async throws {
        guard !self.isSigningIn else { throw GatewayError.refused("a sign-in is under way") }
        self.isSigningIn = true
        self.changed(.signingIn)
        do {
            let url = try await browse(begun.page, self.gateway.callback)
            let tokens = try await self.gateway.finish(begun, with: url)
            await self.last?.value
            try self.store.save(tokens.credential)
            self.newest = tokens.credential
            self.access = tokens.access
            self.end()
        } catch {
            self.end()
            // A code that is not good any more: nobody was signed in.
            throw error as? GatewayError == .signedOut ? GatewayError.refused("the code has ended") : error
        }
    }

    private func end() {
        self.isSigningIn = false
        if let state = try? self.state { self.changed(state) }
    }

    /// A token for the app's API, good for 30 seconds at least.
    public func accessToken() async throws -> String {
        if let access = self.access, access.ends.timeIntervalSinceNow > 30 { return access.value }
        if let refresh = self.refresh { return try await refresh.value }
        let refresh = Task {
            defer { self.refresh = nil }
            return try await self.inTurn { session, credential in
                guard case .refreshToken(let token) = credential else { return credential.token }
                let answer = try await session.use(token, [:])
                session.access = answer.accessToken
                return answer.access_token
            }
        }
        self.refresh = refresh
        return try await refresh.value
    }

    /// The answer of the app's API. A token that was ended early is replaced once.
    public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        var request = request
        request.setValue("Bearer \(try await self.accessToken())", forHTTPHeaderField: "Authorization")
        let (data, response) = try await self.gateway.answer(to: request)
        guard response.statusCode == 401 else { return (data, response) }
        self.access = nil
        request.setValue("Bearer \(try await self.accessToken())", forHTTPHeaderField: "Authorization")
        return try await self.gateway.answer(to: request)
    }

    /// A token that signs one WebView or browser in, once and within a minute. Each page needs one of its own.
    public func transferToken() async throws -> String {
        try await self.inTurn { session, credential in
            let audience = ["audience": "urn:\(session.gateway.origin.host ?? ""):session_transfer"]
            switch credential {
            case .refreshToken(let token):
                return try await session.use(token, audience).access_token
            case .sessionToken(let token):
                let answer = try await session.gateway.tokens(
                    audience.merging([
                        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": token,
                        "subject_token_type": "urn:sallyport:params:oauth:token-type:session_token",
                    ]) { $1 }
                )
                return answer.access_token
            }
        }
    }

    /// Signs the user out: of this app, and of all browsers and WebViews that it has signed in. On the device that holds even
    /// if this throws `unavailable`; then the gateway learns nothing of it, and its sessions end by themselves.
    public func signOut() async throws {
        try await self.inTurn { session, credential in
            try session.forget()
            switch credential {
            case .refreshToken(let token):
                let body = ["client_id": session.gateway.clientID, "token": token]
                _ = try await session.gateway.call("POST", session.gateway.url("/oauth/revoke"), body)
            case .sessionToken(let token):
                let url = session.gateway.url("/self-service/logout/api")
                _ = try await session.gateway.call("DELETE", url, ["session_token": token], expected: [204])
            }
        }
    }

    private func use(_ refreshToken: String, _ more: [String: String]) async throws -> Gateway.TokenAnswer {
        let grant = ["grant_type": "refresh_token", "refresh_token": refreshToken]
        let answer = try await self.gateway.tokens(grant.merging(more) { $1 })
        // The one that was sent counts no more.
        if let next = answer.refresh_token {
            self.newest = .refreshToken(next)
            try? self.store.save(.refreshToken(next))
        }
        return answer
    }

    private func credential() throws -> Credential? { try self.newest ?? self.store.load() }

    private func forget() throws {
        self.access = nil
        self.newest = nil
        try self.store.delete()
        self.changed(.signedOut)
    }

    /// Uses the credential after all earlier uses, since each replaces it. The work goes on when who waits for it is cancelled,
    /// as a view that closes is: the new credential must not be lost.
    private func inTurn<Value: Sendable>(
        _ work: @escaping @Sendable (isolated AppSession, Credential) async throws -> Value
    ) async throws -> Value {
        let before = self.last
        let task = Task {
            await before?.value
            guard let credential = try self.credential() else { throw GatewayError.signedOut }
            do {
                return try await work(self, credential)
            } catch GatewayError.signedOut {
                try self.forget()
                throw GatewayError.signedOut
            }
        }
        self.last = Task { _ = try? await task.value }
        return try await task.value
    }
}

extension Credential {
    var token: String {
        switch self {
        case .refreshToken(let token), .sessionToken(let token): token
        }
    }
}
