package import AddressIntelligence
package import JOSE
package import Observability
package import Sessions
package import SignOn

/// The objects that judge a listener's requests to apps.
package final class JudgingProfile: Sendable {
    let audit: AuditStream
    package let identity: IdentityProfile
    let handoff: HandoffConsumer
    let confirmation: HandoffConfirmation
    /// Makes links that also sign a browser in on the sign-in host (`handoff.share`). `nil` if handoffs are not shared.
    let share: HandoffShare?
    let devices: DeviceObserver
    /// The countries of addresses for the audit stream. `nil` if countries are unknown.
    let places: GeoDirectory?
    let proofs: DPoPGate
    package let clients: ClientRegistry

    package init(
        audit: AuditStream,
        identity: IdentityProfile,
        handoff: HandoffConsumer,
        confirmation: HandoffConfirmation,
        share: HandoffShare?,
        devices: DeviceObserver,
        places: GeoDirectory?,
        proofs: DPoPGate,
        clients: ClientRegistry
    ) {
        self.audit = audit
        self.identity = identity
        self.handoff = handoff
        self.confirmation = confirmation
        self.share = share
        self.devices = devices
        self.places = places
        self.proofs = proofs
        self.clients = clients
    }
}
