import Vocabulary

extension Section {
    static let host = Section([
        SettingsKey(
            "public_url",
            .text(.hostURL),
            required: true,
            "Scheme, host and port of the URL with which clients reach the host. \"https://*.example.com\" covers each name with one label instead of * that no other host has."
        ),
        SettingsKey(
            "endpoints",
            .boolean,
            default: "true if it is the only host, otherwise false",
            "Serves the sign-in and token endpoints on this host; the app does not get their paths. If the key is not written, only the endpoints in /.sallyport/ and those that clients or native apps need are served."
        ),
        SettingsKey(
            "provider",
            .text(.providerName),
            default: "the first of providers",
            "The provider whose users sign in on the host. Sessions and tokens of other users are ignored there."
        ),
        SettingsKey(
            "providers",
            .list(.text(.providerName)),
            default: "the one in provider",
            "Several providers instead of provider. The sign-in page offers them in this order, and routes may require one (require.provider)."
        ),
        SettingsKey(
            "sign_in",
            at: \HostSettings.signIn,
            "The sign-in page of a host with several providers. choose: it offers all of them; identifier_first: it asks for the user's address and leads to the provider that has its domain in domains."
        ),
        SettingsKey(
            "case_sensitive",
            at: \HostSettings.caseSensitive,
            "Whether the host's apps treat /Admin and /admin as different. If false, a path that differs from a stricter route's path only in case is rejected."
        ),
        SettingsKey(
            "same_site",
            at: \HostSettings.sameSite,
            "The requests with which browsers send the gateway's cookies. lax: requests of the same site, and links; none: also frames and requests of other sites, with separate cookies for each site (Partitioned)."
        ),
        SettingsKey(
            "well_known",
            at: \HostSettings.namesApps,
            "Serves /.well-known/apple-app-site-association and /.well-known/assetlinks.json with the native apps of the clients that have https callbacks on this host (ios_app_ids, android_apps)."
        ),
        SettingsKey(
            "upstream",
            .text(.upstream),
            "The app for the whole host, instead of routes: one route /** with auth required."
        ),
        SettingsKey(
            "routes",
            .sections(.route),
            "The paths that are served. The most specific route applies, in any order. A host without upstream needs routes."
        ),
    ])

    static let route = Section([
        SettingsKey("name", .text(.name), default: "host and path", "The route's label in metrics and logs."),
        SettingsKey(
            "path",
            at: \RouteSettings.path,
            .text(.pathPattern),
            "An exact path, prefix/** for everything below, or * for one segment. Percent-escapes mean the characters that they encode."
        ),
        SettingsKey(
            "path_info",
            at: \RouteSettings.pathInfo,
            "What happens to a path below this exact path (/report.php/x) that a less strict route serves: refuse rejects it with 400, follow applies this route."
        ),
        SettingsKey(
            "methods",
            at: \RouteSettings.methods,
            .list(.text(.method)),
            default: "all but CONNECT and TRACE",
            "The methods that the route serves. Other methods get 405, unless another route with the same path serves them."
        ),
        SettingsKey(
            "upstream",
            .text(.upstream),
            default: "the top-level upstream",
            "The app that serves the route. Without an app, the route only answers proxies that ask (authorization)."
        ),
        SettingsKey(
            "host",
            .text(.hostHeader),
            default: "client",
            "The Host that the app gets. client means the host and port of public_url."
        ),
        SettingsKey(
            "strip_prefix",
            at: \RouteSettings.stripPrefix,
            .text(.pathPrefix),
            "The prefix that is removed from the path: with /app, the app gets /app/x as /x. Redirects, cookies and WebDAV get it back."
        ),
        SettingsKey(
            "add_prefix",
            at: \RouteSettings.addPrefix,
            .text(.pathPrefix),
            "The prefix that is added to the path: with /v2, the app gets /x as /v2/x. It is removed from redirects, cookies and WebDAV."
        ),
        SettingsKey(
            "request_headers",
            .section(.requestChanges),
            "Header fields to set or remove in requests to the app. Credentials and the fields that the gateway itself uses cannot be changed."
        ),
        SettingsKey(
            "response_headers",
            .section(.answerChanges),
            "Header fields to set or remove in the app's answers. The gateway's own answers are not changed."
        ),
        SettingsKey(
            "audience",
            at: \RouteSettings.audience,
            .text(.text),
            default: "the origin of public_url",
            "The audience (aud) of the assertions that the app gets. Each app that shares a host with other apps needs a different one."
        ),
        SettingsKey(
            "identity_encoding",
            at: \RouteSettings.identityEncoding,
            default: "identity.encoding",
            "How values of identity fields are encoded for this app, if it differs from other apps."
        ),
        SettingsKey(
            "auth",
            at: \RouteSettings.auth,
            "Whether a session is required, used if there is one, or ignored."
        ),
        SettingsKey(
            "require",
            .section(.requirement),
            "Requirements for the session. Every key that is set must hold. Only with auth: required."
        ),
        SettingsKey(
            "unauthenticated",
            at: \RouteSettings.unauthenticated,
            "The answer without a session. auto redirects navigations to the login page and answers all other requests with 401."
        ),
        SettingsKey(
            "client",
            at: \RouteSettings.client,
            .text(.clientID),
            "The web client, from clients, whose handoff settings apply."
        ),
        SettingsKey(
            "handoff",
            .boolean,
            default: "true if client is set",
            "Accepts session-transfer tokens. Without client they are removed; false passes them to the app."
        ),
        SettingsKey(
            "binding",
            at: \RouteSettings.liveBinding,
            "What must match the beginning of the session: the address or the network. Only with auth: required."
        ),
        SettingsKey(
            "binding_action",
            at: \RouteSettings.bindingAction,
            "What happens if another device presents the session. reauthenticate: it must sign in; end_session: the session also ends; log: the mismatch is only counted and recorded (a dry run)."
        ),
        SettingsKey("bearer", at: \RouteSettings.bearer, "Whether the gateway or the app reads Authorization: Bearer."),
        SettingsKey(
            "allow_encoded_slashes",
            at: \RouteSettings.allowEncodedSlashes,
            "Forwards paths with %2F, which apps read in different ways, even if the routes of the host have different requirements."
        ),
        SettingsKey(
            "cache",
            .choice(["private", "app"]),
            default: "private",
            "private marks responses to signed-in users as private for caches, app keeps the app's Cache-Control."
        ),
        SettingsKey(
            "early_hints",
            at: \RouteSettings.earlyHints,
            "Passes interim responses of the app (103 Early Hints, 102) on to clients of HTTP/1.1."
        ),
        SettingsKey(
            "cors",
            .section(.cors),
            "Other origins whose scripts may read responses. The app's own CORS fields take precedence."
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
            "The largest request body. A larger one gets 413."
        ),
        SettingsKey("timeouts", .section(.routeTimeouts), "Time limits of this route."),
    ])

