package import Calls
import Synchronization
package import Vocabulary

/// The metadata of one issuer, refreshed in the background.
package final class MetadataCache: Sendable {
    /// The maximum size of the document in bytes.
    private static let bodyLimit = 65_536

    private struct State {
        var schedule = MetadataSchedule()
        /// The request in progress. `nil` if none exists.
        var flight: Task<ProviderMetadata?, Never>?
        /// The task that refreshes the metadata. `nil` before `start`.
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

    /// The last valid metadata, without waiting. `nil` if the issuer has not answered yet.
    package var known: ProviderMetadata? { self.state.withLock { $0.schedule.known } }

    /// Why the last request failed. `nil` if it succeeded.
    package var failure: MetadataError? { self.state.withLock { $0.schedule.failure } }

    /// Starts to refresh the metadata on schedule, until this object is released.
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

    /// Returns the last valid metadata or, if there are none, the answer to the request that is in progress or due.
    /// `nil` if the issuer cannot be reached or has just failed.
    package func current() async -> ProviderMetadata? {
        if let known = self.known { return known }
        return await self.refreshIfDue()
    }

    /// Returns whether the issuer delivers its metadata now.
    func canBeRead() async -> Bool { (try? await Self.fetch(self.issuer, self.transport)) != nil }

    /// Refreshes the metadata if they are due.
    ///
    /// - Returns: The time until the next request.
    private func keepFresh() async -> Duration {
        _ = await self.refreshIfDue()
        let pause = self.state.withLock { $0.schedule.pause(self.clock.now()) }
        // The clock is read every minute, because somebody may set it.
        return min(max(pause, .milliseconds(100)), .seconds(60))
    }

    /// Requests the metadata if they are due, or waits for the request in progress.
    ///
    /// - Returns: The last valid metadata. `nil` if there are none.
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
