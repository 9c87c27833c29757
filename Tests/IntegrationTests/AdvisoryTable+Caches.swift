/// Caches, shared reads, revocation and tokens.
extension Advisory {
    /// The cache of sessions, and what a token proves.
    static let caches = [
        Advisory(
            id: "CVE-2026-33496",
            about: "Oathkeeper: a cached decision passes on a route with another verifier",
            tests: [
                "CVE-2026-33496, CVE-2021-32701: the cache keeps sessions, not decisions",
                "A token from a cookie is not accepted as a bearer token, nor a bearer token from a cookie, whether or not it is cached",
            ]
        ),
        Advisory(
            id: "CVE-2021-32701",
            about: "Oathkeeper (GHSA-qvp4-rpmr-xwrr): a cached decision passes where other scopes are required",
            tests: [
                "CVE-2026-33496, CVE-2021-32701: the cache keeps sessions, not decisions"
            ]
        ),
        Advisory(
            id: "CVE-2026-71326",
            about: "Traefik: one token's answer is served to another token",
            tests: [
                "No token gets the answer to another token's read (CVE-2026-71326)",
                "CVE-2026-71326, CVE-2026-88010: keys are not concatenated, and a read for one token never answers another token",
            ]
        ),
        Advisory(
            id: "CVE-2026-88010",
            about: "Traefik: two requests share a key that is joined from parts",
            tests: [
                "CVE-2026-71326, CVE-2026-88010: keys are not concatenated, and a read for one token never answers another token"
            ]
        ),
        Advisory(
            id: "oathkeeper PR #1282",
            about: "Oathkeeper: an expired cache entry fails on every later use",
            tests: [
                "oathkeeper PR #1282: an entry that is too old is read again at each use until a read succeeds"
            ]
        ),
        Advisory(
            id: "CVE-2021-41230",
            about: "Pomerium: changed claims are not seen",
            tests: [
                "A changed identity is seen at the next read, and its prepared bytes are made again (CVE-2021-41230)",
                "CVE-2021-41230, GHSA-x883-2vmg-xwf7: no request is served from a record that is five seconds old",
            ]
        ),
        Advisory(
            id: "GHSA-x883-2vmg-xwf7",
            about: "Authelia: changed groups are not seen",
            tests: [
                "CVE-2021-41230, GHSA-x883-2vmg-xwf7: no request is served from a record that is five seconds old"
            ]
        ),
        Advisory(
            id: "CVE-2020-15223",
            about: "fosite: a revocation that failed is answered as done",
            tests: [
                "CVE-2020-15223: an end is not answered before every loop has confirmed it",
                "CVE-2020-15223: the end of a subject that Redis does not confirm fails, and is told here all the same",
                "revocation is 503 while the store is away",
                "While the store cannot answer, a sign-out is not reported as done",
            ]
        ),
        Advisory(
            id: "kratos PR #3975",
            about: "Kratos: a failure of the database is cached as 'no session'",
            tests: [
                "kratos PR #3975: neither a failure nor 'no session' is remembered: the next use asks again",
                "A store that cannot answer is unavailable, never 'no session', and is asked again",
            ]
        ),
        Advisory(
            id: "CVE-2022-29226",
            about: "Envoy: a bearer token that is present counts as one that is valid",
            tests: [
                "CVE-2022-29226, T32: a token that is not a session of this gateway gets 401"
            ]
        ),
    ]
}
