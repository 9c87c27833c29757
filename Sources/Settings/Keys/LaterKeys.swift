/// Names of settings that this version does not have, but which one expects of a gateway: refused with what there is
/// instead, not as slips of the pen.
enum LaterKeys {
    private static let providers =
        "this version has the static provider: provider.static.users, or SALLYPORT_USERS_FILE"

    private static let variables = [
        "SALLYPORT_KRATOS_URL": Self.providers,
        "SALLYPORT_OIDC_URL": Self.providers,
        "SALLYPORT_OIDC_CLIENT_ID": Self.providers,
        "SALLYPORT_OIDC_CLIENT_SECRET_FILE": Self.providers,
    ]
    private static let keys = [
        "provider.kratos": Self.providers,
        "provider.oidc": Self.providers,
        "provider.introspection": Self.providers,
        "redis": "it is store.redis: write store.redis.url_file, or set SALLYPORT_REDIS_URL",
        "tls": "this version serves plain HTTP/1.1 behind a proxy that ends TLS",
    ]

    /// What there is instead of the variable `name`; nil: it is not one of these.
    static func sentence(forVariable name: String) -> String? { self.variables[name] }

    /// What there is instead of the key at `path`; nil: it is not one of these.
    static func sentence(for path: String) -> String? { self.keys[path] }

    /// For names under which people write a secret itself.
    static func secretHint(for name: String) -> String? {
        switch name.lowercased() {
        case "secret", "cookie_secret": "put the secret into a file of its own and write secret_file"
        case "client_secret": "put the secret into a file of its own and write client_secret_file"
        case "password": "write password_hash, or password_file for identity.basic"
        default: nil
        }
    }
}
