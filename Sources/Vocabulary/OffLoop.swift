/// Does work that would hold up an event loop for more than about 0.1 ms, e.g. a signature with RSA, on the threads that all
/// tasks share.
package func offLoop<Value: Sendable>(_ work: @Sendable () async -> Value) async -> Value {
    await withTaskExecutorPreference(globalConcurrentExecutor) { await work() }
}
