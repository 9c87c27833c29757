import AddressIntelligence
import Endpoints
import Settings
import Vocabulary

extension PathConfiguration {
    /// The refusal of a request for a host that is not served.
    ///
    /// Whoever tries the gateway on a machine is told which name works there. Names that are not of the machine itself are
    /// told to nobody: a proxy on the same machine may pass on what strangers ask.
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
