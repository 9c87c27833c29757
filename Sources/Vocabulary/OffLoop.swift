/// Runs work that would block an event loop for more than about 0.1 ms, e.g. an RSA signature, on the global executor.
package func offLoop<Value: Sendable>(_ work: @Sendable () async -> Value) async -> Value {
    await withTaskExecutorPreference(globalConcurrentExecutor) { await work() }
}
