/// Faults of the systems around the gateway, and what it promises for each of them.
///
/// A test that proves a promise begins its name with the row (`F12: ...`).
enum Fault {
    /// The fault and the gateway's behaviour, by the row's number.
    static let promises: [Int: String] = [
        1: """
        Redis refuses connections: requests that need it get 503 with Retry-After and burn no token, cached \
        sessions are served for a while, and no cookie is cleared.
        """,
        2: "Redis accepts connections and does not answer: as in F1, and no loop waits for it.",
        3: "Redis is slow: requests are refused with 503 instead of queueing without bound.",
        4: """
        Redis answers -LOADING, -READONLY, -MISCONF, -OOM, -NOREPLICAS, -MOVED, -NOAUTH or -BUSY: it is treated \
        as unavailable.
        """,
        5: "A replica is promoted: no token is used twice, and service comes back.",
        6: "Redis comes back empty or from a backup: users sign in again, and no used token works again.",
        7: "Replicas lag or hang: no session, token or limit is read from them.",
        8: "Redis sends broken or truncated replies: the connection closes, and no reply reaches another request.",
        9: "The feed of invalidations breaks or falls silent: sessions are read again before they are used.",
        10: "Redis may evict markers of used tokens: the gateway is not ready.",
        11: "An app refuses, resets or does not answer: 502 or 504, and only an idempotent request is retried, once.",
        12: """
        An app's connection ends within an answer: the client's connection ends too, so that the answer never looks \
        complete.
        """,
        13: "An app sends a malformed answer: 502, and its connection closes.",
        14: "A client or an app reads slowly: the sender waits, and memory stays bounded.",
        15: """
        A provider is unavailable: sessions and tokens of known keys stay valid, sign-in gets 503, the gateway is not \
        ready only before the provider's first answer, and nobody is signed out.
        """,
        16: """
        A provider rotates its signing keys: tokens of the new key are accepted after one fetch, tokens of a \
        withdrawn key are rejected once the key set lacks it, and unknown keys cause few fetches per cool-down.
        """,
        17: """
        Clocks differ or are changed: tokens of other issuers may be off by a minute, and what has expired or was used \
        stays expired or used.
        """,
        18: """
        Clients send a head or a body slowly, or do not read: each has a timeout, after which the gateway answers \
        408 or closes the connection, and other clients do not wait.
        """,
        19: "Connections or descriptors run out: the gateway accepts what it can serve, does not spin, and recovers.",
        20: """
        A limit is reached (sessions in memory, Redis's memory, heads): new requests get 503 or are closed, and users \
        who are signed in stay signed in.
        """,
        21: "A client leaves within a request: the app's request is cancelled, and a used token stays used.",
        22: """
        SIGTERM: readiness ends at once, running requests finish within the time limit, and a second signal \
        ends the process.
        """,
        23: "SIGKILL at any moment: no token is used twice.",
        24: "Settings are bad: the gateway does not start, and a reload keeps the old settings.",
        25: """
        Certificates are renewed, broken or missing: valid ones are used without a restart; otherwise the old ones \
        stay in use.
        """,
        26: "A log's disk is full or its reader is gone: lines are dropped and counted, and requests go on.",
        27: """
        A name server hangs, or no longer knows a name: the last addresses stay in use, and no loop waits for it.
        """,
        28: """
        A file of networks or places is damaged or missing: the gateway does not start, a reload keeps the old file, \
        and clients without a known network are refused where one is required.
        """,
        29: "Thousands of requests wait for one session, token or key set: it is fetched once.",
        30: """
        Redis cannot remember a proof of possession: 503; the token is not rejected, and no proof that may have been \
        used is accepted.
        """,
        31: "Replies on a shared connection are off by one: no client gets another client's answer.",
    ]
}
