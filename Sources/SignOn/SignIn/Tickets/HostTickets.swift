package import Cryptography
import NIOCore
package import Sessions
package import Settings
package import Vocabulary

/// Transfers a sign-in from one host of the gateway to another, with a ticket that a browser carries between them.
///
/// ```
/// requesting host: begin -> nonce in a cookie, request in a URL
/// issuing host:    issue -> ticket in a URL, for the session of this host
/// requesting host: use   -> a session in the lineage of the session that issued the ticket
/// ```
/// A ticket is useless without the nonce in the browser's cookie. Nothing is stored until a signed-in user requests a
/// ticket.
package struct HostTickets: RecordCaller {
    package let hosts: SignInHosts
    let sessions: SessionService
    let seal: TicketSeal
    let tries: TryCounter
    let journal: AuditJournal
    var records: RecordAccess { self.sessions.records }

    /// - Parameters:
    ///   - keys: The keys that seal requests and nonces.
    ///   - limiter: The rate limiter for the tickets of a session.
    package init(
        hosts: SignInHosts,
        sessions: SessionService,
        keys: SealingKeyRing,
        limiter: any RateLimiter,
        journal: AuditJournal
    ) {
        self.hosts = hosts
        self.sessions = sessions
        self.seal = TicketSeal(keys: keys)
        self.tries = TryCounter(store: limiter, loops: sessions.loops)
        self.journal = journal
    }

    /// A request for a ticket, in two parts: a cookie on the requesting host, and a text for the issuing host.
    package struct Beginning: Sendable {
        /// The name of the cookie, 22 characters of base64url.
        package let id: String
        /// The value of the cookie on the requesting host.
        package let kept: Secret
        /// The sealed request, for the query.
        package let request: String
    }

    /// Begins a request for a ticket. Stores nothing, because anyone may call it.
    ///
    /// - Parameters:
    ///   - host: The authority of the requesting host.
    ///   - issuer: The authority of the issuing host.
    ///   - returnTo: A safe path on the requesting host (`ReturnTo`) that the browser requests after using the ticket.
    ///   - back: The path on the issuing host to which the browser returns (`TicketRequest.back`).
    package func begin(
        on host: String,
        from issuer: String,
        returnTo: String,
        demand: SignInDemand = SignInDemand(),
        back: String? = nil
    ) -> Beginning {
        let nonce = TicketNonce(secret: AttemptSecret(), begunAt: self.sessions.clock.now(), returnTo: returnTo)
        let id = Random.base64URL(TicketRequest.idBytes)
        let request = TicketRequest(
            id: id,
            host: host,
            issuer: issuer,
            challenge: nonce.challenge,
            begunAt: nonce.begunAt,
            demand: demand,
            back: back
        )
        return Beginning(id: id, kept: self.seal.seal(nonce, id: id, on: host), request: self.seal.seal(request))
    }

    /// Opens the request in a URL of `issuer`. Returns `nil` if no host of this deployment made it for `issuer`.
    package func request(_ text: String, id: String, issuer: String) -> TicketRequest? {
        self.seal.request(text, id: id, issuer: issuer)
    }

    /// Opens the nonce in a cookie of `host`, even if the nonce has expired. Returns `nil` if another host made it.
    package func nonce(_ kept: Secret, id: String, on host: String) -> TicketNonce? {
        self.seal.nonce(kept, id: id, on: host)
    }

    // MARK: Steps

    func record(_ act: TicketAct, _ requester: Requester) -> AuditRecord {
        AuditRecord(
            act: .ticket(act),
            requestID: requester.requestID,
            device: self.sessions.device(requester),
            host: requester.authority
        )
    }
}
