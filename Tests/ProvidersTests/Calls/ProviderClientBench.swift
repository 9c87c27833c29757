import Calls
import NIOCore
import Providers
import Testing
import Transport

enum ProviderClientBench {
    /// The loop of the clients.
    static let group = Result { try TransportGroup(count: 1) }
}

/// Runs `body` with a client, which is shut down at the end.
///
/// - Parameter idleTime: How long its connections wait for another call.
func withProviderClient<Value>(
    idleTime: TimeAmount = .seconds(1),
    _ body: (CallClient) async throws -> Value
) async throws -> Value {
    let client = CallClient(group: try ProviderClientBench.group.get(), idleTime: idleTime)
    let result: Result<Value, any Error>
    do {
        result = .success(try await body(client))
    } catch {
        result = .failure(error)
    }
    await client.shutdown()
    return try result.get()
}

extension HTTPCallTransport {
    /// The error of a call that is expected to fail.
    func failure(of call: OutgoingCall) async -> CallError? {
        do {
            let answer = try await self.send(call)
            Issue.record("an answer with status \(answer.status)")
            return nil
        } catch {
            return error
        }
    }
}
