import Vocabulary

extension Section {
    static let host = Section([
        SettingsKey(
            "public_url",
            .text(.hostURL),
            required: true,
            "Scheme, host and port of the URL by which clients reach the host; \"https://*.example.com\" is each name with one label there that no other host has."
        ),
        SettingsKey(
            "endpoints",
            .boolean,
            default: "true when it is the only host, else false",
            "Serve the sign-in and token endpoints on this host; the app does not get their paths. Unless it is written, only those of /.sallyport/ and those that clients or native apps need."
        ),
        SettingsKey(
            "provider",
            .text(.providerName),
            default: "the first of providers",
            "Whose users the host is for: they sign in there, and sessions and tokens of others do not count on it."
        ),
        SettingsKey(
            "providers",
            .list(.text(.providerName)),
            default: "provider alone",
            "Several instead: the sign-in page offers them in this order, and routes may demand one (require.provider)."
        ),
        SettingsKey(
            "sign_in",
            at: \HostSettings.signIn,
            "On a host with several providers: choose, the page offers all; identifier_first, it asks for the address and leads to the provider whose domains has it."
        ),
        SettingsKey(
            "case_sensitive",
            at: \HostSettings.caseSensitive,
            "The host's apps treat /Admin and /admin as different; if false, a path equal to a stricter route's but for case is refused."
        ),
        SettingsKey(
            "same_site",
            at: \HostSettings.sameSite,
            "With which requests browsers send the gateway's cookies: lax, those of the same site and links; none, also in frames and requests of other sites, in a jar for each site (Partitioned)."
        ),
        SettingsKey(
            "well_known",
            at: \HostSettings.namesApps,
            "Answer /.well-known/apple-app-site-association and /.well-known/assetlinks.json with the native apps of the clients that have https callbacks on this host (ios_app_ids, android_apps)."
        ),
        SettingsKey(
            "upstream",
            .text(.upstream),
            "The app of the whole host, instead of routes: one route /** with auth required."
        ),
        SettingsKey(
            "routes",
            .sections(.route),
            "The paths that are served; the most specific one wins, in any order. A host without upstream needs them."
        ),
    ])

