/// Keys that operators write in the wrong place, and what to write instead.
enum MisplacedKeys {
    private static let keys = [
        "redis": "the key is store.redis: write store.redis.url_file, or set SALLYPORT_REDIS_URL",
        "telemetry.timeout": "set the variable OTEL_EXPORTER_OTLP_TIMEOUT, in milliseconds",
        "telemetry.batch_delay": "set the variable OTEL_BSP_SCHEDULE_DELAY, in milliseconds",
        "telemetry.batch_size": "set the variable OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
        "telemetry.queue_size": "set the variable OTEL_BSP_MAX_QUEUE_SIZE",
        "telemetry.export_timeout": "set the variable OTEL_BSP_EXPORT_TIMEOUT, in milliseconds",
    ]

    /// Returns what to write instead of the key at `path`; `nil` if the path is not listed.
    static func sentence(for path: String) -> String? { self.keys[path] }

    /// Returns a hint for names under which operators often write the secret itself; `nil` for other names.
    static func secretHint(for name: String) -> String? {
        switch name.lowercased() {
        case "secret", "cookie_secret": "put the secret into its own file, and set secret_file to the path of that file"
        case "client_secret": "put the secret into its own file, and set client_secret_file to the path of that file"
        case "oidc_client_secret":
            "put the secret into its own file, and set SALLYPORT_OIDC_CLIENT_SECRET_FILE to the path of that file"
        case "password": "write password_hash for a user, or password_file for identity.basic"
        default: nil
        }
    }
}
