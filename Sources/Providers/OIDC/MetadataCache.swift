package import Calls
import Synchronization
package import Vocabulary

/// The metadata of an OpenID issuer, refreshed in the background.
package final class MetadataCache: Sendable {
    /// The maximum size of the document in bytes.
    private static let bodyLimit = 65_536

    private struct State {
        var schedule = MetadataSchedule()
        /// The request under way; `nil` if there is none.
        var flight: Task<ProviderMetadata?, Never>?
        /// The task that refreshes the metadata on schedule; `nil` before `start`.
        var keeper: Task<Void, Never>?
    }

    private let issuer: EndpointURL
    private let transport: any CallTransport
    private let clock: Clock
    private let state = Mutex(State())

    package init(issuer: EndpointURL, transport: any CallTransport, clock: Clock) {
        self.issuer = issuer
        self.transport = transport
        self.clock = clock
    }

    deinit {
        self.state.withLock { $0.keeper?.cancel() }
    }

    /// The last valid metadata, without waiting; `nil` before the first valid answer.
    package var known: ProviderMetadata? { self.state.withLock { $0.schedule.known } }

    /// The reason why the last request failed; `nil` if it succeeded or none has ended yet.
    package var failure: MetadataError? { self.state.withLock { $0.schedule.failure } }

    /// Starts to refresh the metadata on schedule. Ends when this object is released.
    package func start() {
        self.state.withLock { state in
            guard state.keeper == nil else { return }
            state.keeper = Task { [weak self] in
                while !Task.isCancelled, let pause = await self?.keepFresh() {
                    guard (try? await Task.sleep(for: pause)) != nil else { return }
                }
            }
        }
    }

    /// Returns the last valid metadata. Before the first valid answer, waits for the request that is under way or due.
    /// `nil` if there are no metadata after that.
    package func current() async -> ProviderMetadata? {
        if let known = self.known { return known }
        return await self.refreshIfDue()
    }

    /// Requests the metadata, and returns whether they are valid.
    func canBeRead() async -> Bool { (try? await Self.fetch(self.issuer, self.transport)) != nil }

    /// Requests the metadata if that is due.
    ///
    /// - Returns: The pause before the next check.
    private func keepFresh() async -> Duration {
        _ = await self.refreshIfDue()
        let pause = self.state.withLock { $0.schedule.pause(self.clock.now()) }
        // The clock is read at least once a minute, because it may be set.
        return min(max(pause, .milliseconds(100)), .seconds(60))
    }

    /// Requests the metadata if that is due, or waits for the request under way.
    ///
    /// - Returns: The last valid metadata; `nil` if there are none.
    package func refreshIfDue() async -> ProviderMetadata? {
        let flight: Task<ProviderMetadata?, Never>? = self.state.withLock { state in
            if let flight = state.flight { return flight }
            guard state.schedule.isDue(self.clock.now()) else { return nil }
            let flight = Task { await self.fetch() }
            state.flight = flight
            return flight
        }
        guard let flight else { return self.known }
        return await flight.value
    }

    private func fetch() async -> ProviderMetadata? {
        let result: Result<ProviderMetadata, MetadataError>
        do throws(MetadataError) {
            result = .success(try await Self.fetch(self.issuer, self.transport))
        } catch {
            result = .failure(error)
        }
        return self.state.withLock { state in
            switch result {
            case .success(let metadata): state.schedule.succeeded(metadata, self.clock.now())
            case .failure(let error): state.schedule.failed(error, self.clock.now())
            }
            state.flight = nil
            return state.schedule.known
        }
    }

    private static func fetch(
        _ issuer: EndpointURL,
        _ transport: any CallTransport
    ) async throws(MetadataError) -> ProviderMetadata {
        let location = ProviderMetadata.location(of: issuer)
        let document = try await transport.document(at: location, for: .metadata, bodyLimit: Self.bodyLimit)
        do throws(MetadataError) {
            return try ProviderMetadata(document, of: issuer)
        } catch {
            throw MetadataError("the document at \(location) cannot be used: \(error)")
        }
    }
}
