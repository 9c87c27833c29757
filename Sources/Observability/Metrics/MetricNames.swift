/// All metrics of the gateway. Labels never contain users, requested paths or clients' addresses. The configuration
/// determines the number of series.
package enum MetricNames {
    /// The bounds of durations in seconds: OpenTelemetry's bounds for HTTP, and three smaller ones.
    package static let durationBuckets: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]

    // Requests and connections.
    package static let httpRequests = MetricFamily.counter(
        "sallyport_http_requests_total{route,code_class,outcome}",
        "Requests answered, by route (or path of the gateway's own endpoint), class of the status code (1xx to 5xx) and outcome.",
        hidesZero: true
    )
    package static let httpRequestDuration = MetricFamily.histogram(
        "sallyport_http_request_duration_seconds{route}",
        "Time from the first byte of a request to the last byte of its answer.",
        hidesZero: true
    )
    package static let httpRequestsInFlight = MetricFamily.gauge(
        "sallyport_http_requests_in_flight",
        "Requests that are being answered."
    )
    package static let connectionsOpen = MetricFamily.gauge(
        "sallyport_connections_open{listener}",
        "Open client connections, by listener."
    )
    package static let connectionsRefused = MetricFamily.counter(
        "sallyport_connections_refused_total{listener,limit}",
        "Client connections closed unanswered, by listener and limit."
    )
    package static let connectionsEvicted = MetricFamily.counter(
        "sallyport_connections_evicted_total{listener}",
        "Idle client connections closed to make room for new ones, by listener."
    )
    package static let http2ConnectionsClosed = MetricFamily.counter(
        "sallyport_http2_connections_closed_total{reason}",
        "HTTP/2 connections closed because the client exceeded a limit or broke the protocol, by reason.",
        hidesZero: true
    )
    package static let proxyProtocol = MetricFamily.counter(
        "sallyport_proxy_protocol_total{result}",
        "Connections to addresses with the PROXY protocol, by result (v1, v2, local, unnamed, malformed, late, refused).",
        hidesZero: true
    )

    package static let tlsHandshakes = MetricFamily.counter(
        "sallyport_tls_handshakes_total{result}",
        "TLS handshakes, by result (ok, resumed, failed, late, plain_http, foreign, no_certificate, unknown_name, no_protocol, client_certificate, limited).",
        hidesZero: true
    )
    package static let tlsReloads = MetricFamily.counter(
        "sallyport_tls_reloads_total{result}",
        "Reloads of changed TLS files of listeners and apps, by result (success; failure: the earlier files stay in use).",
        hidesZero: true
    )
    package static let tlsCertificateNotAfter = MetricFamily.gauge(
        "sallyport_tls_certificate_not_after_timestamp_seconds{name}",
        "When each certificate in use, or the first of its issuers, expires, by the certificate's first name."
    )

    package static let authorizationChecks = MetricFamily.counter(
        "sallyport_authz_checks_total{dialect,result}",
        "Checks by other proxies, by dialect (none if the check was not understood) and result (allowed, redirected, denied, failed).",
        hidesZero: true
    )

    // Decisions, sessions, handoff.
    package static let decisions = MetricFamily.counter(
        "sallyport_decisions_total{route,decision,reason}",
        "Decisions on requests, by route, decision and reason id (empty when allowed).",
        hidesZero: true
    )
    package static let signIns = MetricFamily.counter(
        "sallyport_sign_ins_total{kind,result}",
        "Sign-ins, by kind (web: of browsers, native: of apps) and result (ok, or the reason id).",
        hidesZero: true
    )
    package static let providerSignIns = MetricFamily.counter(
        "sallyport_provider_sign_ins_total{provider,result}",
        "Sign-ins, by the provider's name in the settings and result (ok, or the reason id).",
        hidesZero: true
    )
    package static let tokens = MetricFamily.counter(
        "sallyport_tokens_total{act,result}",
        "Tokens of OAuth clients, by act (the grant, or revoked) and result (ok, or the reason id).",
        hidesZero: true
    )
    package static let transferTokens = MetricFamily.counter(
        "sallyport_transfer_tokens_total{result}",
        "Session-transfer tokens, by result."
    )
    package static let handoffMinted = MetricFamily.counter(
        "sallyport_handoff_minted_total{client}",
        "Session-transfer tokens minted, by client.",
        hidesZero: true
    )
    package static let handoffRedeemed = MetricFamily.counter(
        "sallyport_handoff_redeemed_total{transport}",
        "Session-transfer tokens accepted and used up, by transport (cookie, query)."
    )
    package static let handoffRejected = MetricFamily.counter(
        "sallyport_handoff_rejected_total{reason}",
        "Session-transfer tokens refused, by reason id.",
        hidesZero: true
    )
    package static let handoffAge = MetricFamily.histogram(
        "sallyport_handoff_age_seconds",
        "Time from the mint of a session-transfer token until it was accepted and used up."
    )
    /// The bounds of `handoffAge` in seconds. Tokens expire after a minute by default, and after five at most.
    package static let handoffAgeBuckets: [Double] = [0.25, 0.5, 1, 2, 5, 10, 20, 30, 45, 60, 120, 300]
    package static let hostTickets = MetricFamily.counter(
        "sallyport_host_tickets_total{result}",
        "Tickets between hosts of the gateway, by result."
    )
    package static let sessionResolve = MetricFamily.counter(
        "sallyport_session_resolve_total{source,result}",
        "Sessions looked up, by source (l1, store) and result (hit, miss, error)."
    )
    package static let bindingWouldReject = MetricFamily.counter(
        "sallyport_binding_would_reject_total{mode,source}",
        "Requests from another device that the binding did not reject because it is a dry run, by mode and source (token, session)."
    )
    package static let clientChanges = MetricFamily.counter(
        "sallyport_client_changes_total{act,result}",
        "Changes of clients by operators, by act (create, update, delete) and result (done, refused, unavailable)."
    )
    package static let clientsChanged = MetricFamily.gauge(
        "sallyport_clients_changed",
        "Clients that differ from the file, because operators changed them."
    )
    package static let clientsWithheld = MetricFamily.gauge(
        "sallyport_clients_withheld",
        "Clients that are not in use because their changes conflict with the file."
    )
    package static let clientsUnreadable = MetricFamily.gauge(
        "sallyport_clients_unreadable",
        "1 if the changes of clients could not be read at the last attempt, otherwise 0; the last known ones stay in use."
    )
    package static let ruleResults = MetricFamily.counter(
        "sallyport_rule_results_total{rule,result}",
        "Rule evaluations, by rule and result (pass, deny, sign_in, would_deny, would_sign_in)."
    )
    package static let bindingChecks = MetricFamily.counter(
        "sallyport_binding_checks_total{kind,result}",
        "Checks of device bindings, by kind of binding and result (match, mismatch, unknown, dry_run)."
    )

    package static let providerCalls = MetricFamily.counter(
        "sallyport_provider_calls_total{purpose,result}",
        "Calls to the provider, by purpose and result (ok: 2xx; refused: 3xx and 4xx; failed: 5xx; error: no answer; withheld: not made, because too many were in progress)."
    )
    package static let providerCallDuration = MetricFamily.histogram(
        "sallyport_provider_call_duration_seconds{purpose}",
        "Time from a call to the provider to the end of its answer, by purpose."
    )
    package static let providerUserinfoMissed = MetricFamily.counter(
        "sallyport_provider_userinfo_missed_total",
        "Sign-ins and renewals that continued without a usable answer from the provider's userinfo endpoint."
    )
    package static let providerRenewals = MetricFamily.counter(
        "sallyport_provider_renewals_total{result}",
        "Renewals of providers' tokens, and questions to Kratos about its users, by result (renewed, later, ended, lost, too_large)."
    )
    package static let clientLogouts = MetricFamily.counter(
        "sallyport_client_logouts_total{result}",
        "Logout tokens for clients, by result (ok, later: it is sent again, refused, failed: not answered in three tries, dropped: too many, or the gateway stopped)."
    )

    package static let sessionsLive = MetricFamily.gauge(
        "sallyport_sessions_live",
        "Live sessions of all gateways of the store, without access tokens; estimated where there are more than 256."
    )

    // The store in memory, without Redis.
    package static let storeRecords = MetricFamily.gauge(
        "sallyport_store_records{kind}",
        "Records in this process's memory, by kind (sessions; single_use: tokens and their markers)."
    )
    package static let storeLimit = MetricFamily.gauge(
        "sallyport_store_records_limit{kind}",
        "The limits of these records: store.memory.max_sessions and max_markers."
    )

    // Sessions that the loops cache (L1), and Redis.
    package static let l1Entries = MetricFamily.gauge("sallyport_l1_entries", "Sessions in the loops' caches.")
    package static let l1Lookups = MetricFamily.counter(
        "sallyport_l1_lookups_total{result}",
        "Sessions looked up, by result (hit: in the loop's cache, miss: read from the store)."
    )
    package static let l1Refreshes = MetricFamily.counter(
        "sallyport_l1_refreshes_total",
        "Sessions read again in the background while they were in use."
    )
    package static let l1Rereads = MetricFamily.counter(
        "sallyport_l1_rereads_total",
        "Reads repeated because a session ended while they were running."
    )
    package static let l1Evictions = MetricFamily.counter(
        "sallyport_l1_evictions_total",
        "Sessions evicted from the loops' caches for lack of room."
    )
    package static let l1Doubts = MetricFamily.counter(
        "sallyport_l1_doubts_total",
        "How often all cached sessions became doubtful because a sign-out may have been missed."
    )
    package static let l1DoubtedUses = MetricFamily.counter(
        "sallyport_l1_doubted_uses_total",
        "Requests served by a doubtful session, at most a few seconds old, because the store was unavailable."
    )
    package static let redisCommands = MetricFamily.counter(
        "sallyport_redis_commands_total{command,result}",
        "Commands and scripts sent to Redis, by kind and result (ok, error, timeout, lost, unreplicated)."
    )
    package static let redisCommandDuration = MetricFamily.histogram(
        "sallyport_redis_command_duration_seconds{command}",
        "Time from a command to its answer, including the queue."
    )
    package static let redisUp = MetricFamily.gauge(
        "sallyport_redis_up",
        "1 while every event loop reaches every primary of Redis, and each serves."
    )
    package static let redisDown = MetricFamily.gauge(
        "sallyport_redis_down{reason}",
        "1 for the reason why Redis cannot be used now: a state of the connections, or Redis's own error code."
    )
    package static let redisStrangers = MetricFamily.gauge(
        "sallyport_redis_other_secrets",
        "Gateways on the same Redis that share no secret with this gateway: neither knows the other's sessions."
    )
    package static let redisConnections = MetricFamily.gauge(
        "sallyport_redis_connections{state}",
        "Connections for commands, one for each loop and primary, by state (up, down)."
    )
    package static let redisRefusedWrites = MetricFamily.counter(
        "sallyport_redis_refused_writes_total{code}",
        "Writes that a primary refused though it can be read, by its error (MISCONF, NOREPLICAS, OOM)."
    )
    package static let redisRefusing = MetricFamily.gauge(
        "sallyport_redis_primaries_refusing_writes",
        "Primaries that refuse writes now, so that sign-in and transfer tokens get 503."
    )
    package static let redisReplicas = MetricFamily.gauge(
        "sallyport_redis_replicas",
        "Replicas of the primary; with several primaries, the lowest number of any of them."
    )
    package static let redisClockOffset = MetricFamily.gauge(
        "sallyport_redis_clock_offset_seconds",
        "How far Redis's clock, which decides when sessions end, is ahead of this machine's; accurate to about a second."
    )
    package static let redisPrimaryChanges = MetricFamily.counter(
        "sallyport_redis_primary_changes_total",
        "Failovers and restarts of a primary that this gateway noticed."
    )
    package static let redisRestoredEnds = MetricFamily.counter(
        "sallyport_redis_restored_ends_total",
        "Sign-outs that a new or restarted primary had lost and that were written again."
    )
    package static let redisCutOff = MetricFamily.gauge(
        "sallyport_redis_cut_off",
        "1 while most sentinels, or most primaries of a cluster, are silent: no session is read and nothing is written."
    )
    package static let redisQuarantine = MetricFamily.gauge(
        "sallyport_redis_quarantine_seconds",
        "How long transfer tokens from before the last failover or restart may still be presented; they are refused."
    )

    // Apps.
    package static let upstreamRequests = MetricFamily.counter(
        "sallyport_upstream_requests_total{upstream,code_class}",
        "Requests sent to an app, by upstream and class of the status code (error when there was no response).",
        hidesZero: true
    )
    package static let upstreamDuration = MetricFamily.histogram(
        "sallyport_upstream_duration_seconds{upstream}",
        "Time from the head of a request to the head of an app's response.",
        hidesZero: true
    )
    package static let upstreamConnections = MetricFamily.gauge(
        "sallyport_upstream_connections{state}",
        "Connections to apps, by state (idle, active)."
    )
    package static let upstreamQueue = MetricFamily.gauge(
        "sallyport_upstream_requests_waiting{upstream}",
        "Requests that wait for a connection to an app because all are in use or the app accepts none, by upstream.",
        hidesZero: true
    )
    package static let upstreamShareReached = MetricFamily.counter(
        "sallyport_upstream_share_reached_total{upstream,by}",
        "Requests that had to wait for a connection to an app because their client already used its share, by upstream and by what is limited (address, session).",
        hidesZero: true
    )
    package static let upstreamStalled = MetricFamily.counter(
        "sallyport_upstream_stalled_total{upstream}",
        "Requests ended because their client neither read nor sent while others waited for a connection to the app, by upstream.",
        hidesZero: true
    )
    package static let upstreamRetries = MetricFamily.counter(
        "sallyport_upstream_retries_total{upstream}",
        "Requests sent again because the connection was lost before any byte of the response, or retry_on lists its status.",
        hidesZero: true
    )
    package static let upstreamUnasked = MetricFamily.counter(
        "sallyport_upstream_unasked_total{upstream}",
        "Connections closed because the app sent bytes before a request was sent, by upstream.",
        hidesZero: true
    )

    package static let upstreamLookups = MetricFamily.counter(
        "sallyport_upstream_lookups_total{upstream,result}",
        "Lookups of the names of an app's servers, by result (unchanged; moved: the addresses changed; failed: the last ones stay in use).",
        hidesZero: true
    )

    // Apps with several servers.
    package static let serverRequests = MetricFamily.counter(
        "sallyport_upstream_server_requests_total{upstream,server,code_class}",
        "Requests that a server of an app got, by class of the status code (error when there was no response).",
        hidesZero: true
    )
    package static let serverInFlight = MetricFamily.gauge(
        "sallyport_upstream_server_requests_in_flight{upstream,server}",
        "Requests that a server of an app is serving, or for which a connection to it is being made."
    )
    package static let serverEjections = MetricFamily.counter(
        "sallyport_upstream_server_ejections_total{upstream,server}",
        "How often a server of an app was left out because it failed, counted once for all event loops.",
        hidesZero: true
    )
    package static let serverOut = MetricFamily.gauge(
        "sallyport_upstream_server_out{upstream,server}",
        "How many event loops leave a server of an app out now; 0 while it serves."
    )

    // Operation.
    package static let buildInfo = MetricFamily.gauge(
        "sallyport_build_info{version,swift}",
        "The running build; always 1."
    )
    package static let configReloads = MetricFamily.counter(
        "sallyport_config_reloads_total{result}",
        "Reloads of the configuration, by result (success, failure)."
    )
    package static let configLastReloadSuccessful = MetricFamily.gauge(
        "sallyport_config_last_reload_successful",
        "1 when the last reload of the configuration succeeded, 0 when the old one was kept."
    )
    package static let configLastReloadSuccessTimestamp = MetricFamily.gauge(
        "sallyport_config_last_reload_success_timestamp_seconds",
        "Unix time at which the running configuration was loaded."
    )
    package static let asnDatabaseBuildTimestamp = MetricFamily.gauge(
        "sallyport_asn_database_build_timestamp_seconds",
        "Unix time at which the ASN database in use was built; 0 when there is none."
    )
    package static let geoDatabaseBuildTimestamp = MetricFamily.gauge(
        "sallyport_geo_database_build_timestamp_seconds",
        "Unix time at which the database of places in use was built; 0 when there is none."
    )
    package static let logDropped = MetricFamily.counter(
        "sallyport_log_dropped_total{stream}",
        "Log lines dropped because their reader was too slow or the disk was full, by stream."
    )
    package static let logWriteErrors = MetricFamily.counter(
        "sallyport_log_write_errors_total",
        "Failed writes of log lines; each is repeated."
    )

    package static let spansSent = MetricFamily.counter(
        "sallyport_spans_sent_total",
        "Spans of traces that the collector has accepted."
    )
    package static let spansDropped = MetricFamily.counter(
        "sallyport_spans_dropped_total{reason}",
        "Spans of traces that did not reach the collector, by reason (queue_full, refused, failed)."
    )

    // The process, in the names that every Prometheus client library uses.
    package static let processStartTime = MetricFamily.gauge(
        "process_start_time_seconds",
        "Start time of the process since the Unix epoch."
    )
    package static let processOpenFiles = MetricFamily.gauge("process_open_fds", "Open file descriptors.")
    package static let processMaxFiles = MetricFamily.gauge(
        "process_max_fds",
        "Largest number of open file descriptors allowed."
    )
    package static let processResidentMemory = MetricFamily.gauge("process_resident_memory_bytes", "Resident memory.")
    package static let processCPU = MetricFamily.counter("process_cpu_seconds_total", "User and system CPU time spent.")
}

/// The values of `result` in `sallyport_provider_renewals_total`.
package enum ProviderRenewalResult: String, Sendable, CaseIterable {
    case renewed, later, ended, lost
    case tooLarge = "too_large"
}

/// The values of `result` in `sallyport_client_logouts_total`.
package enum ClientLogoutResult: String, Sendable, CaseIterable {
    case ok, later, refused, failed, dropped
}

/// The values of `result` in `sallyport_transfer_tokens_total`.
package enum TransferTokenResult: String, Sendable, CaseIterable {
    case minted
    /// A page asked the user to confirm. The token is not used up.
    case asked
    case consumed
    case repeated
    case replayed
    case expired
    case invalid
    case bindingMismatch = "binding_mismatch"
    case quarantined
    case refused
    case throttled
    case storeError = "store_error"
}

/// The values of `result` in `sallyport_host_tickets_total`.
package enum HostTicketResult: String, Sendable, CaseIterable {
    case issued
    case used
    /// The browser already had a session and keeps it. The ticket is used up.
    case repeated
    case replayed
    case quarantined
    case refused
    case throttled
    case storeError = "store_error"
}
