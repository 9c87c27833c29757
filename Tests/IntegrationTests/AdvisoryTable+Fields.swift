/// Identity fields that a client smuggles to the app.
extension Advisory {
    /// Spellings, Connection, separators and repeated fields.
    static let fields = [
        Advisory(
            id: "CVE-2025-64484",
            about: "oauth2-proxy: identity fields spelled with underscores reach the app",
            tests: [
                "T11: a client's identity field does not reach the app in any spelling on any route",
                "CVE-2025-64484, T11: identity fields are managed in every spelling",
                "Punctuation in place of - does not forge a managed name, wherever it is",
                "No field with a name that a script would read as the gateway's reaches the script",
            ]
        ),
        Advisory(
            id: "CVE-2026-39858",
            about: "Traefik: forwarding fields spelled with underscores reach the app",
            tests: [
                "CVE-2026-40575, CVE-2026-35051, CVE-2026-54764: an untrusted client's forwarding fields are replaced",
                "CVE-2026-39858, CVE-2026-35051, CVE-2026-54764: forwarding fields are dropped in every spelling",
            ]
        ),
        Advisory(
            id: "CVE-2026-54763",
            about: "Traefik: a configured field name spelled with underscores reaches the app",
            tests: [
                "CVE-2026-54763, CVE-2026-33433: a preset's names and configured names are protected as well",
                "CVE-2026-54763, CVE-2026-33433: all spellings of a configured name are one name",
            ]
        ),
        Advisory(
            id: "CVE-2026-33433",
            about: "Traefik: a configured name in another case is not stripped",
            tests: [
                "CVE-2026-54763, CVE-2026-33433: a preset's names and configured names are protected as well"
            ]
        ),
        Advisory(
            id: "CVE-2026-30851",
            about: "Caddy: a field without a value is not deleted",
            tests: [
                "CVE-2026-30851: a user without an email has no email field, whatever the client sends",
                "CVE-2026-30851: a client's identity field is removed even if the session has no value for it",
            ]
        ),
        Advisory(
            id: "CVE-2026-52845",
            about: "Caddy: a CGI app cannot tell names apart that differ in - and _ only",
            tests: [
                "CVE-2026-52845: names that a CGI server folds into one count as the same name"
            ]
        ),
        Advisory(
            id: "GHSA-w9mr-28mw-j8hg",
            about: "Oathkeeper: a client's Connection field removes the gateway's fields",
            tests: [
                "T12: a Connection field cannot remove the gateway's fields, in any letter case"
            ]
        ),
        Advisory(
            id: "CVE-2024-45410",
            about: "Traefik: a client's Connection field removes the gateway's fields",
            tests: [
                "T12: a Connection field cannot remove the gateway's fields, in any letter case"
            ]
        ),
        Advisory(
            id: "CVE-2026-29054",
            about: "Traefik: a client's Connection field in other letters removes the gateway's fields",
            tests: [
                "T12: a Connection field cannot remove the gateway's fields, in any letter case"
            ]
        ),
        Advisory(
            id: "P8",
            about: "mod_auth_openidc (change log, August 2026): identity fields of a preflight are not removed",
            tests: [
                "T11: a client's identity field does not reach the app in any spelling on any route",
                "mod_auth_openidc 2026: a preflight is stripped like any other request",
            ]
        ),
        Advisory(
            id: "P9",
            about: """
                mod_auth_openidc (change log, July 2026): a group's name holds the separator of the \
                list, and becomes two groups
                """,
            tests: [
                "mod_auth_openidc 2026: a group `a,admin` does not become two groups"
            ]
        ),
        Advisory(
            id: "P10",
            about: "mod_auth_openidc (change log, May 2026): a line break in a claim begins another field",
            tests: [
                "CVE-2023-27493, mod_auth_openidc 2026: a value with a line break or NUL is refused"
            ]
        ),
        Advisory(
            id: "CVE-2023-27493",
            about: "Envoy: values of fields are not escaped",
            tests: [
                "CVE-2023-27493, mod_auth_openidc 2026: a value with a line break or NUL is refused"
            ]
        ),
        Advisory(
            id: "CVE-2026-26308",
            about: "Envoy: a rule reads the first of several fields of one name",
            tests: [
                "CVE-2026-26308, CVE-2026-31838: repeated credentials are refused"
            ]
        ),
        Advisory(
            id: "CVE-2026-31838",
            about: "Istio: a rule reads the first of several fields of one name",
            tests: [
                "CVE-2026-26308, CVE-2026-31838: repeated credentials are refused"
            ]
        ),
        Advisory(
            id: "CVE-2023-27488",
            about: "Envoy: a field that is not UTF-8 breaks the check",
            tests: [
                "CVE-2023-27488: bytes that are not UTF-8 cause no crash and are not read as something else"
            ]
        ),
        Advisory(
            id: "P13",
            about: "mod_auth_openidc (change log, August 2026): a protocol parameter is accepted twice",
            tests: [
                "A repeated parameter is refused and burns nothing"
            ]
        ),
    ]
}
