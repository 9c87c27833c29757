import AddressIntelligence
import Endpoints
import Settings
import Vocabulary

extension PathConfiguration {
    /// Returns the refusal of a request for a host that is not served.
    ///
    /// For a peer on this machine, the answer lists local hosts. Other names are never disclosed, because the peer may
    /// be a proxy for strangers.
    func unknownHost(for peer: IPAddress, _ requestID: RequestID) -> LocalAnswer {
        let local = peer.isLoopback ? self.routes.hosts.map(\.publicURL).filter(\.isLoopback).prefix(5) : []
        let explanation =
            local.isEmpty
            ? nil
            : "No host has the name in the address. Served here: "
                + local.map { "\($0)/" }.joined(separator: ", ") + " (public_url in the settings)."
        return .problem(.routeUnknownHost, explanation: explanation, requestID: requestID)
    }
}
