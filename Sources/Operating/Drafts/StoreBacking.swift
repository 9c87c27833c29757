package import Observability
package import Sessions
package import Settings
package import Vocabulary

/// One condition of readiness.
package typealias ReadinessCheck = (name: String, ok: Bool, detail: String)

/// The place where a process keeps sessions and all other records. It opens and closes the store that it holds.
package protocol StoreBacking: Sendable {
    /// The store of the records.
    var store: any RecordStore { get }
    /// Counts attempts where the sessions are kept, so that all gateways of a shared store count together.
    var limiter: any RateLimiter { get }
    /// The clock for the lifetimes of the records. Setting the machine's clock does not change it.
    ///
    /// Clients are shown absolute times of this clock, as in `expires_at`: the end that will be enforced. Relative
    /// times, as in `expires_in`, are differences of two of its times.
    var clock: Clock { get }
    /// The name of the database system in traces, such as `redis`; `nil` if no other process is asked.
    var databaseSystem: String? { get }
    /// The checks of the store that readiness depends on.
    var checks: [ReadinessCheck] { get }

    /// Starts to connect. A store that cannot be reached is tried again and again.
    func start() async throws
    /// Joins the other gateways of a shared store. Commands do not join.
    func join() async
    /// Closes the store. No request uses it any more.
    func stop() async

    /// Returns true if a reload may replace the settings `former` by `new`.
    func mayReload(_ former: StoreSettings, _ new: StoreSettings) -> Bool
    /// Takes over from reloaded settings what can change while the process runs.
    func adopt(_ settings: StoreSettings)
    /// Calls `spread` each time that the store sets its clock.
    func followClock(_ spread: @escaping @Sendable () async -> Void)
    /// Removes sessions that have expired, unless the store does that by itself.
    func collectExpired()
    /// Registers the values that are read at a scrape.
    ///
    /// - Parameter handoffLifetime: Returns how long transfer tokens live under the settings in use.
    func register(in registry: MetricsRegistry, handoffLifetime: @escaping @Sendable () -> Duration)
}
