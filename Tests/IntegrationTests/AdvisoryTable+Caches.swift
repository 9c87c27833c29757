/// C4: caches, single-flight and replay.
extension Advisory {
    /// The rows that concern what is remembered of sessions.
    static let caches = [
        Advisory(
            id: "CVE-2026-33496",
            about: "Oathkeeper: a cached verdict passes on a route with another verifier (C4 #34)",
            tests: [
                "C4 #34, CVE-2026-33496, CVE-2021-32701, GHSA-qvp4: a session is kept and no decision on it",
                "A cookie's token is no bearer token, nor the reverse, known or not",
            ]
        ),
        Advisory(
            id: "CVE-2021-32701",
            about: "Oathkeeper: a cached verdict passes where other scopes are demanded (C4 #34)",
            tests: ["C4 #34, CVE-2026-33496, CVE-2021-32701, GHSA-qvp4: a session is kept and no decision on it"]
        ),
        Advisory(
            id: "CVE-2026-71326",
            about: "Traefik: one request's answer served to another's token (C4 #35)",
            tests: [
                "No token gets the answer to another's read (CVE-2026-71326)",
                "C4 #35, CVE-2026-71326, CVE-2026-88010: keys are not strung together, and no read answers for another",
            ]
        ),
        Advisory(
            id: "CVE-2026-88010",
            about: "Traefik: single-flight keys strung together (C4 #35)",
            tests: [
                "C4 #35, CVE-2026-71326, CVE-2026-88010: keys are not strung together, and no read answers for another"
            ]
        ),
        Advisory(
            id: "C4 #36",
            about: "oathkeeper PR #1282: an expired entry fails for ever",
            tests: [
                "C4 #36, oathkeeper PR #1282: an entry that is too old is read anew with each use until a read succeeds"
            ]
        ),
        Advisory(
            id: "CVE-2021-41230",
            about: "Pomerium: claims that changed are not seen (C4 #37)",
            tests: [
                "A changed identity is seen with the next read, its ready bytes are made anew (CVE-2021-41230)",
                "C4 #37, CVE-2021-41230, GHSA-x883: nobody is served a record that is five seconds old",
            ]
        ),
        Advisory(
            id: "GHSA-x883",
            about: "Authelia: groups that changed are not seen (C4 #37)",
            tests: ["C4 #37, CVE-2021-41230, GHSA-x883: nobody is served a record that is five seconds old"]
        ),
        Advisory(
            id: "CVE-2020-15223",
            about: "fosite: a revocation that failed is answered as done (C4 #39)",
            tests: [
                "C4 #39, CVE-2020-15223: an end is not answered while a loop has yet to confirm it",
                "C4 #39, CVE-2020-15223: the end of a subject that Redis does not confirm fails, and is told here all the same",
                "While the store cannot answer, nobody is told to be signed out",
            ]
        ),
        Advisory(
            id: "C4 #44",
            about: "a failure remembered as 'no session'",
            tests: [
                "C4 #44: neither a failure nor 'no session' is remembered: the next use asks again",
                "A store that cannot say is unavailable, never 'no session', and is asked again",
            ]
        ),
    ]
}
