/// Sign-in, sessions, their cookies, and sign-out.
extension Advisory {
    /// Who is signed in, by what, and until when.
    static let signIn = [
        Advisory(
            id: "CVE-2026-34454",
            about: "oauth2-proxy: the sign-in page leaves the former session's cookie in force",
            tests: [
                "A new sign-in ends the browser's old session and records that in the audit stream; a failed one does not"
            ]
        ),
        Advisory(
            id: "P46",
            about: """
                mod_auth_openidc: the identity of a sign-in is written into the session whose id the browser \
                presents
                """,
            tests: [
                "A planted session never becomes the user's and is always ended"
            ]
        ),
        Advisory(
            id: "CVE-2025-55162",
            about: "Envoy: browsers ignore the cookie that ends the session, as it lacks Secure",
            tests: [
                "Sign-out ends the session before it answers, clears the cookie and redirects"
            ]
        ),
        Advisory(
            id: "CVE-2024-24814",
            about: "mod_auth_openidc: a crafted Cookie field makes it allocate without end",
            tests: [
                "Crafted cookies are ignored"
            ]
        ),
        Advisory(
            id: "P49",
            about: """
                oauth2-proxy, mod_auth_openidc: a session in several cookies is read with a part that is old or \
                missing
                """,
            reason: "a session is one cookie, which holds no more than its key"
        ),
        Advisory(
            id: "P50",
            about: "A gateway removes its cookie from the field and damages the others",
            tests: [
                "The gateway's cookies are removed from the Cookie field, and every other byte of it stays"
            ]
        ),
        Advisory(
            id: "P51",
            about: """
                mod_auth_openidc: a frame with a known sid revokes the user's tokens; a logout token is obeyed \
                without its checks
                """,
            tests: [
                "A frame ends the sessions of its sid at both gateways and revokes no token; all else ends nothing",
                "A token that fails one check ends nothing",
            ]
        ),
        Advisory(
            id: "P52",
            about: "mod_auth_openidc: a logout token that names only the subject ends no session",
            tests: [
                "A sub alone ends all sessions of the subject, and nobody else's"
            ]
        ),
        Advisory(
            id: "CVE-2024-39315",
            about: "Pomerium: the page about the user shows tokens",
            tests: [
                "The session document contains no credential"
            ]
        ),
        Advisory(
            id: "CVE-2024-45042",
            about: "Kratos: a session counts as one of a higher level",
            tests: [
                "The level is the highest that acr or amr stands for, compared byte for byte, and otherwise aal1",
                "How and when the user authenticated stands in the id_token, and never in userinfo",
            ]
        ),
        Advisory(
            id: "CVE-2026-40574",
            about: "oauth2-proxy: an address with two @ passes the check of its domain",
            tests: [
                "Every other address is refused, also one that only looks like a listed one"
            ]
        ),
        Advisory(
            id: "CVE-2025-24806",
            about: "Authelia: another spelling of a user's name has tries of its own",
            tests: [
                "Too many tries are refused for that address and that user only, in any spelling"
            ]
        ),
        Advisory(
            id: "CVE-2021-29652",
            about: "Pomerium: the signature of what a browser brings back is not verified",
            tests: [
                "It holds all that completes the sign-in, is opened for its id and host only, and reveals nothing",
                "A text of which one character is changed, or that is too long, is not read; a long path is left out",
            ]
        ),
        Advisory(
            id: "CVE-2021-21411",
            about: "oauth2-proxy: a rule about who may sign in is ignored without a word",
            tests: [
                "an unknown key is answered with the key that was meant",
                "With addresses and groups, both are demanded",
            ]
        ),
    ]
}
