import Settings

extension IdentityProfile {
    /// Returns the fields of a preset. Presets other than `sallyport` imitate the fields of other gateways.
    static func fields(_ preset: IdentitySettings.Preset) -> [IdentitySettings.Field] {
        let pairs: [(String, String)] =
            switch preset {
            case .sallyport:
                [
                    ("X-Auth-Subject", "subject"), ("X-Auth-Session-Id", "session.id"),
                    ("X-Auth-Email", "identity.traits.email"), ("X-Auth-Name", "identity.traits.name"),
                    ("X-Auth-Groups", "identity.traits.groups"), ("X-Auth-Aal", "aal"),
                    ("X-Auth-Methods", "methods"), ("X-Auth-Authenticated-At", "authenticated_at"),
                    ("X-Auth-Origin", "origin"),
                ]
            case .remoteUser, .authelia:
                [
                    ("Remote-User", preset == .authelia ? "identity.traits.username" : "subject"),
                    ("Remote-Email", "identity.traits.email"), ("Remote-Name", "identity.traits.name"),
                    ("Remote-Groups", "identity.traits.groups"),
                ]
            case .oauth2Proxy:
                [
                    ("X-Forwarded-User", "subject"), ("X-Forwarded-Email", "identity.traits.email"),
                    ("X-Forwarded-Groups", "identity.traits.groups"),
                    ("X-Forwarded-Preferred-Username", "identity.traits.username"),
                    ("X-Auth-Request-User", "subject"), ("X-Auth-Request-Email", "identity.traits.email"),
                    ("X-Auth-Request-Groups", "identity.traits.groups"),
                    ("X-Auth-Request-Preferred-Username", "identity.traits.username"),
                ]
            case .kratos:
                [
                    ("X-Kratos-Authenticated-Identity-Id", "identity.id"), ("X-Kratos-Session-Id", "session.id"),
                    ("X-User-Id", "identity.id"),
                    ("X-User-Email", "identity.traits.email"),
                ]
            }
        // Every preset also says who acts for the user and which certificate the client has.
        return
            (pairs + [
                ("X-Auth-Actor", "actor"), ("X-Auth-Client-Certificate-Sha256", "client_certificate.sha256"),
            ]).map { IdentitySettings.Field(name: $0.0, path: $0.1) }
    }
}
