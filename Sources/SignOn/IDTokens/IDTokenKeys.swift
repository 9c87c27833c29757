package import Cryptography
package import JOSE
package import NIOCore
package import Sessions
import Synchronization
package import Vocabulary

/// The reason why no id_token can be signed now. Callers answer 503.
package enum IDTokenKeyFailure: Error, Sendable, Hashable {
    /// The store does not answer, and this process has never read a key.
    case unavailable
    /// The store holds keys that are sealed under a secret that this process does not accept.
    case unreadable

    /// The failure in words, for logs and the command line.
    package var sentence: String {
        switch self {
        case .unavailable: "the store does not answer, and no signing key of id_tokens was read from it yet"
        case .unreadable:
            """
            the signing keys of id_tokens in the store are sealed under a secret that is not accepted here: put that \
            secret back into secret_file, as one that is accepted; if it is lost, make new keys with \
            `sallyport keys rotate-signing --discard`, after which no client can verify earlier id_tokens
            """
        }
    }
}

/// The RSA keys for signing id_tokens. All gateways that share a store sign with the same key. The first gateway that
/// needs a key makes it.
///
/// During an outage of the store, the last known keys stay in use. Keys that cannot be unsealed are overwritten only by
/// `rotate(after:discards:)` with `discards`, because clients may hold tokens that only these keys verify.
package final class IDTokenKeys: DocumentReader {
    /// A notice for operators.
    package enum Notice: Sendable, Hashable {
        /// There was no key, so the gateway made one.
        case made(keyID: String)
        /// The store had lost the keys, so the gateway wrote them again.
        case restored
        /// The keys were sealed under an older secret, and are now sealed under the current secret.
        case resealed
        /// A new key was found in the store.
        case rotated(keyID: String, signsFrom: UnixTime)
        case failed(IDTokenKeyFailure)
    }

    private struct State {
        var plan: KeyPlan?
        var failure: IDTokenKeyFailure?
        /// Whether the store has answered at least once, with or without a key.
        var hasRead = false
        var makesKeys = false
        /// A generated key that is not yet stored. Retries reuse it, because generating a key takes about 0.1 s.
        var candidate: SigningKey?
    }

    /// The maximum number of tries while other gateways change the document.
    private static let tries = 8

    private let store: any DocumentStore
    private let ring: SealingKeyRing
    private let loops: any EventLoopGroup
    private let clock: Clock
    private let report: @Sendable (Notice) -> Void
    package let follower: DocumentFollower
    private let state = Mutex(State())

    /// - Parameters:
    ///   - clock: The clock of all gateways that share the store.
    ///   - report: Called once for each notice, on any thread.
    package init(
        store: any DocumentStore,
        ring: SealingKeyRing,
        loops: any EventLoopGroup,
        clock: Clock,
        report: @escaping @Sendable (Notice) -> Void = { _ in }
    ) {
        self.store = store
        self.ring = ring
        self.loops = loops
        self.clock = clock
        self.report = report
        self.follower = DocumentFollower(loops: loops, interval: .seconds(5))
    }

    // MARK: For requests

    /// Returns the current signing key. Waits for the store only if no key is known yet.
    package func signer() async throws(IDTokenKeyFailure) -> SigningKey {
        if let plan = self.state.withLock({ $0.plan }) { return plan.signer(self.clock.now()) }
        await self.prepare()
        let (plan, failure) = self.state.withLock { ($0.plan, $0.failure) }
        guard let plan else { throw failure ?? .unavailable }
        return plan.signer(self.clock.now())
    }

    /// The public keys. Empty if no key exists and none is to be made. `nil` if the keys are not yet known.
    package var published: JWKSet? {
        let (plan, isNone) = self.state.withLock { ($0.plan, $0.hasRead && !$0.makesKeys) }
        return plan?.published(self.clock.now()) ?? (isNone ? JWKSet(keys: []) : nil)
    }

    // MARK: Life

    /// Reads the keys, and makes a key if none exists. Returns when this has succeeded or failed.
    package func prepare() async {
        self.state.withLock { $0.makesKeys = true }
        await self.refresh()
    }

    /// Reads the keys in the background, and makes a key if none exists. Retries after failures.
    package func prepareSoon() {
        self.state.withLock { $0.makesKeys = true }
        self.refreshSoon()
    }

    package func reads(_ name: DocumentName) -> Bool {
        name.collection == SigningKeyDocument.collection && self.store.names(of: SigningKeyDocument.key).contains(name)
    }

    package func readDocuments() async -> Bool {
        do throws(IDTokenKeyFailure) {
            let plan = try await self.read(makesKeys: self.state.withLock { $0.makesKeys })
            let former = self.state.withLock { state in
                defer { state.plan = plan }
                state.failure = nil
                state.hasRead = true
                return state.plan
            }
            if let newest = plan?.newest, let known = former?.newest, newest.keyID != known.keyID {
                self.report(.rotated(keyID: newest.keyID, signsFrom: newest.signsFrom))
            }
            return true
        } catch {
            let isNews = self.state.withLock { state in
                defer { state.failure = error }
                return state.failure != error
            }
            if isNews { self.report(.failed(error)) }
            return false
        }
    }

    // MARK: Steps

    /// Returns the keys in the store. If it has none, stores the last known keys again, or makes a key if `makesKeys`.
    /// Otherwise `nil`.
    private func read(makesKeys: Bool) async throws(IDTokenKeyFailure) -> KeyPlan? {
        for _ in 0..<Self.tries {
            switch try await self.standing() {
            case .plan(let plan, let stored):
                return await self.resealed(plan, stored)
            case .unreadable: throw .unreadable
            case .absent:
                let known = self.state.withLock { $0.plan }
                guard known != nil || makesKeys else { return nil }
                let plan = known ?? KeyPlan(first: self.candidate(), now: self.clock.now())
                guard try await self.put(plan, judged: nil) else { continue }
                self.follower.noteSealed(self.clock.now())
                self.state.withLock { $0.candidate = nil }
                self.report(
                    known == nil ? .made(keyID: plan.signer(self.clock.now()).publicKey.thumbprint) : .restored
                )
                return plan
            }
        }
        throw .unavailable
    }

    private func candidate() -> SigningKey {
        if let made = self.state.withLock({ $0.candidate }) { return made }
        let key = SigningKey.generated(.rs256)
        self.state.withLock { $0.candidate = key }
        return key
    }

    private enum Standing {
        case plan(KeyPlan, Stored<SigningKeyDocument>)
        case absent
        /// Keys exist, but the ring cannot unseal them. The version is `nil` if the document itself cannot be read.
        case unreadable(RecordVersion?)
    }

    private func standing() async throws(IDTokenKeyFailure) -> Standing {
        if let stored = try await self.document() {
            guard let plan = stored.record.plan(self.ring) else { return .unreadable(stored.version) }
            return .plan(plan, stored)
        }
        // The document's name depends on the secret. A document under an unknown secret is found only by listing, which
        // then fails. Listing is tried twice, because the connection may also fail.
        for _ in 0..<2 {
            do throws(IDTokenKeyFailure) {
                let listed = try await self.ask { store, loop in
                    store.documents(of: SigningKeyDocument.self, on: loop)
                }
                // Another gateway may have made the keys in the meantime.
                guard let first = listed.first else { return .absent }
                guard let plan = first.stored.record.plan(self.ring) else { return .unreadable(first.stored.version) }
                return .plan(plan, first.stored)
            } catch {
                guard try await self.document() == nil else { throw .unavailable }
            }
        }
        return .unreadable(nil)
    }

    private func document() async throws(IDTokenKeyFailure) -> Stored<SigningKeyDocument>? {
        try await self.ask { store, loop in
            store.document(SigningKeyDocument.id, as: SigningKeyDocument.self, on: loop)
        }
    }

    /// Writes the keys. Returns false if the document has changed since it was judged.
    private func put(_ plan: KeyPlan, judged: RecordVersion?) async throws(IDTokenKeyFailure) -> Bool {
        let document = SigningKeyDocument(plan, self.ring)
        let attempt = AttemptID(value: Random.base64URL(16))
        return try await self.ask { store, loop in
            store.put(document, id: SigningKeyDocument.id, judged: judged, attempt: attempt, on: loop)
        } == .done
    }

    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (any DocumentStore, any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(IDTokenKeyFailure) -> Answer {
        do throws(StoreError) {
            return try await self.loops.ask(self.store, question)
        } catch {
            throw .unavailable
        }
    }

    /// Seals the keys again if an older secret sealed them. Otherwise, removing that secret would lose them.
    private func resealed(
        _ plan: KeyPlan,
        _ stored: Stored<SigningKeyDocument>
    ) async -> KeyPlan {
        let now = self.clock.now()
        guard self.follower.maySeal(now) else { return plan }
        if stored.record.isSealedUnderOlderSecret(self.ring) {
            // The keys are valid even if writing fails. The next read tries again.
            guard let isDone = try? await self.put(plan, judged: stored.version) else { return plan }
            if isDone { self.report(.resealed) }
        }
        self.follower.noteSealed(now)
        return plan
    }
}

// MARK: - Rotation

extension IDTokenKeys {
    /// The result of a rotation.
    package struct Rotation: Sendable, Hashable {
        package let keyID: String
        package let signsFrom: UnixTime
        /// The previous signing key. `nil` if none exists or it was discarded.
        package let former: Former?

        package struct Former: Sendable, Hashable {
            package let keyID: String
            package let publishedUntil: UnixTime
        }
    }

    /// The reason why a rotation was refused.
    package enum RotationRefusal: Error, Sendable, Hashable {
        case failure(IDTokenKeyFailure)
        /// The previous rotation is not complete: its key does not sign before `until`.
        case waiting(keyID: String, until: UnixTime)
    }

    /// Adds a key. It is published at once and signs after `settling`. If it is the only key, it signs at once.
    ///
    /// - Parameter discards: Whether to delete all earlier keys, even if they cannot be unsealed.
    package func rotate(after settling: Duration, discards: Bool = false) async throws(RotationRefusal) -> Rotation {
        do {
            let key = SigningKey.generated(.rs256)
            for _ in 0..<Self.tries {
                let now = self.clock.now()
                let next: KeyPlan
                let former: SigningKey?
                let judged: RecordVersion?
                switch try await self.standing() {
                case .plan(let plan, let stored) where !discards:
                    if let waiting = plan.waiting(now) {
                        throw RotationRefusal.waiting(
                            keyID: waiting.key.publicKey.thumbprint,
                            until: waiting.signsFrom
                        )
                    }
                    former = plan.signer(now)
                    judged = stored.version
                    next = plan.rotated(to: key, after: settling, now: now)
                case .plan(_, let stored):
                    (former, judged, next) = (nil, stored.version, KeyPlan(first: key, now: now))
                case .unreadable(let version):
                    guard discards else { throw IDTokenKeyFailure.unreadable }
                    (former, judged, next) = (nil, version, KeyPlan(first: key, now: now))
                case .absent:
                    (former, judged, next) = (nil, nil, KeyPlan(first: key, now: now))
                }
                guard try await self.put(next, judged: judged) else { continue }
                let signsFrom = former == nil ? now : now.advanced(by: settling)
                return Rotation(
                    keyID: key.publicKey.thumbprint,
                    signsFrom: signsFrom,
                    former: former.map {
                        Rotation.Former(
                            keyID: $0.publicKey.thumbprint,
                            publishedUntil: signsFrom.advanced(by: KeyPlan.afterlife)
                        )
                    }
                )
            }
            throw RotationRefusal.failure(.unavailable)
        } catch let refusal as RotationRefusal {
            throw refusal
        } catch {
            throw .failure(error as? IDTokenKeyFailure ?? .unavailable)
        }
    }
}
