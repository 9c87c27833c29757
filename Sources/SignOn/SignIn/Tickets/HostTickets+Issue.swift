import NIOCore
import Sessions
import Settings
package import Vocabulary

/// The answer of the issuing host to a request for a ticket.
package enum TicketIssue: Sendable {
    /// The ticket. It is handed out only once.
    case issued(Secret)
    /// The user must sign in on this host first. The browser then repeats the request.
    ///
    /// - Parameter reason: The reason why no session was found. `nil` if a session was found but is insufficient.
    case signIn(Reason?)
    /// The user must sign in at one of these providers, because the request does not accept the session's provider.
    case signInAt([String])
    /// The browser's nonce has expired, so the browser must begin again on the requesting host.
    case expired
}

extension HostTickets {
    /// The limit of tickets for one session: 30 at once, then one per 2 seconds. An app with frames may open many
    /// hosts.
    private static let perSession = RateLimit("ticket.session", burst: 30, interval: .seconds(2))

    /// Issues a ticket for the browser's session on this host if the session suffices for the request.
    package func issue(_ request: TicketRequest, for requester: Requester) async throws(NotDone) -> TicketIssue {
        guard request.issuer == requester.authority, let audience = self.audience(of: request) else {
            throw self.refusal(.ticketOtherHost, request, requester)
        }
        let now = self.sessions.clock.now()
        guard !request.isExpired(at: now) else { return .expired }
        do throws(NotDone) {
            let found: FoundSession
            do throws(NotDone) {
                found = try await self.sessions.web(requester)
            } catch {
                if error.isUnavailable { throw error }
                return .signIn(error.reason)
            }
            // Without valid provider tokens, the app might reject the new session, and the browser would request
            // tickets again.
            guard now < found.session.provider?.tokensEndAt ?? found.session.expiresAt else {
                return .signIn(.sessionRenewalAmbiguous)
            }
            let wanted = request.demand.providers
            let providers = audience.providers.filter { wanted.isEmpty || wanted.contains($0) }
            guard providers.contains(found.session.identity.realm.name) else { return .signInAt(providers) }
            let suffices = TicketIssueCase(
                session: found.session,
                begunAt: request.begunAt,
                demand: request.demand,
                bindings: audience.bindings,
                device: self.sessions.device(requester),
                now: now
            ).suffices
            guard suffices else { return .signIn(nil) }
            return .issued(try await self.issue(request, from: found, requester, now))
        } catch {
            if error.isOfStore { self.journal.record(self.record(.unavailable, requester)) }
            throw error
        }
    }

    /// Returns the requesting host. `nil` if the configuration does not let it request tickets from the issuer.
    private func audience(of request: TicketRequest) -> SignInHosts.Host? {
        guard let host = self.hosts.host(request.host) else { return nil }
        let (client, issuer) = request.back == nil ? (host.authority, request.issuer) : (request.issuer, host.authority)
        return self.hosts.signInHost(of: client)?.authority == issuer ? host : nil
    }

    private func issue(
        _ request: TicketRequest,
        from found: FoundSession,
        _ requester: Requester,
        _ now: UnixTime
    ) async throws(NotDone) -> Secret {
        let bucket = RateBucket(Self.perSession, Array(found.session.id.utf8))
        do throws(NotDone) {
            try await self.tries.count([bucket], or: .ticketThrottled)
        } catch {
            if !error.isUnavailable { _ = self.refusal(.ticketThrottled, request, requester, found.session) }
            throw error
        }
        let (token, key) = self.sessions.authority.make(.hostTicket, in: found.session.lineage)
        let ticket = HostTicket(
            parent: found.key,
            owner: RecordOwner(subject: found.session.subject, epoch: found.session.epoch),
            host: request.host,
            challenge: request.challenge,
            issuedAt: now,
            expiresAt: min(now.advanced(by: HostTicket.lifetime), found.session.expiresAt)
        )
        do throws(NotDone) {
            try await self.ask { store, loop in store.create(ticket, key: key, on: loop) }
        } catch {
            // The ticket was not issued, so it is not counted.
            await self.tries.giveBack([bucket])
            throw error
        }
        var record = self.record(.issued, requester)
        record.validHost = request.host
        record.subject = found.session.subject
        record.sessionID = found.session.id
        record.fingerprint = found.key.fingerprint
        record.tokenFingerprint = key.fingerprint
        guard self.journal.record(record) else { throw NotDone(.gatewayOverloaded) }
        // Issuing a ticket is a use of the session. If `touch` fails, the session only idles out earlier.
        _ = try? await self.ask { store, loop in store.touch(found.key, on: loop) }
        return token
    }

    private func refusal(
        _ reason: Reason,
        _ request: TicketRequest,
        _ requester: Requester,
        _ session: Session? = nil
    ) -> NotDone {
        var record = self.record(.refused(reason), requester)
        record.validHost = request.host
        record.subject = session?.subject
        record.sessionID = session?.id
        self.journal.record(record)
        return NotDone(reason)
    }

    /// Records that a request was refused before any ticket was looked up.
    package func recordRefusal(_ reason: Reason, for requester: Requester) {
        self.journal.record(self.record(.refused(reason), requester))
    }
}
