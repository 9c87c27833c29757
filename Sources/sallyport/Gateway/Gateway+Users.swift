import Logging
import NIOCore
import Observability
import Providers
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// Ends sessions of users whom a reload removes or whose passwords it changes, and the tokens of removed clients.
extension Gateway {
    /// Ends what a reload has removed. It is called when every part of the gateway uses the new settings, so existing
    /// sessions are found and no new ones begin.
    ///
    /// Sessions of a removed user are treated as ended wherever they are read (`UserDirectory`), so that an operator
    /// can bring the user back. Sessions of a user with another password end in the store, for every gateway. The
    /// grants of a removed client are treated as ended wherever they are read (`ClientDirectory`), even if the client
    /// returns; cached ones and open streams end here.
    func endWhatIsGone(_ changes: KnownUsers.Changes, of former: Assembly, in present: Assembly) async {
        let realm = present.settings.fixedUsers.map { Realm($0.name) } ?? .default
        if !changes.gone.isEmpty {
            // Every cached session is read again, also for open streams. A loop that cannot confirm is shutting down.
            try? await self.foundations.caches.invalidate(.all, on: self.group.next()).get()
        }
        for id in changes.gone { self.recordEnd(of: realm.subject(id), .sessionUserGone) }
        for id in changes.changed {
            do {
                for subject in realm.subjects(of: id) {
                    try await self.foundations.group.ask(self.foundations.store) { store, loop in
                        store.end(subject: subject, on: loop)
                    }
                }
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
