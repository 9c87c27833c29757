import Logging
import NIOCore
import Observability
import Providers
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// Ends the sessions of users whom a reload removes or whose passwords it changes, and the tokens of removed clients.
extension Gateway {
    /// Ends the sessions and tokens of users and clients that a reload has removed or changed. Must be called once all
    /// parts use the new settings, so that every session is found and no new session begins.
    ///
    /// Sessions of a removed user are treated as ended wherever they are read (`UserDirectory`), so that an operator
    /// can bring the user back. Sessions of a user with another password end in the store, for every gateway. The
    /// grants of a removed client are treated as ended wherever they are read (`ClientDirectory`), even if the client
    /// returns. Cached grants and open streams end here.
    func endWhatIsGone(_ changes: KnownUsers.Changes, of former: Assembly, in present: Assembly) async {
        let realm = present.settings.fixedUsers.map { Realm($0.name) } ?? .default
        if !changes.gone.isEmpty || changes.hasNewTraits {
            // Every cached session is read again, even for open streams. The call fails only during a shutdown.
            try? await self.foundations.caches.invalidate(.all, on: self.group.next()).get()
        }
        for id in changes.gone { self.recordEnd(of: realm.subject(id), .sessionUserGone) }
        for id in changes.changed {
            do {
                let ends = ProviderSessions(records: self.foundations.records)
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