    private static let requirement = Section([
        SettingsKey(
            "provider",
            at: \RouteSettings.require.providers,
            .list(.text(.providerName)),
            "The user must have signed in at one of these providers of the host."
        ),
        SettingsKey(
            "aal",
            at: \RouteSettings.require.aal,
            .choice(AssuranceLevel.demandable.map(\.rawValue)),
            "The lowest accepted assurance level."
        ),
        SettingsKey(
            "groups_any",
            at: \RouteSettings.require.groupsAny,
            .list(.text(.text)),
            "The user must be in one of these groups."
        ),
        SettingsKey(
            "scopes",
            at: \RouteSettings.require.scopes,
            .list(.text(.text)),
            "The session must have all of these scopes."
        ),
        SettingsKey(
            "origin",
            at: \RouteSettings.require.origins,
            .list(.choice(["browser", "native", "transfer"])),
            "How the session must have begun: in a browser, in a native app or with a transfer token."
        ),
        SettingsKey(
            "actor",
            .choice(["any", "none"]),
            default: "any",
            "Whether somebody may act for the user with delegated access: any allows it, none rejects it."
        ),
        SettingsKey(
            "max_age",
            at: \RouteSettings.require.maxAge,
            .duration(.seconds(1)...(.seconds(365 * 86_400))),
            "The longest time since the user's sign-in."
        ),
        SettingsKey(
            "client_certificate",
            .section(.clientCertificate),
            "Requirements for the certificate that the client presents in the TLS handshake. Every key that is set must hold; {} accepts any certificate that the listener trusts."
        ),
    ])

    static let clientCertificate = Section([
        SettingsKey(
            "san_any",
            .list(.text(.certificateName)),
            "The certificate must be for one of these DNS names, email addresses or URIs (subjectAltName)."
        ),
        SettingsKey(
            "issuer",
            .text(.distinguishedName),
            "The certificate must be issued by this authority. Write its name as openssl x509 -nameopt RFC2253 prints it."
        ),
    ])

    private static let requestChanges = Section([
        SettingsKey(
            "set",
            .pairs(name: .fieldName, value: .secret(.fieldValue)),
            "Fields with their values, which are never shown. They replace fields with the same names. {client_address} is the client's address."
        ),
        SettingsKey(
            "set_file",
            .pairs(name: .fieldName, value: .path(isSecret: true)),
            "Fields with the files that contain their values, for secrets that the app expects from its proxy."
        ),
        removedFields,
    ])

    private static let answerChanges = Section([
        SettingsKey(
            "set",
            .pairs(name: .fieldName, value: .text(.fieldValue)),
            "Fields with their values. They replace fields with the same names."
        ),
        removedFields,
    ])

    private static let removedFields = SettingsKey(
        "remove",
        .list(.text(.fieldName)),
        "Names of fields to remove."
    )

    static let cors = Section([
        SettingsKey(
            "origins",
            .list(.text(.webOriginOrAny)),
            required: true,
            "Exact origins. * is allowed only without credentials."
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
            "Whether these origins may send the session cookie. Browsers send it from another site only with same_site: none on the host."
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
            "How long the app may take until the head of its response is complete."
        )
    ])

