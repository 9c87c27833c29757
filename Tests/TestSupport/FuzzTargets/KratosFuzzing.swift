import Calls
import Providers
import Sessions
import Settings
import TestSupport
import Vocabulary

/// Kratos's answers: the first byte says which status they have.
enum KratosFuzzing {
    private static let statuses = [200, 401, 403, 410, 500]
    private static let clock = Clock { ClaimsFuzzing.now }

    private static let identity: [ArbitraryJSON.Member] = [
        ("id", #""7b9f3e2a-5c1d-4f8e-9a3b-2d6c8e4f7a9b""#), ("schema_id", #""person""#), ("state", #""active""#),
        ("traits", #"{"email":"ada@example.com","groups":["staff","",null],"name":{"first":"Ada"}}"#),
        ("metadata_public", #"{"roles":["a",""]}"#),
    ]
    private static let session: [ArbitraryJSON.Member] = [
        ("id", #""9f425a8d-7efc-4768-8f23-7647a74fdf13""#), ("active", "true"),
        ("expires_at", #""2027-01-15T09:00:00Z""#), ("authenticated_at", #""2027-01-15T08:00:00.123456789Z""#),
        ("issued_at", #""2027-01-15T08:00:00+01:00""#), ("authenticator_assurance_level", #""aal1""#),
        ("authentication_methods", #"[{"method":"password","aal":"aal1"},{"method":""},null,[]]"#),
    ]
    private static let error: [ArbitraryJSON.Member] = [
        ("error", #"{"id":"session_aal2_required","code":403,"reason":"","status":"Forbidden"}"#),
        ("redirect_browser_to", #""https://id.example.com/login?aal=aal2""#),
    ]

    /// An answer as chance has it.
    static func sample(_ chance: inout ArbitraryJSON) -> [UInt8] {
        let place = chance.happens(in: 3) ? 1 + chance.number(below: self.statuses.count - 1) : 0
        let session = chance.object(like: self.session + [("identity", chance.object(like: self.identity))])
        let text =
            if place > 0 {
                chance.object(like: self.error)
            } else if chance.happens(in: 4) {
                chance.object(like: [("session", session), ("session_token", #""ory_st_x""#)])
            } else {
                session
            }
        return [UInt8(truncatingIfNeeded: place)] + chance.bytes(of: text)
    }

    static func answer(_ bytes: [UInt8]) async -> String? {
        guard let first = bytes.first else { return nil }
        let status = self.statuses[Int(first) % self.statuses.count]
        let answer = CallAnswer.fuzzed(Array(bytes.dropFirst()), status: status)
        let transport = FuzzedTransport(answers: [.session: answer, .exchange: answer, .health: .fuzzed([])])
        var settings = KratosSettings(publicURL: PublicURL(isHTTPS: false, host: "kratos", port: 4433))
        settings.adminURL = settings.publicURL
        let provider = KratosProvider(settings, transport: transport, clock: self.clock)
        _ = provider.signedInAt(answer)
        for kind in [Session.Kind.native, .web] {
            let verdict = await provider.introspect(PresentedToken(Secret("ory_st_token"), as: kind))
            if let fault = ProviderFuzzing.violation(of: verdict) { return fault }
            if case .insufficient(let demand) = verdict { _ = demand.page(leadingTo: "https://app.example.com/") }
            let presented = PresentedToken(Secret("ory_st_token"), as: kind)
            let kept = provider.kept(presented, until: UnixTime(seconds: 0))
            if let kept { _ = await provider.refresh(kept.tokens, of: Identity(id: "7b9f3e2a", traits: [:])) }
        }
        return nil
    }
}
