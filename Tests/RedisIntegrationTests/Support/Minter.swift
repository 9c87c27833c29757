import Foundation
import GatewayBench
import Synchronization

/// Mints transfer tokens within the limits on sign-ins and mints: ten per session, and ten sessions per address.
final class Minter: Sendable {
    private struct State {
        var session: String?
        /// The number of tokens minted from the session.
        var minted = 0
        var signIns = 0
        var tokens = 0
        var failures = 0
    }

    private let fleet: Fleet
    /// The third number of the addresses from which it signs in.
    private let network: Int
    private let state = Mutex(State())

    /// - Parameter network: 0 to 200, different for each minter of a fleet.
    init(_ fleet: Fleet, network: Int = 0) {
        self.fleet = fleet
        self.network = network
    }

    /// The number of mints that failed.
    var failures: Int { self.state.withLock { $0.failures } }
    /// The number of sessions that it has begun.
    var signIns: Int { self.state.withLock { $0.signIns } }

    /// Mints a token. Each call uses the next gateway.
    ///
    /// - Throws: `BenchFailure` if that gateway cannot mint now.
    func mint() throws -> String {
        try self.state.withLock { state in
            state.tokens += 1
            let gateway = self.fleet[state.tokens % self.fleet.count]
            let address = "127.1.\(self.network).\(state.signIns / 10 % 250 + 1)"
            if state.session == nil || state.minted >= 10 {
                state.session = nil
                state.signIns += 1
                state.session = try gateway.native(.ada, from: address)
                state.minted = 0
            }
            guard let session = state.session else { throw BenchFailure("no session") }
            state.minted += 1
            do {
                return try gateway.mint(session, client: "native-\(state.tokens % Fleet.clientCount)", from: address)
            } catch {
                // The session may have been lost with its Redis.
                state.session = nil
                state.failures += 1
                throw error
            }
        }
    }
}
