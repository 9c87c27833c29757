import NIOCore
import Rules
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// Says what would happen to a session-transfer token, for `explain --token-file`. Only reads the store.
struct TransferTrial {
    let wiring: GatewayWiring
    let draft: Draft
    /// True if the command may connect to the store.
    let usesNetwork: Bool

    /// Returns lines about a request that presents the token.
    func lines(_ request: HandoffRequest) async -> [String] {
        let store = self.draft.settings.store
        guard store.isShared else {
            return [
                "this command cannot see the memory of the gateway that minted it, which is another process:",
                "it only shows with store.redis whether the token was used, burned or never minted",
            ]
        }
        guard self.usesNetwork else { return ["--network asks \(store.title) what happened to it"] }
        do {
            return try await self.ask(request)
        } catch {
            return ["\(store.title) cannot be asked: \((error as? StartRefusal)?.description ?? "it does not answer")"]
        }
    }

    private func ask(_ request: HandoffRequest) async throws -> [String] {
        let (draft, settings) = (self.draft, self.draft.settings)
        // The store's connections need event loops.
        let group = try TransportGroup(count: 1)
        let backing = try self.wiring.backing(settings.store, draft.keys, group)
        try await backing.start()
        let clients = draft.clients
        let overlay = ClientOverlay(
            store: backing.store,
            ring: draft.keys.sealing,
            loops: group,
            clock: backing.clock
        )
        overlay.attach(clients)
        await overlay.refresh()
        let consumer = HandoffConsumer(
            records: RecordAccess(
                store: backing.store,
                authority: draft.keys.authority,
                loops: group,
                clock: backing.clock
            ),
            sessions: settings.session,
            asn: draft.asn,
            directory: draft.parties.directory,
            clients: clients,
            rules: RuleBook(settings.rules, places: draft.geo),
            journal: AuditJournal { _ in true }
        )
        let inspection: Result<HandoffInspection, any Error>
        do {
            inspection = .success(try await consumer.inspect(request, on: group.next()).get())
        } catch {
            inspection = .failure(error)
        }
        let now = backing.clock.now()
        await backing.stop()
        return Self.words(try inspection.get(), now)
    }

    private static func words(_ inspection: HandoffInspection, _ now: UnixTime) -> [String] {
        switch inspection {
        case .foreign(let reason):
            return ["it was not made with this secret: \(reason.rawValue)"]
        case .absent:
            return ["it is unknown: never minted, expired, or ended with its app (\(Reason.handoffUnknown.rawValue))"]
        case .spent(.used):
            return ["it was used: if presented again, it is refused (\(Reason.handoffReplayed.rawValue))"]
        case .spent(.burned(_, let reason)):
            return ["it was burned by a refusal: \(reason.rawValue)"]
        case .live(let token, let outcome, let burns):
            let network = token.device.asn.map { ", network \($0)" } ?? ""
            return [
                "minted \(now.since(token.issuedAt).components.seconds) s ago by \(token.clientID) for "
                    + "\(token.parent.identity.id)\(token.actor.map { ", for whom \($0) acts" } ?? ""), at \(token.device.address)\(network)",
                "valid for \(max(0, token.expiresAt.since(now).components.seconds)) s more, on "
                    + (token.host ?? "every host"),
                Self.words(outcome, burns),
            ]
        }
    }

    private static func words(_ outcome: HandoffOutcome, _ burns: Bool) -> String {
        let fate = burns ? "and burned" : "and not burned"
        return switch outcome {
        case .signedIn(_, let session, _):
            "it would sign \(session.identity.id) in, for \(session.clientID ?? "no client")"
        case .alreadySignedIn, .renewed: "the browser would keep its session"
        case .unconfirmed: "the user would be asked first"
        case .refused(let reason, _): "it would be refused, \(fate): \(reason.rawValue)"
        case .denied(.ruleDenied, let text): "a rule would deny it, \(fate)\(text.map { ": \($0)" } ?? "")"
        case .denied(let reason, _): "it would be refused with a page, \(fate): \(reason.rawValue)"
        case .unavailable: "the store cannot answer"
        }
    }
}
