import Logging
import NIOCore
import Observability
import Providers
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// Ends what a reload has removed.
extension Gateway {
    /// Ends the sessions of removed users and of users with changed passwords, and the tokens of removed clients. Call
    /// it when all parts use the new settings, so that no new session begins.
    ///
    /// Changed passwords end sessions in the store, for all gateways. Sessions of removed users and tokens of removed
    /// clients stay in the store but are rejected when read (`UserDirectory`, `ClientDirectory`). Here, only cached
    /// ones and open streams end.
    func endWhatIsGone(_ changes: KnownUsers.Changes, of former: Assembly, in present: Assembly) async {
        let realm = present.settings.fixedUsers.map { Realm($0.name) } ?? .default
        if !changes.gone.isEmpty || changes.hasNewTraits {
            // Makes the event loops read all cached sessions again, even for open streams. Fails only during a
            // shutdown.
            try? await self.foundations.caches.invalidate(.all, on: self.group.next()).get()
        }
        let ends = ProviderSessions(records: self.foundations.records)
        for id in changes.gone {
            self.recordEnd(of: realm.subject(id), .sessionUserGone)
            for subject in realm.subjects(of: id) { await ends.noteRemoval(of: subject) }
        }
        for id in changes.changed {
            do {
                for subject in realm.subjects(of: id) { try await ends.end(subject: subject) }
                self.recordEnd(of: realm.subject(id), .sessionPasswordChanged)
            } catch {
                self.foundations.users.noteUnended(id)
                self.logger.error(
                    "a user's password has changed, but the sessions did not end: the next reload tries again",
                    metadata: ["subject": "\(id)", "error": "\(error)"]
                )
            }
        }
        self.foundations.clientOverlay.noteDepartures(of: former.clients.base.ids, from: present.clients.base)
        await self.foundations.caches.end(
            present.clients.snapshot.losses(since: former.clients.snapshot),
            on: self.group.next()
        )
    }

    private func recordEnd(of subject: String, _ reason: Reason) {
        self.foundations.audit.emit(AuditEvent(.sessionEnded, reason: reason, subject: subject))
    }
}
