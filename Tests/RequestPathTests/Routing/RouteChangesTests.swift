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
            "X-Forwarded-Anything", "X-Forwarded-Prefix", "X-Forwarded-User", "Forwarded", "Client-Cert",
            "X-Request-Id", "X-Original-URL", "Proxy", "Host",
            "Authorization", "COOKIE", "X-Session-Token", "DPoP", "Content-Length", "Transfer_Encoding", "Expect",
            "Connection", "Upgrade", "TE", "Keep-Alive", "Proxy-Authorization", "X-HTTP-Method-Override", "Trailer",
            "Trailers", "HTTP2-Settings", "Proxy-Connection", "Early-Data", "early_data", "Content-Encoding",
            "Content_Range", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "sec_websocket_protocol",
            "Sec-WebSocket-Extensions", "Via", "CDN-Loop", "Max-Forwards",
        ]
    )
    func ofRequests(name: String) {
        for isSet in [true, false] { #expect(Self.fault(name, isSet: isSet, isOfRequest: true) != nil, "\(isSet)") }
    }

    @Test(
        "what proxies say of a request by other names than the gateway, a route may say to its app, and no app to a client",
        arguments: [
            "X-Real-IP", "x_real_ip", "X-Forwarded-Port", "X-Forwarded-Scheme", "X-Forwarded-Ssl", "X-Script-Name",
            "X-Scheme",
            "X-Url-Scheme", "Front-End-Https", "True-Client-IP", "CF-Connecting-IP", "X-Client-IP", "HTTPS",
        ]
    )
    func ofForwarding(name: String) {
        for isSet in [true, false] { #expect(Self.fault(name, isSet: isSet, isOfRequest: true) == nil, "\(isSet)") }
        var identity = Settings(hosts: [], upstreams: []).identity
        identity.fields = [.init(name: name, path: "subject")]
        #expect(FieldChange(name: name, isSet: true, isOfRequest: true).fault(beside: identity) != nil)
    }

    @Test(
        "the app's other fields are the operator's",
        arguments: ["Accept-Encoding", "Referer", "User-Agent", "Origin", "X-Api-Key", "X-Tenants", "Accept"]
    )
    func others(name: String) {
        for isSet in [true, false] { #expect(Self.fault(name, isSet: isSet, isOfRequest: true) == nil, "\(isSet)") }
    }

    @Test("one trace for all requests is refused; to keep it from an app is not, and baggage is the operator's")
    func traces() {
        for name in ["traceparent", "Traceparent", "tracestate", "trace_parent"] {
            let isOfTrace = !name.contains("_")
            #expect((Self.fault(name, isOfRequest: true) != nil) == isOfTrace, "\(name)")
            #expect(Self.fault(name, isSet: false, isOfRequest: true) == nil, "\(name)")
        }
        #expect(Self.fault("baggage", isOfRequest: true) == nil)
    }

    @Test("of answers, framing, caching, CORS and the gateway's cookies have keys of their own")
    func ofAnswers() {
        for name in [
            "Content-Length", "Connection", "Cache-Control", "CDN-Cache-Control", "Surrogate-Control",
            "X-Accel-Expires",
            "Access-Control-Allow-Origin", "Strict-Transport-Security", "X-Request-Id", "X-Sallyport-A", "X-Tenant",
            "Content-Encoding", "Content-Range", "content_encoding", "Trailer", "TE", "Expect", "Upgrade",
            "HTTP2-Settings",
            "Proxy-Authenticate", "Proxy-Authentication-Info", "Sec-WebSocket-Accept", "sec_websocket_protocol",
            "Sec-WebSocket-Extensions", "Keep_Alive",
        ] {
            for isSet in [true, false] { #expect(Self.fault(name, isSet: isSet, isOfRequest: false) != nil, "\(name)") }
        }
        for name in ["Set-Cookie", "Location", "Via", "Proxy-Status", "CDN-Loop"] {
            #expect(
                Self.fault(name, isOfRequest: false) != nil && Self.fault(name, isSet: false, isOfRequest: false) == nil
            )
        }
        for name in ["traceparent", "tracestate"] {
            #expect(
                Self.fault(name, isOfRequest: true) != nil && Self.fault(name, isSet: false, isOfRequest: true) == nil
            )
        }
        for name in ["Content-Security-Policy", "X-Frame-Options", "Server", "Content-Type", "Vary"] {
            #expect(Self.fault(name, isOfRequest: false) == nil, "\(name)")
        }
    }

    @Test(
        "a prefix is stripped only where a name follows it, however the rest is read: the app gets no other host or path",
        arguments: [
            ("/app", true), ("/app/", true), ("/app/x", true), ("/app/x//y", true), ("/app/app", true),
            ("/app/.well-known/x", true), ("/app/%C3%A4", true), ("/app/%20x", true), ("/app/..x", true),
            ("/app/x;y", true), ("/app/%25", true), ("/app/%2541", true), ("/app/@x", true), ("/app/*", true),
            ("/apple", false), ("/ap", false), ("/app;x/y", false), ("/app%2Fx", false), ("/%61pp/x", false),
            ("/APP/x", false), ("/app.", false), ("/app//x", false), ("/app///x", false), ("/app/;/x", false),
            ("/app/;x=y/z", false), ("/app/%3B/x", false), ("/app/%3bx", false), ("/app/%2F/x", false),
            ("/app/%2fevil.example/x", false), ("/app/%5Cx", false), ("/app/\\x", false), ("/app/./x", false),
            ("/app/%2e/x", false), ("/app/%2e%2E/x", false), ("/app/.../x", false), ("/app/%20/x", false),
            ("/app/.;/x", false), ("/app/:x", false), ("/app/%3A", false), ("/app/%3Fx", false), ("/app/%23", false),
            ("/app/%252F/x", false), ("/app/%252e/x", false), ("/app/%253Bx", false), ("/app/%2520/x", false),
            ("/app/.", false), ("/app/%09/x", false),
        ]
    )
    func stripping(path: String, fits: Bool) throws {
        let settings = route("/app/**", .required) { $0.stripPrefix = "/app" }
        let prefixes = try #require(PathPrefixes(settings))
        #expect(Array(path.utf8).withUnsafeBufferPointer { prefixes.fits($0) } == fits)
    }
}