    static let route = Section([
        SettingsKey("name", .text(.name), default: "host and path", "The route's label in metrics and logs."),
        SettingsKey(
            "path",
            at: \RouteSettings.path,
            .text(.pathPattern),
            "Exact, prefix/** for everything below, * for one segment; escapes mean their characters."
        ),
        SettingsKey(
            "path_info",
            at: \RouteSettings.pathInfo,
            "A path below this exact one (/report.php/x) that a weaker route serves: refuse it with 400, or judge it as this route."
        ),
        SettingsKey(
            "methods",
            at: \RouteSettings.methods,
            .list(.text(.method)),
            default: "all but CONNECT and TRACE",
            "Other methods get 405, unless another route with the same path takes them."
        ),
        SettingsKey(
            "upstream",
            .text(.upstream),
            default: "the top-level upstream",
            "The app that serves the route; without one it is only judged, for proxies that ask (authorization)."
        ),
        SettingsKey(
            "host",
            .text(.hostHeader),
            default: "client",
            "The Host that the app gets; client means the host and port of public_url."
        ),
        SettingsKey(
            "strip_prefix",
            at: \RouteSettings.stripPrefix,
            .text(.pathPrefix),
            "The beginning of the path that the app does not get: it serves /app/x as /x. Redirects, cookies and WebDAV get it back."
        ),
        SettingsKey(
            "add_prefix",
            at: \RouteSettings.addPrefix,
            .text(.pathPrefix),
            "What the app gets before the path: it serves /x as /v2/x. Redirects, cookies and WebDAV lose it."
        ),
        SettingsKey(
            "request_headers",
            .section(.requestChanges),
            "Fields that the app gets, or does not get; never those by which the gateway speaks to it, nor credentials."
        ),
        SettingsKey(
            "response_headers",
            .section(.answerChanges),
            "Fields of the app's answers that the client gets, or does not get. The gateway's own answers stay as they are."
        ),
        SettingsKey(
            "audience",
            at: \RouteSettings.audience,
            .text(.text),
            default: "the origin of public_url",
            "The audience (aud) of the assertions that the app gets; write one of its own for each app that shares a host."
        ),
        SettingsKey(
            "identity_encoding",
            at: \RouteSettings.identityEncoding,
            default: "identity.encoding",
            "How the app gets the values of identity fields, where it differs from other apps."
        ),
        SettingsKey(
            "auth",
            at: \RouteSettings.auth,
            "Whether a session is required, used if there is one, or ignored."
        ),
        SettingsKey(
            "require",
            .section(.requirement),
            "What the session must fulfil: every key that is set. Only with auth: required."
        ),
        SettingsKey(
            "unauthenticated",
            at: \RouteSettings.unauthenticated,
            "The answer without a session; auto redirects navigations to the login page and answers all else with 401."
        ),
        SettingsKey(
            "client",
            at: \RouteSettings.client,
            .text(.clientID),
            "The web client whose handoff settings apply, from clients."
        ),
        SettingsKey(
            "handoff",
            .boolean,
            default: "true where a client is set",
            "Accept session-transfer tokens. Without client they are removed; false passes them to the app."
        ),
        SettingsKey(
            "binding",
            at: \RouteSettings.liveBinding,
            "What must be the same as when the session began: the address or the network. Only with auth: required."
        ),
        SettingsKey(
            "binding_action",
            at: \RouteSettings.bindingAction,
            "What follows for another device: it has to sign in; or the session ends as well; or log, a dry run, only counts and records it."
        ),
        SettingsKey("bearer", at: \RouteSettings.bearer, "Who reads Authorization: Bearer, the gateway or the app."),
        SettingsKey(
            "allow_encoded_slashes",
            at: \RouteSettings.allowEncodedSlashes,
            "Forward paths with %2F, which apps read in different ways, also where the routes of the host demand different things."
        ),
        SettingsKey(
            "cache",
            .choice(["private", "app"]),
            default: "private",
            "Mark responses to signed-in users as private for caches, or keep the app's Cache-Control."
        ),
        SettingsKey(
            "early_hints",
            at: \RouteSettings.earlyHints,
            "Pass interim responses of the app (103 Early Hints, 102) on to clients of HTTP/1.1."
        ),
        SettingsKey(
            "cors",
            .section(.cors),
            "Other origins whose scripts may read responses; the app's own CORS fields take precedence."
        ),
        SettingsKey(
            "trusted_origins",
            at: \RouteSettings.trustedOrigins,
            .list(.text(.webOrigin)),
            default: "none",
            "Other origins that may send unsafe requests with the session cookie."
        ),
        SettingsKey(
            "max_body",
            .size(0...(1 << 50), orNone: true),
            default: "limits.body",
            "The largest request body; a larger one gets 413."
        ),
        SettingsKey("timeouts", .section(.routeTimeouts), "Time limits of this route."),
    ])

    private static let requirement = Section([
        SettingsKey(
            "provider",
            at: \RouteSettings.require.providers,
            .list(.text(.providerName)),
            "The user signed in at one of these providers of the host."
        ),
        SettingsKey(
            "aal",
            at: \RouteSettings.require.aal,
            .choice(AssuranceLevel.demandable.map(\.rawValue)),
            "The lowest assurance level."
        ),
        SettingsKey(
            "groups_any",
            at: \RouteSettings.require.groupsAny,
            .list(.text(.text)),
            "The user is in one of these groups."
        ),
        SettingsKey(
            "scopes",
            at: \RouteSettings.require.scopes,
            .list(.text(.text)),
            "The session has all of these scopes."
        ),
        SettingsKey(
            "origin",
            at: \RouteSettings.require.origins,
            .list(.choice(["browser", "native", "transfer"])),
            "How the session may have begun."
        ),
        SettingsKey(
            "actor",
            .choice(["any", "none"]),
            default: "any",
            "Whether somebody may act for the user, by delegated access."
        ),
        SettingsKey(
            "max_age",
            at: \RouteSettings.require.maxAge,
            .duration(.seconds(1)...(.seconds(365 * 86_400))),
            "The longest time since the user signed in."
        ),
        SettingsKey(
            "client_certificate",
            .section(.clientCertificate),
            "The certificate that the client proved to own in the TLS handshake: every key that is set; {} for any that the listener trusts."
        ),
    ])

    static let clientCertificate = Section([
        SettingsKey(
            "san_any",
            .list(.text(.certificateName)),
            "It was issued for one of these DNS names, email addresses or URIs (subjectAltName)."
        ),
        SettingsKey(
            "issuer",
            .text(.distinguishedName),
            "It was issued by this authority: its name as openssl x509 -nameopt RFC2253 prints it."
        ),
    ])

