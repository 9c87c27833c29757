import Logging
import NIOCore
import Observability
import Providers
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// What a reload ends of users whom it removes or whose passwords it changes, and of clients that it removes.
extension Gateway {
    /// Called when every part of the gateway judges by the new settings: a session that began before is found, and none
    /// begins any more with what was removed.
    ///
    /// The sessions of a user who is gone count as ended wherever they are read (`UserDirectory`), so that an operator can
    /// bring the user back. Those of a user with another password end in the store, for every gateway. What clients got that
    /// are not there any more counts as ended wherever it is read (`ClientDirectory`), also if one comes back; what is known
    /// of it, and open streams, end here.
    func endWhatIsGone(_ changes: KnownUsers.Changes, of former: Assembly, in present: Assembly) async {
        let realm = present.settings.fixedUsers.map { Realm($0.name) } ?? .default
        if !changes.gone.isEmpty {
            // Every known session is read again, also those of open streams. A loop that cannot confirm is ending.
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
