/// A condition that did not come to hold.
package struct NotInTime: Error, CustomStringConvertible {
    package let description: String
}

/// Waits until a condition holds, and checks it repeatedly: for far longer than it can take on a busy machine, but not
/// forever. Time alone is not enough to give up: where other tests keep all threads busy, what is waited for stands still
/// as well, so the condition is checked a thousand times at least.
///
/// - Parameters:
///   - what: What is waited for, for the message.
///   - file: Where this is called, for the message.
/// - Throws: `NotInTime` if it does not hold in time.
package func waitUntil(
    _ what: String = "a condition",
    within patience: Duration = .seconds(60),
    file: String = #fileID,
    line: Int = #line,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + patience
    var checks = 0
    while try await !condition() {
        checks += 1
        guard checks < 1000 || ContinuousClock.now < deadline else {
            throw NotInTime(description: "\(file):\(line): \(what): not within \(patience)")
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}
