import NIOCore
import Rules
import Sessions
import Settings
import SignOn
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
        return await StoreQuestion(wiring: self.wiring, draft: self.draft).lines { records in
            try await self.ask(request, records)
        }
    }

    private func ask(_ request: HandoffRequest, _ records: RecordAccess) async throws -> [String] {
        let draft = self.draft
        let overlay = ClientOverlay(
            store: records.store,
            ring: draft.keys.sealing,
            loops: records.loops,
            clock: records.clock
        )
        overlay.attach(draft.clients)
        await overlay.refresh()
        let consumer = HandoffConsumer(
            records: records,
            sessions: draft.settings.session,
            asn: draft.asn,
            directory: draft.parties.directory,
            clients: draft.clients,
            rules: RuleBook(draft.settings.rules, places: draft.geo),
            journal: AuditJournal { _ in true }
        )
        let inspection = try await consumer.inspect(request, on: records.loops.next()).get()
        return Self.words(inspection, records.clock.now())
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
