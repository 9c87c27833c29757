internal import Vocabulary

extension Section {
    static let host = Section([
        SettingsKey(
            "public_url",
            .text(.publicURL),
            required: true,
            "Scheme, host and port by which clients reach it."
        ),
        SettingsKey(
            "endpoints",
            .boolean,
            default: "true when it is the only host, else false",
            "Sign-in and token endpoints are served here and take their paths from the app."
        ),
        SettingsKey(
            "case_sensitive",
            .boolean,
            default: "false",
            "Its apps tell /Admin from /admin; without it a path that differs from a stricter route's in letter case is refused."
        ),
        SettingsKey(
            "routes",
            .sections(.route),
            required: true,
            "What is served; the most specific wins in any order."
        ),
    ])

    static let route = Section([
        SettingsKey("name", .text(.name), default: "host and path", "The label in metrics and logs."),
        SettingsKey(
            "path",
            .text(.pathPattern),
            default: "/**",
            "Exact, prefix/** for the rest, * for one segment; decoded, as it is matched decoded."
        ),
        SettingsKey(
            "path_info",
            .choice(PathInfo.allCases.map(\.rawValue)),
            default: "refuse",
            "A path that goes on behind this exact one (/report.php/x) on a weaker route: 400, or judged as this route."
        ),
        SettingsKey(
            "methods",
            .list(.text(.method)),
            default: "all but CONNECT and TRACE",
            "Anything else is 405, unless another route has the same path and takes it; wider paths do not."
        ),
        SettingsKey("upstream", .text(.upstream), default: "the top-level upstream", "The app behind it."),
        SettingsKey(
            "host",
            .text(.hostHeader),
            default: "client",
            "The Host that the app sees; client is the name and port of public_url, whatever the client's spelling."
        ),
        SettingsKey(
            "auth",
            .choice(AuthRequirement.allCases.map(\.rawValue)),
            default: "required",
            "Whether a session is needed, welcome, or not looked at."
        ),
        SettingsKey(
            "require",
            .section(.requirement),
            "What the session must be; every key that is set must hold. Only where auth is required."
        ),
        SettingsKey(
            "unauthenticated",
            .choice(UnauthenticatedAnswer.allCases.map(\.rawValue)),
            default: "auto",
            "What a request without session gets; auto sends navigations to login and answers the rest with 401."
        ),
        SettingsKey("client", .text(.clientID), "The web client whose handoff settings apply, from clients."),
        SettingsKey(
            "handoff",
            .boolean,
            default: "true where a client is set",
            "Accept session-transfer tokens; where no client is set they are removed, false leaves them to the app."
        ),
        SettingsKey(
            "binding",
            .choice(BindingMode.allCases.map(\.rawValue)),
            default: "none",
            "The device's address or network, checked again on the live session; only where auth is required."
        ),
        SettingsKey(
            "bearer",
            .choice(BearerOwner.allCases.map(\.rawValue)),
            default: "gateway",
            "Whose Authorization: Bearer is."
        ),
        SettingsKey(
            "allow_encoded_slashes",
            .boolean,
            default: "false",
            "%2F in the path is the app's business; apps differ in what they make of it."
        ),
        SettingsKey(
            "cache",
            .choice(["private", "app"]),
            default: "private",
            "Answers that carry identity are marked private, or left as the app marks them."
        ),
        SettingsKey(
            "cors",
            .section(.cors),
            "Other origins whose scripts may read the answers; what the app says of it in an answer of its own stands."
        ),
        SettingsKey(
            "trusted_origins",
            .list(.text(.webOrigin)),
            default: "none",
            "Other origins that may send unsafe requests with the session cookie."
        ),
        SettingsKey(
            "max_body",
            .size(0...(1 << 50), orNone: true),
            default: "limits.body",
            "A request body; more is 413."
        ),
        SettingsKey("timeouts", .section(.routeTimeouts), "Times of this route."),
    ])

    private static let requirement = Section([
        SettingsKey("aal", .choice(AssuranceLevel.demandable.map(\.rawValue)), "The least assurance level."),
        SettingsKey("groups_any", .list(.text(.text)), "The user is in one of these groups."),
        SettingsKey("scopes", .list(.text(.text)), "The session has all of these scopes."),
        SettingsKey(
            "origin",
            .list(.choice(["browser", "native", "transfer"])),
            "The ways in which the session may have begun."
        ),
        SettingsKey(
            "max_age",
            .duration(.seconds(1)...(.seconds(365 * 86_400))),
            "The longest time since the user authenticated."
        ),
    ])

    private static let cors = Section([
        SettingsKey(
            "origins",
            .list(.text(.webOriginOrAny)),
            required: true,
            "Exact origins; * only without credentials."
        ),
        SettingsKey("methods", .list(.text(.method)), default: "GET, HEAD, POST", "What they may send."),
        SettingsKey("headers", .list(.text(.fieldName)), default: "none", "Fields that they may send."),
        SettingsKey("credentials", .boolean, default: "false", "They may send the session cookie."),
        SettingsKey(
            "max_age",
            .duration(.zero...(.seconds(86_400))),
            default: "10m",
            "How long a browser may remember this answer."
        ),
    ])

