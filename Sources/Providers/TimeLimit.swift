/// Returns the value of `work`; `nil` if it takes longer than `limit`. `work` is then cancelled.
func within<Value: Sendable>(
    _ limit: Duration,
    _ work: @escaping @Sendable () async -> Value
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await work() }
        group.addTask {
            try? await Task.sleep(for: limit)
            return nil
        }
        let first = await group.next()
        group.cancelAll()
        return first ?? nil
    }
}
