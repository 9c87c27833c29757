import RequestPath
import Settings
import Testing

@Suite("Which fields a route may change")
struct RouteChangesTests {
    private static func fault(_ name: String, isSet: Bool = true, isOfRequest: Bool) -> String? {
        var identity = Settings(hosts: [], upstreams: []).identity
        identity.fields = [.init(name: "X-Tenant", path: "subject")]
        return FieldChange(name: name, isSet: isSet, isOfRequest: isOfRequest).fault(beside: identity)
    }

    @Test(
        "fields by which the gateway speaks to apps, credentials and framing stay its own in every spelling",
        arguments: [
            "X-Tenant", "x_tenant", "X-Auth-Subject", "X_Auth.Email", "Remote-User", "X-Forwarded-For",
            "X-Forwarded-Proto",
            "X-Forwarded-Anything", "Forwarded", "X-Real-IP", "X-Request-Id", "X-Original-URL", "Proxy", "Host",
            "Authorization", "COOKIE", "X-Session-Token", "DPoP", "Content-Length", "Transfer_Encoding", "Expect",
            "Connection", "Upgrade", "TE", "Keep-Alive", "Proxy-Authorization", "X-HTTP-Method-Override",
        ]
    )
    func ofRequests(name: String) {
        for isSet in [true, false] { #expect(Self.fault(name, isSet: isSet, isOfRequest: true) != nil, "\(isSet)") }
    }

    @Test(
        "the app's other fields are the operator's",
        arguments: ["Accept-Encoding", "Referer", "User-Agent", "Origin", "X-Api-Key", "X-Tenants", "Accept"]
    )
    func others(name: String) {
        for isSet in [true, false] { #expect(Self.fault(name, isSet: isSet, isOfRequest: true) == nil, "\(isSet)") }
    }

    @Test("of answers, framing, caching, CORS and the gateway's cookies have keys of their own")
    func ofAnswers() {
        for name in [
            "Content-Length", "Connection", "Cache-Control", "CDN-Cache-Control", "Surrogate-Control",
            "X-Accel-Expires",
            "Access-Control-Allow-Origin", "Strict-Transport-Security", "X-Request-Id", "X-Sallyport-A", "X-Tenant",
        ] {
            for isSet in [true, false] { #expect(Self.fault(name, isSet: isSet, isOfRequest: false) != nil, "\(name)") }
        }
        for name in ["Set-Cookie", "Location"] {
            #expect(
                Self.fault(name, isOfRequest: false) != nil && Self.fault(name, isSet: false, isOfRequest: false) == nil
            )
        }
        for name in ["Content-Security-Policy", "X-Frame-Options", "Server", "Content-Type", "Vary"] {
            #expect(Self.fault(name, isOfRequest: false) == nil, "\(name)")
        }
    }
}