    private static let requestChanges = Section([
        SettingsKey(
            "set",
            .pairs(name: .fieldName, value: .secret(.fieldValue)),
            "Fields with their values, which are never shown; they replace those of the same names. {client_address} is the client's."
        ),
        SettingsKey(
            "set_file",
            .pairs(name: .fieldName, value: .path(isSecret: true)),
            "Fields with the files of their values, for secrets that the app expects from its proxy."
        ),
        removedFields,
    ])

    private static let answerChanges = Section([
        SettingsKey(
            "set",
            .pairs(name: .fieldName, value: .text(.fieldValue)),
            "Fields with their values; they replace those of the same names."
        ),
        removedFields,
    ])

    private static let removedFields = SettingsKey(
        "remove",
        .list(.text(.fieldName)),
        "Names of fields that are removed."
    )

    static let cors = Section([
        SettingsKey(
            "origins",
            .list(.text(.webOriginOrAny)),
            required: true,
            "Exact origins; * only without credentials."
        ),
        SettingsKey("methods", at: \CORSSettings.methods, .list(.text(.method)), "Methods that these origins may use."),
        SettingsKey(
            "headers",
            at: \CORSSettings.headers,
            .list(.text(.fieldName)),
            default: "none",
            "Fields that these origins may send."
        ),
        SettingsKey(
            "credentials",
            at: \CORSSettings.credentials,
            "Whether these origins may send the session cookie; browsers send it from another site only with same_site: none on the host."
        ),
        SettingsKey(
            "max_age",
            at: \CORSSettings.maxAge,
            .duration(.zero...(.seconds(86_400))),
            "How long a browser may cache the answer to a preflight."
        ),
    ])

    private static let routeTimeouts = Section([
        SettingsKey(
            "response",
            at: \RouteSettings.responseTimeout,
            .duration(.milliseconds(10)...(.seconds(3600))),
            default: "timeouts.response",
            "Until the head of the app's response is complete."
        )
    ])

    static let upstream = Section([
        SettingsKey(
            "url",
            .text(.serverURL),
            "The address of the app, if it has one server; unix:/path is a socket of this machine."
        ),
        SettingsKey(
            "servers",
            .list(.shorthand("url", for: .server)),
            "The addresses of the app's servers, instead of url. One that does not answer is left out for a while."
        ),
        SettingsKey(
            "balance",
            at: \UpstreamSettings.balance,
            "Which server gets a request: the less busy one of two random ones, each in turn, or always the same one for a session (for a client's address where there is none)."
        ),
        SettingsKey(
            "health",
            .section(.health),
            "Ask each server regularly whether it is there; without it only the app's requests tell."
        ),
        SettingsKey(
            "slow_start",
            at: \UpstreamSettings.slowStart,
            .duration(.seconds(1)...(.seconds(3600))),
            "How long a server that has come back gets fewer requests: a tenth of its share at first, then more."
        ),
        SettingsKey(
            "retry_on",
            at: \UpstreamSettings.retryOn,
            .list(.integer(500...599)),
            default: "none",
            "Statuses of answers after which a request is sent to another server, once, if its method is idempotent and it has no body."
        ),
        SettingsKey(
            "ca_file",
            .path(isSecret: false),
            default: "the system's authorities",
            "PEM file of the authorities for the app's certificate, which is always verified."
        ),
        SettingsKey(
            "certificate_file",
            .path(isSecret: false),
            "PEM file of the gateway's client certificate for the app."
        ),
        SettingsKey("key_file", .path(isSecret: true), "PEM file of the key of that certificate."),
        SettingsKey(
            "server_name",
            at: \UpstreamSettings.serverName,
            .text(.serverName),
            default: "the host in the server's URL",
            "The expected name in the app's certificate."
        ),
        SettingsKey(
            "max_connections",
            at: \UpstreamSettings.maxConnections,
            .integer(1...65_536),
            "Connections of each event loop to the app."
        ),
        SettingsKey(
            "max_queue",
            at: \UpstreamSettings.maxQueue,
            .integer(0...1_000_000),
            "Requests of each event loop that wait while all its connections to the app are in use, for timeouts.queue at most; all others are refused."
        ),
        SettingsKey(
            "client_share",
            at: \UpstreamSettings.clientShare,
            .integer(1...100),
            default: "25 to 50, by what is free",
            "Percentage of max_connections that requests of one client address (IPv6: one /64), or of one session, may use; 100: no limit. Further requests wait."
        ),
        SettingsKey(
            "reuse",
            at: \UpstreamSettings.reuse,
            "Whether a connection to the app serves all users in turn, or one session only (requests without one share connections)."
        ),
        SettingsKey(
            "answers",
            at: \UpstreamSettings.answers,
            "lenient takes answers that old servers write in another form than RFC 9112 and rewrites them; only for apps in which no user can put line breaks into a header."
        ),
        SettingsKey(
            "dns_refresh",
            at: \UpstreamSettings.dnsRefresh,
            .duration(.seconds(1)...(.seconds(3600))),
            "How often the names in its URLs are resolved again, in the background; also after a failed connection. Addresses that are gone get no new connections; where none is found, the last ones stay."
        ),
    ])

