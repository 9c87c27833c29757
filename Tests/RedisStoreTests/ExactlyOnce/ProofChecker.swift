import JOSE
import NIOCore
import RedisServers
import Sessions
import Synchronization
import Testing
import Vocabulary

/// Clients whose proofs are replayed at once at the gates of two gateways. Half of them send a nonce as soon as they have
/// been given one, the others only when they are asked to.
final class ProofChecker: OnceChecker {
    private static let runners = 8
    private static let url = "https://app.example.com/orders"

    private struct State {
        /// By proof: how often it was accepted.
        var proofs: [String: Int] = [:]
        var nonces: [Int: String] = [:]
        var accepted = 0
        /// How often a gate asked for a nonce.
        var asked = 0
    }

    private let gates: [DPoPGate]
    private let clock: Clock
    private let maker = DPoPProofMaker(.generated(.es256))
    private let state = Mutex(State())

    init(_ pair: StorePair) {
        let secrets = SecretRing(current: Secret("the secret of the gateways, which is long"))
        self.gates = pair.stores.map { DPoPGate(secrets, onces: $0.store) }
        self.clock = pair[0].clock
    }

    var accepted: Int { self.state.withLock { $0.accepted } }

    func prepare() {}

    func step(_ worker: Int) async {
        let nonce = self.state.withLock { $0.nonces[worker] }
        let proof = self.maker.proof(method: "GET", url: Self.url, nonce: nonce, at: self.clock.now())
        self.state.withLock { state in
            state.proofs[proof] = 0
            if worker % 2 == 1 { state.nonces[worker] = nil }
        }
        await self.present(proof, tries: 20, by: worker)
    }

    /// Presents a proof at both gates at once.
    private func present(_ proof: String, tries: Int, by worker: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for runner in 0..<Self.runners {
                group.addTask { await self.present(proof, at: runner % self.gates.count, tries: tries, by: worker) }
            }
        }
    }

    /// Presents it until the answer is certain.
    private func present(_ proof: String, at gate: Int, tries: Int, by worker: Int) async {
        let gate = self.gates[gate]
        for _ in 0..<tries {
            let now = self.clock.now()
            let demand = DPoPDemand(
                method: "GET",
                target: DPoPTarget(origin: Array("https://app.example.com".utf8), path: Array("/orders".utf8))
            )
            do {
                let good = try gate.judge(Array(proof.utf8), for: demand, keys: nil, now: now)
                if let refusal = try await gate.redeem(good, now: now, on: loops.next()).get() { throw refusal }
                return self.state.withLock { state in
                    state.proofs[proof, default: 0] += 1
                    state.accepted += 1
                    if worker % 2 == 0, let nonce = good.nextNonce { state.nonces[worker] = nonce }
                }
            } catch let refusal as DPoPRefusal {
                return self.note(refusal, worker)
            } catch {
                // Whoever replays a proof tries again.
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private func note(_ refusal: DPoPRefusal, _ worker: Int) {
        guard let nonce = refusal.nonce else { return }
        self.state.withLock { state in
            state.nonces[worker] = nonce
            state.asked += 1
        }
    }

    func verify() async throws {
        for proof in self.state.withLock({ Array($0.proofs.keys) }) {
            await self.present(proof, tries: 200, by: 0)
        }
        self.state.withLock { state in
            #expect(state.proofs.values.allSatisfy { $0 <= 1 })
            // The loss of a primary makes everybody get a new nonce.
            #expect(state.asked > 0)
            state.proofs = [:]
            state.asked = 0
        }
    }
}

/// The clock of the machine, moved ahead.
final class LaterClock: Sendable {
    private let lead = Mutex(Duration.zero)

    var clock: Clock { Clock { Clock.system.now().advanced(by: self.lead.withLock { $0 }) } }

    func advance(by duration: Duration) { self.lead.withLock { $0 += duration } }
}