    static let upstream = Section([
        SettingsKey(
            "url",
            .text(.serverURL),
            "The address of the app, if it has one server. unix:/path is a socket of this machine."
        ),
        SettingsKey(
            "servers",
            .list(.shorthand("url", for: .server)),
            "The addresses of the app's servers, instead of url. A server that does not answer is left out for a while."
        ),
        SettingsKey(
            "balance",
            at: \UpstreamSettings.balance,
            "How requests are distributed. least_requests: the less busy of two random servers; round_robin: each in turn; sticky: always one server for a session, or for a client's address if there is no session."
        ),
        SettingsKey(
            "health",
            .section(.health),
            "Regular health checks of each server. Without them only the app's requests show whether a server is up."
        ),
        SettingsKey(
            "slow_start",
            at: \UpstreamSettings.slowStart,
            .duration(.seconds(1)...(.seconds(3600))),
            "How long a recovered server gets fewer requests: a tenth of its share at first, then more."
        ),
        SettingsKey(
            "retry_on",
            at: \UpstreamSettings.retryOn,
            .list(.integer(500...599)),
            default: "none",
            "Statuses after which a request is retried once on another server, if its method is idempotent and it has no body."
        ),
        SettingsKey(
            "ca_file",
            .path(isSecret: false),
            default: "the system's authorities",
            "A PEM file with the authorities of the app's certificate, which is always verified."
        ),
        SettingsKey(
            "certificate_file",
            .path(isSecret: false),
            "A PEM file with the gateway's client certificate for the app."
        ),
        SettingsKey("key_file", .path(isSecret: true), "A PEM file with the key of certificate_file."),
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
            "The maximum number of connections of each event loop to the app."
        ),
        SettingsKey(
            "max_queue",
            at: \UpstreamSettings.maxQueue,
            .integer(0...1_000_000),
            "The maximum number of requests of each event loop that wait while all its connections to the app are in use, for at most timeouts.queue. All further requests are rejected."
        ),
        SettingsKey(
            "client_share",
            at: \UpstreamSettings.clientShare,
            .integer(1...100),
            default: "25 to 50, depending on what is free",
            "The percentage of max_connections that requests of one client address (IPv6: one /64), or of one session, may use. 100 means no limit. Further requests wait."
        ),
        SettingsKey(
            "reuse",
            at: \UpstreamSettings.reuse,
            "Whether a connection to the app serves all users in turn (shared), or one session only (strict). Requests without a session share connections."
        ),
        SettingsKey(
            "answers",
            at: \UpstreamSettings.answers,
            "lenient accepts answers that old servers write in another form than RFC 9112, and rewrites them. Use it only for apps in which no user can put line breaks into a header."
        ),
        SettingsKey(
            "dns_refresh",
            at: \UpstreamSettings.dnsRefresh,
            .duration(.seconds(1)...(.seconds(3600))),
            "How often the names in the app's URLs are resolved again, in the background; also after a failed connection. Addresses that are gone get no new connections. If no address is found, the last ones stay in use."
        ),
    ])

    static let health = Section(
        [
            SettingsKey(
                "path",
                at: \HealthSettings.path,
                .text(.requestPath),
                "The path that is requested with GET, without credentials."
            ),
            SettingsKey(
                "host",
                at: \HealthSettings.host,
                .text(.authority),
                default: "the host of the server's URL",
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
                "The number of consecutive good answers after which a server that was left out serves again."
            ),
            SettingsKey(
                "fails",
                at: \HealthSettings.fails,
                .integer(1...100),
                "The number of consecutive checks without a good answer after which a server is left out."
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
            "The address of the server. unix:/path is a socket of this machine."
        ),
        SettingsKey(
            "weight",
            at: \ServerSettings.weight,
            .integer(1...1000),
            "The server's share of the requests, relative to the weights of the other servers."
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
            default: "the fields of preset",
            "Your own header fields instead of the preset's, each with the path to its value."
        ),
        SettingsKey("basic", .section(.basic), "Authorization: Basic for apps that need it."),
        SettingsKey("delimiter", .text(.delimiter), default: ",", "The separator of the elements of a list."),
        SettingsKey(
            "encoding",
            at: \Settings.identity.encoding,
            "How values are sent. percent: characters that are not visible ASCII are percent-encoded; utf8: values are unchanged, and those with control characters or outer white space are rejected."
        ),
        SettingsKey(
            "max_size",
            at: \Settings.identity.maxSize,
            .size(256...32_768, orNone: false),
            "The largest size of all identity fields of a request together. Keep it below the app's limit."
        ),
        SettingsKey(
            "strip_underscore_fields",
            at: \Settings.identity.stripUnderscoreFields,
            "Removes client fields with _ in their names, because CGI and WSGI apps read _ as -."
        ),
        SettingsKey("assertion", .section(.assertion), "X-Auth-Assertion: the identity as a signed JWT."),
    ])

    private static let assertion = Section([
        SettingsKey(
            "enabled",
            .boolean,
            default: "false",
            "Sends the assertion to apps, which verify it with the keys at /.sallyport/jwks.json."
        ),
        SettingsKey(
            "claims",
            .pairs(name: .claimName, value: .text(.sessionPath)),
            default: "none",
            "Claims in addition to iss, aud, sub, sid, iat and exp, each with the path to its value in the session."
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
