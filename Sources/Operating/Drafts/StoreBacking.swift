package import Observability
package import Sessions
package import Settings
package import Vocabulary

/// The result of a readiness check, with its name and details.
package typealias ReadinessCheck = (name: String, ok: Bool, detail: String)

/// Opens and closes the store of a process: Redis, or the process's memory.
package protocol StoreBacking: Sendable {
    /// The store of the records.
    var store: any RecordStore { get }
    /// The rate limiter. It counts together with all gateways that share the store.
    var limiter: any RateLimiter { get }
    /// The clock for the lifetimes of records. It does not follow changes of the machine's clock.
    ///
    /// Times in answers, such as `expires_at` and `expires_in`, use this clock, too.
    var clock: Clock { get }
    /// The name of the database in traces, e.g. `redis`; `nil` for a store in this process.
    var databaseSystem: String? { get }
    /// The results of the store's readiness checks.
    var checks: [ReadinessCheck] { get }

    /// Starts to connect. Retries if the store cannot be reached.
    func start() async throws
    /// Announces this gateway to those that share the store. Commands do not call it.
    func join() async
    /// Closes the store. Called when no request uses it.
    func stop() async

    /// Returns whether a reload may replace `former` by `new`.
    func mayReload(_ former: StoreSettings, _ new: StoreSettings) -> Bool
    /// Applies reloaded settings that can change while the process runs.
    func adopt(_ settings: StoreSettings)
    /// Calls `spread` whenever the store sets `clock`.
    func followClock(_ spread: @escaping @Sendable () async -> Void)
    /// Removes expired records. Does nothing if the store expires them itself.
    func collectExpired()
    /// Registers metrics that are read at each scrape.
    ///
    /// - Parameter handoffLifetime: Returns the lifetime of transfer tokens in the current settings.
    func register(in registry: MetricsRegistry, handoffLifetime: @escaping @Sendable () -> Duration)
}
