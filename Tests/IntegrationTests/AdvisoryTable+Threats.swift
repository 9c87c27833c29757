/// The gateway's own threat model.
extension Advisory {
    /// Each row has an attack or a fault, and what the gateway does about it.
    static let threats = [
        Advisory(
            id: "T1",
            about: """
                A stolen transfer token is presented from another address: no session is made, the \
                token is burned, and the log names both addresses.
                """,
            tests: [
                "T1: from another address the token does not sign in and is burned; the log names both addresses"
            ]
        ),
        Advisory(
            id: "T2",
            about: """
                A transfer token in a URL leaks: the gateway removes it before the app, a referrer or a \
                log can see it.
                """,
            tests: [
                "By query: a new session, and a redirect to the same URL byte for byte without the token (T2)",
                "On a public route with handoff the token does not reach the app, whether it is used or not",
                "No token, cookie or password that the suite has used appears in any gateway's output",
            ]
        ),
        Advisory(
            id: "T3",
            about: "A link preview or a prefetch opens the link: only a navigation consumes the token.",
            tests: [
                "T3: HEAD, prefetch, preview and subresources burn nothing, and the app never sees the token"
            ]
        ),
        Advisory(
            id: "T4",
            about: "Two browsers race for one token: exactly one session is made.",
            tests: [
                "T4: of many browsers that race for one token exactly one is signed in",
                "T4: of 64 consumers exactly one is signed in, and exactly one session is created",
                "Ten thousand walks of mints, uses, confirmations, replays, sign-outs, lost answers and failovers go as in the model",
            ]
        ),
        Advisory(
            id: "T5",
            about: """
                A used token is presented again from another address: it is refused and audited, and \
                the first session lives on.
                """,
            tests: [
                "T5: a replay does not sign in, and the first session lives on"
            ]
        ),
        Advisory(
            id: "T6",
            about: """
                The browser that was signed in repeats its navigation: it keeps its session, and the \
                token is removed from the URL.
                """,
            tests: [
                "T6: the browser that was signed in repeats its navigation and keeps its session"
            ]
        ),
        Advisory(
            id: "T7",
            about: "A victim follows an attacker's handoff link: no session of another user is replaced silently.",
            tests: [
                "T7: a link on another site does not sign in and burns nothing",
                "T7: another user's session and the token end each other, and the user must sign in",
            ]
        ),
        Advisory(
            id: "T8",
            about: "An attacker plants a session cookie: a sign-in always makes a new id and never adopts one.",
            tests: [
                "T8: a session id that a client brings is never adopted; sign-in makes a new one and ends the old session"
            ]
        ),
        Advisory(
            id: "T9",
            about: """
                A sibling subdomain plants a transfer or session cookie: two cookies of different value \
                are refused.
                """,
            tests: [
                "T9: two transfer cookies with different values are not used, and both are cleared",
                "Two session cookies do not sign in, are cleared, and do not lock the user out",
            ]
        ),
        Advisory(
            id: "T10",
            about: """
                An attacker plants his own, good transfer token in the victim's cookie jar: it is bound to the \
                attacker's device, replaces no user who is signed in, needs the user's confirmation where the browser \
                used another account last, and does not count where the cookie's name keeps sibling domains from \
                setting it.
                """,
            tests: [
                "T10: a token for another account than the browser used last is used when the user confirms it, and not before",
                "T10: a token for another account than the browser used last is asked about and left as it is, wherever it was",
                "T10: one for another account than the browser used last leads to sign-in, and is not used up",
                "T10: an attacker's own token in the victim's cookie jar is good at no other device, and replaces no user",
                "T10: where handoff.cookies names a cookie that sibling domains cannot set, no other cookie counts",
            ]
        ),
        Advisory(
            id: "T11",
            about: "A client sends identity fields in any spelling: they are removed on every route.",
            tests: [
                "T11: a client's identity field does not reach the app in any spelling on any route"
            ]
        ),
        Advisory(
            id: "T12",
            about: "A client's Connection field names the gateway's fields: they stay.",
            tests: [
                "T12: a Connection field cannot remove the gateway's fields, in any letter case"
            ]
        ),
        Advisory(
            id: "T13",
            about: "A request is framed ambiguously: 400, and the connection closes.",
            tests: [
                "T13: a body that breaks its framing gets 400, and never reaches the app completely",
                "Pipelined requests with bodies are separated by their framing, byte by byte",
            ]
        ),
        Advisory(
            id: "T14",
            about: "A client sends forwarding fields: they count only from a trusted proxy.",
            tests: [
                "T14: X-Forwarded-For is used only from trusted proxies, from the right, and the app gets one address",
                "T14: for a peer that is not trusted, its own address counts",
            ]
        ),
        Advisory(
            id: "T15",
            about: "One address has several spellings: they are one device.",
            tests: [
                "T15: two spellings of one address are one device, and two clients of one translator are two",
                "T15: ports, brackets, zone ids, case and mapped addresses are spellings of one address",
            ]
        ),
        Advisory(
            id: "T16",
            about: """
                A device changes between IPv4 and IPv6 within a minute: `ip` refuses, `ip_or_asn` \
                compares the network.
                """,
            tests: [
                "T16, T17: each mode with networks accepts what its name says, and no unknown network"
            ]
        ),
        Advisory(
            id: "T17",
            about: """
                The network of an address is unknown or the database is missing: `asn` refuses, and a \
                reload keeps the last good data.
                """,
            tests: [
                "T16, T17: each mode with networks accepts what its name says, and no unknown network",
                "T17: a gateway with a client that needs networks does not start without any",
                "A new file is taken when it is opened again, and a broken or missing one is refused (T17)",
                "F24: a reload applies good settings completely and keeps the old ones if the new ones are bad",
            ]
        ),
        Advisory(
            id: "T18",
            about: "An address embeds another one (6to4, Teredo): it has no network.",
            tests: [
                "T16, T17: each mode with networks accepts what its name says, and no unknown network",
                "T18: an address that embeds another one has no network, even if a database names one",
            ]
        ),
        Advisory(
            id: "T19",
            about: """
                A path, a return_to or what is left of a URL without its token could be read as another host: a redirect \
                stays on the gateway's own origin.
                """,
            tests: [
                "A path on the same host passes unchanged",
                "What could lead to another host is refused",
                "The one rule for all parameters accepts only what stays on the host, and never leads back to the gateway",
                "By query: a new session, and a redirect to the same URL byte for byte without the token (T2)",
            ]
        ),
        Advisory(
            id: "T20",
            about: """
                Another app on the device takes the custom scheme and gets the code: without the verifier and \
                the client's exact redirect URI it gives nothing, and PKCE is required of public clients.
                """,
            tests: [
                "a redirect URI matches character by character; on loopback any port does",
                "a code is good only for its client, its redirect_uri and its verifier",
                "dpop_jkt: the code is good with that key only, and a refusal does not use it up",
                "other errors go to the client, with state and iss",
            ]
        ),
        Advisory(
            id: "T21",
            about: """
                Codes are guessed or swapped: they have 256 random bits, are bound to their client, are limited \
                per address, and every wrong one gets the same answer.
                """,
            tests: [
                "a code is good only for its client, its redirect_uri and its verifier",
                "T33: whatever is wrong with a code, its client or its verifier, the answer is the same, and nothing is used up",
                "too many requests of one client from one address are 429 with Retry-After, and blame no token",
            ]
        ),
        Advisory(
            id: "T22",
            about: """
                A refresh token is used again after its rotation: within the overlap its client gets the same \
                successor, later the family ends with all that came of it.
                """,
            tests: [
                "a lost answer: the former token gets the same successor within the leeway",
                "an older token ends the family and all that came of it",
                "a replay is noticed after months, when no marker of the use is left",
                "32 refreshes of one token at both gateways give one successor; a replay ends the family at both",
                "Clients that lost the answer to a refresh get the same successor, at either gateway",
                "Redis is killed while 32 requests refresh one token: they get one successor, and nobody loses the family",
                "While a primary is killed, refresh tokens have one successor each, no family is lost, and no old token counts",
                "with allow_refresh_token the family of a transfer ends without the native app, and with it",
            ]
        ),
        Advisory(
            id: "T23",
            about: "A session that a transfer made asks for another transfer token: it is refused.",
            tests: [
                "T23: a session that a transfer created cannot mint",
                "T23: a session that a transfer created cannot mint a token",
                "T23: for a session that began with a transfer the answer is unauthorized_client",
            ]
        ),
        Advisory(
            id: "T24",
            about: """
                Whoever has a bound token without its key, or a proof that was made for something else, gets \
                nothing.
                """,
            tests: [
                "Whoever has the token without its key gets a challenge of the scheme DPoP, and the theft is audited",
                "/userinfo takes a bound token with its proof, once, and nothing less",
                "A bound refresh token needs its key: without, the family stays as it is and the error is not invalid_grant",
                "Proofs for another method, URL or moment are refused, and so is more than one",
                "Both schemes in one request are 400",
                "A proof is accepted once at both gateways together; after a restart of Redis proofs need a new nonce",
                "While a primary is killed and another takes its place, no proof is accepted twice",
                "refusesAPrivateKey",
                "refusesATokenWithoutASignature",
                "refusesACodeMadeWithThePublicKeyEvenIfTheCallerAllowsCodes",
                "refusesAnotherAccessToken",
                "acceptsWithoutNonceWhatIsAtMostFiveMinutesOldAndAMinuteAhead",
                "asksForANonceInsteadOfAStaleOne",
                "The wrong signatures of Project Wycheproof are wrong in proofs",
            ]
        ),
        Advisory(
            id: "T25",
            about: """
                A client forges Host and forwarding fields, so that a proof for its own server fits: htu is \
                compared with the configured URL.
                """,
            tests: [
                "T25: a proof is for the configured URL, whatever Host and forwarding fields a client sends"
            ]
        ),
        Advisory(
            id: "T30",
            about: "Redis is down, slow, failing over or busy: single use is never given up, and requests get 503.",
            tests: [
                "F1, F2, F3, F4: requests that need Redis get 503, cached sessions are served for a while, and service recovers by itself",
                "F3: with a slow Redis, requests are refused and do not accumulate",
                "F5, F7: no token is used twice in failovers in which primaries are killed, cut off or retired",
                "F23: no token is used twice when gateways and Redis are killed",
            ]
        ),
        Advisory(
            id: "T31",
            about: "The clocks of gateways and devices differ: Redis's clock decides lifetimes.",
            tests: [
                "T31: whatever the gateways' clocks show, each accepts what another made, for the same time",
                "T31: a record that has expired by Redis's clock is gone, whatever the gateways' clocks show",
                "F17, T31: gateways whose machines' clocks differ by minutes accept each other's sessions and tokens",
                "F17, T31: codes, refresh tokens and proofs are good at gateways whose machines' clocks differ by minutes",
                "A device with a wrong clock is told so and gets a nonce; with it, its clock does not matter",
                "F17: Clocks may differ by a minute, and what is right in another form is right",
            ]
        ),
        Advisory(
            id: "T32",
            about: "A token is too long or has the wrong characters: it is refused before the store is asked.",
            tests: [
                "T32: odd tokens are refused like unknown ones, and never cause two redirects to the same URL",
                "CVE-2022-29226, T32: a token that is not a session of this gateway gets 401",
            ]
        ),
        Advisory(
            id: "T33",
            about: """
                Answers tell whether a guessed credential is unknown, expired, used or another client's: they \
                are the same to the byte, and secrets are compared in constant time.
                """,
            tests: [
                "T33: whatever is wrong with a code, its client or its verifier, the answer is the same, and nothing is used up",
                "T33: whatever is wrong with a refresh token, the answer is the one that Auth0's SDKs know",
                "T33: whatever is wrong with an access token, the answer of /userinfo is the same",
                "Unknown, foreign, odd and browser session tokens are refused with the same bytes",
                "Unknown, expired, used and burned tokens look alike to the client",
                "wrong, missing and superfluous secrets and unknown clients get the same bytes",
                "unknown tokens and those of another client are 200, and nothing happens",
                "other tokens are inactive, and nothing else is said",
                "A wrong password and an unknown user get the same answer",
            ]
        ),
        Advisory(
            id: "T35",
            about: "The page that asks is shown in another site's frame: no page of the gateway can be framed there.",
            tests: [
                "The page names account and host, has no script, cannot be framed, and changes nothing",
                "The policy allows the page's one style and nothing else",
            ]
        ),
        Advisory(
            id: "T36",
            about: "A shared cache could keep a user's page: answers that carry identity are private.",
            tests: [
                "T36: answers with a user's identity are private; stricter directives of the app stay"
            ]
        ),
        Advisory(
            id: "T37",
            about: "An app sets a cookie of the gateway: its answer does not carry it to the browser.",
            tests: ["No app gets a cookie of the gateway's family, and none can set one"]
        ),
        Advisory(
            id: "T38",
            about: "An app or a provider gets a cookie of the gateway: it is removed from the request.",
            tests: ["No app gets a cookie of the gateway's family, and none can set one"]
        ),
        Advisory(
            id: "T26",
            about: """
                A token that its provider has revoked is served from memory: for as long as a verdict may be used, \
                and no longer. A sign-out at the gateway holds at once.
                """,
            tests: [
                "A verdict is used for as long as the provider allows, or five seconds",
                "An opaque token is introspected once, and refused soon after the provider revoked it",
                "A token that was signed out here stays out, though the provider accepts it; the user's next one is accepted",
            ]
        ),
        Advisory(
            id: "T27",
            about: "The provider fails or is slow: that is an outage, never remembered, and nobody becomes anonymous.",
            tests: [
                "F15: While introspection fails, a new token is 503, and a known one is served; afterwards all is well",
                "kratos PR #3975: neither a failure nor 'no session' is remembered: the next use asks again",
                "The pause that the provider names holds, for all grants of the gateway",
            ]
        ),
        Advisory(
            id: "T28",
            about: """
                A page demands a level that the user has not reached: the app sees nobody, a browser is sent to \
                reach the level, a program is told.
                """,
            tests: [
                "A page that needs a second factor asks the provider for it, and leads back",
                "A user who does not reach the level gets a page and keeps the session; a program gets a challenge",
            ]
        ),
        Advisory(
            id: "T29",
            about: "The answer for one token is served for another token, provider or configuration.",
            tests: [
                "Keys tell providers, configurations and tokens apart, however they are divided (CVE-2026-71326)",
                "Each of two providers is asked for its own tokens, and the same session id at both gives two lineages",
            ]
        ),
        Advisory(
            id: "T34",
            about: "Another site makes a browser sign out or sign in.",
            tests: [
                "A page of another host, a link or an image cannot sign a user out",
                "A script gets the provider's page as redirect_to; a request of another site ends nothing",
                "A form posted from another site does not sign in",
            ]
        ),
        Advisory(
            id: "T39",
            about: "Very many sessions of a user end at once: the end is one write, whatever their number.",
            tests: [
                "A session ends by its key, by its lineage, and by its owner's sign-out",
                "A session ends by itself, with its lineage, and with its subject if it began before",
            ]
        ),
        Advisory(
            id: "T40",
            about: """
                What Apple, Google or Facebook gave to an app is presented twice, or was given to another app, \
                and what the app says of its user counts as verified.
                """,
            tests: [
                "Each kit signs in: tokens, an id_token, and an account named by provider and subject; once",
                "user_profile, as an object or as text, fills only what is not known, and verifies nothing",
                "A token with a wrong claim is refused, and the detail names the claim",
                "A nonce counts only where it is demanded, and then it must be there",
                "The same token has the same id for as long as it is good, whatever is said besides; another token has another",
                "An id_token with a wrong claim is refused, also one with a nonce",
                "A nonce that is demanded must be that of the id_token",
                "A code that Apple does not redeem is refused: used, unknown, of another app",
                "A token that is invalid, expired, of another app or of another kind is refused",
                "What the app says fills gaps only, and verifies nothing",
                "Each kind has its own scope: the bytes of one artefact are not another's",
            ]
        ),
    ]
}
