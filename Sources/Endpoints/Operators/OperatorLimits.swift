import AddressIntelligence
import Sessions
import Settings
package import SignOn
import Vocabulary

/// The rate limits of an address, for operators. Serve these endpoints on the admin listener only.
///
/// ```
/// GET    /limits?address=[&account=]    shows how full the limits are
/// DELETE /limits?address=[&account=]    empties the limits
/// ```
package struct OperatorLimits: Sendable {
    private let limits: AddressLimits
    private let gate: OperatorGate

    package init(limits: AddressLimits, gate: OperatorGate) {
        self.limits = limits
        self.gate = gate
    }

    package var endpoints: [Endpoint] {
        [
            .everywhere("/limits", ["GET", "DELETE"]) { request in
                request.method == "GET" ? await self.list(request) : await self.clear(request)
            }
        ]
    }

    /// Returns the address and the account in the request. `nil` unless there is one address and at most one account.
    private static func question(_ request: EndpointRequest) -> (address: IPAddress, account: String?)? {
        let (addresses, accounts) = (request.parameters("address"), request.parameters("account"))
        guard addresses.count == 1, accounts.count <= 1, let address = IPAddress(addresses[0]) else { return nil }
        return (address, accounts.first)
    }

    private static func usage(_ method: String) -> String { "\(method) /limits?address=ADDRESS[&account=ACCOUNT]" }

    private func list(_ request: EndpointRequest) async -> EndpointResponse {
        await self.gate.admit(request, .read, OperatorGate.Act("limits.list", usage: Self.usage("GET"))) {
            _ throws(NotDone) in
            guard let question = Self.question(request) else { throw NotDone(.requestParameters) }
            let counts = try await self.limits.counts(of: question.address, account: question.account)
            return .json(200, ["limits": .array(counts.map(Self.document))])
        }
    }

    private func clear(_ request: EndpointRequest) async -> EndpointResponse {
        let question = Self.question(request)
        // The account is not recorded, because it may be a secret that was typed by mistake.
        let act = OperatorGate.Act(
            "limits.clear\(question.map { " of \($0.address.key)" } ?? "")",
            usage: Self.usage("DELETE")
        )
        return await self.gate.admit(request, .sessions, act) { _ throws(NotDone) in
            guard let question else { throw NotDone(.requestParameters) }
            try await self.limits.clear(question.address, account: question.account)
            return .noContent()
        }
    }

    private static func document(_ count: AddressLimits.Count) -> JSONValue {
        [
            "limit": .string(count.limit), "used": .integer(Int64(count.used)), "burst": .integer(Int64(count.burst)),
            "retry_after_seconds": .integer((count.wait + .milliseconds(999)).components.seconds),
        ]
    }
}