    static let health = Section(
        [
            SettingsKey(
                "path",
                at: \HealthSettings.path,
                .text(.requestPath),
                "What is asked for with GET, without credentials."
            ),
            SettingsKey(
                "host",
                at: \HealthSettings.host,
                .text(.authority),
                default: "that of the server's URL",
                "The Host that checks send, for apps that answer only to their public name."
            ),
            SettingsKey(
                "interval",
                at: \HealthSettings.interval,
                .duration(.seconds(1)...(.seconds(3600))),
                "The time between two checks of a server."
            ),
            SettingsKey(
                "timeout",
                at: \HealthSettings.timeout,
                .duration(.milliseconds(10)...(.seconds(60))),
                "How long a check may take."
            ),
            SettingsKey(
                "passes",
                at: \HealthSettings.passes,
                .integer(1...100),
                "Good answers in a row after which a server that was left out serves again."
            ),
            SettingsKey(
                "fails",
                at: \HealthSettings.fails,
                .integer(1...100),
                "Checks without a good answer in a row after which a server is left out."
            ),
            SettingsKey(
                "status",
                at: \HealthSettings.status,
                .integer(200...599),
                default: "any from 200 to 399",
                "The status of a good answer."
            ),
        ],
        isOption: true
    )

    static let server = Section([
        SettingsKey(
            "url",
            .text(.serverURL),
            required: true,
            "The address of the server; unix:/path is a socket of this machine."
        ),
        SettingsKey(
            "weight",
            at: \ServerSettings.weight,
            .integer(1...1000),
            "Its share of the requests, against the weights of the other servers."
        ),
        SettingsKey(
            "server_name",
            at: \ServerSettings.serverName,
            .text(.serverName),
            default: "the app's server_name",
            "The expected name in this server's certificate."
        ),
    ])

    static let identity = Section([
        SettingsKey("preset", at: \Settings.identity.preset, "The field names that a family of apps expects."),
        SettingsKey(
            "headers",
            .pairs(name: .fieldName, value: .text(.fieldPath)),
            default: "the preset's",
            "Field names of your own instead of the preset's."
        ),
        SettingsKey("basic", .section(.basic), "Authorization: Basic for apps that need it."),
        SettingsKey("delimiter", .text(.delimiter), default: ",", "The separator of the elements of a list."),
        SettingsKey(
            "encoding",
            at: \Settings.identity.encoding,
            "How values are sent: percent-encoded where they are not visible ASCII, or as they are in UTF-8, which refuses those with control characters or outer white space."
        ),
        SettingsKey(
            "max_size",
            at: \Settings.identity.maxSize,
            .size(256...32_768, orNone: false),
            "The largest size of all identity fields of a request together; keep it below the app's limit."
        ),
        SettingsKey(
            "strip_underscore_fields",
            at: \Settings.identity.stripUnderscoreFields,
            "Remove client fields with _ in their names, because CGI and WSGI apps read _ as -."
        ),
        SettingsKey("assertion", .section(.assertion), "X-Auth-Assertion: the identity as a signed JWT."),
    ])

    private static let assertion = Section([
        SettingsKey(
            "enabled",
            .boolean,
            default: "false",
            "Send it to apps, which verify it with the keys at /.sallyport/jwks.json."
        ),
        SettingsKey(
            "claims",
            .pairs(name: .claimName, value: .text(.sessionPath)),
            default: "none",
            "Claims besides iss, aud, sub, sid, iat and exp, each with the path to its value in the session."
        ),
    ])

    private static let basic = Section([
        SettingsKey("username", .text(.sessionPath), required: true, "The path to the user's name in the session."),
        SettingsKey(
            "password_file",
            .path(isSecret: true),
            required: true,
            "The file with the password that the app expects from the gateway."
        ),
    ])
}