    private static let routeTimeouts = Section([
        SettingsKey(
            "response",
            .duration(.milliseconds(10)...(.seconds(3600))),
            default: "timeouts.response",
            "To the end of the app's head."
        )
    ])

    static let upstream = Section([
        SettingsKey("url", .text(.upstreamURL), required: true, "Where the app listens."),
        SettingsKey(
            "ca_file",
            .path(isSecret: false),
            default: "the system's authorities",
            "PEM certificates that the app's must lead to; verification is never off."
        ),
        SettingsKey("certificate_file", .path(isSecret: false), "PEM certificate by which the app knows the gateway."),
        SettingsKey("key_file", .path(isSecret: true), "PEM key of that certificate."),
        SettingsKey(
            "server_name",
            .text(.serverName),
            default: "the host in url",
            "The name in the app's certificate."
        ),
        SettingsKey(
            "max_connections",
            .integer(1...65_536),
            default: "1024",
            "Connections of each event loop to the app."
        ),
        SettingsKey(
            "reuse",
            .choice(ConnectionReuse.allCases.map(\.rawValue)),
            default: "shared",
            "Whom a connection to the app serves: one user after another, or one session only (requests without one share)."
        ),
    ])

    static let client = Section([
        SettingsKey("client_id", .text(.clientID), required: true, "The name that the client gives itself."),
        SettingsKey("client_secret_file", .path(isSecret: true), default: "none", "Without one the client is public."),
        SettingsKey(
            "session_transfer",
            .section(.sessionTransfer),
            "Auth0's object of that name, verbatim, and three keys more."
        ),
    ])

    private static let sessionTransfer = Section([
        SettingsKey(
            "can_create_session_transfer_token",
            .boolean,
            default: "false",
            "Native clients: may mint tokens."
        ),
        SettingsKey(
            "allowed_authentication_methods",
            .list(.choice(["cookie", "query"])),
            default: "none",
            "Web clients: where the token may stand; cookie wins when it stands in both."
        ),
        SettingsKey(
            "enforce_device_binding",
            .choice(BindingMode.allCases.map(\.rawValue)),
            default: "ip",
            "Web clients: what must be equal between minting and consuming; the README has a table."
        ),
        SettingsKey("binding_dry_run", .boolean, default: "false", "Judge the binding and count, but let pass."),
        SettingsKey(
            "on_mismatch",
            .choice(["burn", "keep"]),
            default: "burn",
            "What a wrong device does to the token."
        ),
        SettingsKey(
            "on_replay",
            .choice(["refuse", "revoke_derived"]),
            default: "refuse",
            "What a second use does; revoke_derived also ends the session that the first one made."
        ),
        SettingsKey(
            "enforce_cascade_revocation",
            .boolean,
            default: "false",
            "Auth0's default is true; this version has no cascade and refuses true."
        ),
        SettingsKey("allow_refresh_token", .boolean, default: "false", "This version issues none and refuses true."),
        SettingsKey(
            "enforce_online_refresh_tokens",
            .boolean,
            default: "true",
            "This version issues no refresh tokens and refuses false."
        ),
        SettingsKey("delegation", .section(.delegation), "This version has no delegated access."),
    ])

    private static let delegation = Section([
        SettingsKey("allow_delegated_access", .boolean, default: "false", "This version refuses true."),
        SettingsKey(
            "enforce_device_binding",
            .choice(["ip", "asn"]),
            default: "ip",
            "Read, and without effect while allow_delegated_access is false."
        ),
    ])

    static let identity = Section([
        SettingsKey(
            "preset",
            .choice(IdentitySettings.Preset.allCases.map(\.rawValue)),
            default: "sallyport",
            "The names that a family of apps expects."
        ),
        SettingsKey(
            "headers",
            .pairs(name: .fieldName, value: .sessionPath),
            default: "the preset's",
            "Own names instead of the preset's."
        ),
        SettingsKey("basic", .section(.basic), "Authorization: Basic for apps that want it."),
        SettingsKey("delimiter", .text(.delimiter), default: ",", "Between the elements of a list."),
        SettingsKey(
            "max_size",
            .size(256...32_768, orNone: false),
            default: "8KiB",
            "All identity fields of a request together; keep it below the app's limit."
        ),
        SettingsKey(
            "strip_underscore_fields",
            .boolean,
            default: "true",
            "Client fields with _ never reach the app, as CGI and WSGI read _ as -."
        ),
    ])

    private static let basic = Section([
        SettingsKey("username", .text(.sessionPath), required: true, "The path of the user's name in the session."),
        SettingsKey(
            "password_file",
            .path(isSecret: true),
            required: true,
            "The password that the app expects of the gateway."
        ),
    ])
}
