package import Observability
package import Sessions
package import Settings
package import Vocabulary

/// One readiness check, with its name, result and detail.
package typealias ReadinessCheck = (name: String, ok: Bool, detail: String)

/// The storage of sessions and all other records of a process. It opens and closes its store.
package protocol StoreBacking: Sendable {
    /// The store of the records.
    var store: any RecordStore { get }
    /// The rate limiter, which counts attempts across all gateways that share the store.
    var limiter: any RateLimiter { get }
    /// The clock for the lifetimes of records. Setting the machine's clock does not change it.
    ///
    /// Absolute times that clients see, as in `expires_at`, are times of this clock, and are enforced as shown.
    /// Relative times, as in `expires_in`, are differences between two times of this clock.
    var clock: Clock { get }
    /// The name of the database system in traces, such as `redis`. `nil` if the store is in this process.
    var databaseSystem: String? { get }
    /// The readiness checks of the store.
    var checks: [ReadinessCheck] { get }

    /// Starts to connect. If the store cannot be reached, connecting is retried.
    func start() async throws
    /// Joins the gateways that share the store. Commands do not join.
    func join() async
    /// Closes the store. Called when no request uses the store any longer.
    func stop() async

    /// Returns true if a reload may replace the settings `former` by `new`.
    func mayReload(_ former: StoreSettings, _ new: StoreSettings) -> Bool
    /// Applies those reloaded settings that can change while the process runs.
    func adopt(_ settings: StoreSettings)
    /// Calls `spread` each time the store sets its clock.
    func followClock(_ spread: @escaping @Sendable () async -> Void)
    /// Removes expired sessions, unless the store expires them itself.
    func collectExpired()
    /// Registers the metrics that are read at a scrape.
    ///
    /// - Parameter handoffLifetime: Returns the lifetime of transfer tokens under the settings in use.
    func register(in registry: MetricsRegistry, handoffLifetime: @escaping @Sendable () -> Duration)
}
