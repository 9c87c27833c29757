package import AddressIntelligence
package import JOSE
package import Observability
package import Sessions
package import SignOn

/// What the requests of a listener to apps are judged with: whom they may come from, and what apps are told about them.
package final class JudgingProfile: Sendable {
    let audit: AuditStream
    package let identity: IdentityProfile
    let handoff: HandoffConsumer
    let confirmation: HandoffConfirmation
    /// Set if a handoff also signs the browser in on the host on which users sign in.
    let share: HandoffShare?
    let devices: DeviceObserver
    /// Tells the countries of addresses in the audit stream; nil: they are unknown.
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
