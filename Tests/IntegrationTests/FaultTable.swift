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
        2: "Redis accepts connections and does not answer: the same as F1, and no loop waits for it.",
        3: "Redis is slow: requests are refused with 503 instead of queueing without bound.",
        4: """
        Redis answers -LOADING, -READONLY, -MISCONF, -OOM, -NOREPLICAS, -MOVED, -NOAUTH or -BUSY: it is treated \
        as unavailable.
        """,
        5: "A replica is promoted: no token is used twice, and service comes back.",
        6: "Redis comes back empty or from a backup: users sign in again, and no used token works once more.",
        7: "Replicas lag or hang: no session, token or limit is read from them.",
        8: "Redis sends broken or truncated replies: the connection closes, and no reply reaches another request.",
        9: "The feed of invalidations breaks or falls silent: sessions are read again before they are used.",
        10: "Redis may evict markers of used tokens: the gateway is not ready.",
        11: "An app refuses, resets or does not answer: 502 or 504, and only an idempotent request is repeated, once.",
        12: """
        An app breaks off within an answer: the client's connection ends too, so that the answer never looks \
        complete.
        """,
        13: "An app sends a malformed answer: 502, and its connection closes.",
        14: "A client or an app reads slowly: the sender waits, and memory stays bounded.",
        15: """
        A provider is away: sessions and tokens of known keys go on, sign-in is 503, the gateway says not ready only \
        before its first answer, and nobody is signed out by it.
        """,
        16: """
        A provider rotates its signing keys: tokens of the new key are accepted after one fetch, tokens of a \
        withdrawn key end with the set, and unknown keys cost few fetches per cool-down.
        """,
        17: """
        Clocks differ or are changed: a minute is tolerated in tokens of others, and what has expired or was used \
        stays so.
        """,
        18: """
        Clients send a head or a body slowly, or do not read: there is a time for each, answered 408 or by a close, and \
        other clients do not wait.
        """,
        19: "Connections or descriptors run out: the gateway accepts what it can serve, does not spin, and recovers.",
        20: """
        What a limit bounds is used up (sessions in memory, Redis's memory, heads): what is new gets 503 or is closed, and \
        who is signed in goes on.
        """,
        21: "A client leaves within a request: the app's exchange is cancelled, and a token that was used stays used.",
        22: """
        SIGTERM: readiness ends at once, running requests finish within the time limit, and a second signal \
        ends the process.
        """,
        23: "SIGKILL at any moment: no token is used twice.",
        24: "Settings are bad: the gateway does not start, and a reload keeps the old settings.",
        25: """
        Certificates are renewed, broken or missing: good ones are taken into use without a restart, else the former ones \
        stay.
        """,
        26: "A log's disk is full or its reader is gone: lines are dropped and counted, and requests go on.",
        27: """
        A name server hangs, or knows a name no more: the last addresses stay in use, and no loop waits for it.
        """,
        28: """
        A file of networks or places is damaged or missing: no start, a reload keeps the former one, and what has no known \
        network is refused where a network is demanded.
        """,
        29: "Thousands wait for the same session, token or set of keys: it is asked for once.",
        30: """
        Redis cannot remember a proof of possession: 503, and neither is the token refused nor a proof taken that may have \
        been used.
        """,
        31: "Replies slip by one on a shared connection: no client gets another's answer.",
    ]
}
