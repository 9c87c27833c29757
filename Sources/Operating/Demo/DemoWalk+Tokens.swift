/// The steps of a native app that uses OAuth.
extension DemoWalk {
    /// The code verifier and challenge in RFC 7636 appendix B. Real apps make a new verifier for each sign-in.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    /// - Parameters:
    ///   - program: The path of this program, for `dpop-proof`.
    ///   - user: The user whose session is in the cookie file `$JAR`.
    static func tokenSteps(origin: String, program: String, user: DemoUser) -> [DemoStep] {
        let bearer = "-H \"Authorization: Bearer $ACCESS\" \(origin)/orders/1"
        return [
            DemoStep(
                "A native app signs its user in through the browser and gets a code,",
                "code() { curl -sS -b \"$JAR\" -o /dev/null -w '%{redirect_url}' \"\(origin)/authorize?response_type=code"
                    + "&client_id=\(DemoSettings.nativeClient)&redirect_uri=\(DemoSettings.phoneCallback)"
                    + "&scope=openid+offline_access+\(DemoSettings.apiScope)"
                    + "&code_challenge=\(Self.challenge)&code_challenge_method=S256&state=s\" "
                    + #"| sed -n 's/.*[?&]code=\([^&]*\).*/\1/p'; }; CODE=$(code); echo "$CODE""#,
                shows: ["spc_"]
            ),
            DemoStep(
                "which it redeems once for an access token, a refresh token and an id_token.",
                "token() { curl -sS -d client_id=\(DemoSettings.nativeClient) \"$@\" \(origin)/oauth/token; }; "
                    + #"field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }; "#
                    + "redeem() { token -d grant_type=authorization_code -d redirect_uri=\(DemoSettings.phoneCallback) "
                    + "-d code_verifier=\(Self.verifier) \"$@\"; }; "
                    + "TOKENS=$(redeem -d code=\"$CODE\"); echo \"$TOKENS\"",
                shows: [#""access_token":"spa_"#, #""refresh_token":"spr_"#, #""id_token":"eyJ"#]
            ),
            DemoStep(
                "The access token opens its API,",
                "ACCESS=$(echo \"$TOKENS\" | field access_token); curl -sS \(bearer)",
                shows: ["GET /orders/1", "X-Auth-Subject: \(user.id)", "X-Auth-Origin: native"],
                lacks: ["Authorization:", "spa_"]
            ),
            DemoStep(
                "and nothing else.",
                "curl -sS -H \"Authorization: Bearer $ACCESS\" \(origin)/hello",
                shows: [#""status":401,"reason":"credential.other_audience""#]
            ),
            DemoStep(
                "A refresh gives a new access token and the next refresh token;",
                "FIRST=$(echo \"$TOKENS\" | field refresh_token); "
                    + "refresh() { token -d grant_type=refresh_token -d refresh_token=\"$1\"; }; "
                    + "NEXT=$(refresh \"$FIRST\"); echo \"$NEXT\"",
                shows: [#""access_token":"spa_"#, #""refresh_token":"spr_"#]
            ),
            DemoStep(
                "if that answer is lost, the same refresh token gets the same next one again.",
                "test \"$(refresh \"$FIRST\" | field refresh_token)\" = \"$(echo \"$NEXT\" | field refresh_token)\" "
                    + "&& echo the same",
                shows: ["the same"]
            ),
            DemoStep(
                "The API's server asks what a token stands for,",
                "introspect() { curl -sS -u \(DemoSettings.apiClient):\(DemoSettings.apiSecret) -d token=\"$1\" "
                    + "\(origin)/oauth/introspect; }; introspect \"$ACCESS\"; echo",
                shows: [#""active":true"#, #""scope":"openid offline_access orders:read""#, #""sub":"\#(user.id)""#]
            ),
            DemoStep(
                "Theft: a refresh token that was used before, after its successor was used, ends everything:",
                "refresh \"$(echo \"$NEXT\" | field refresh_token)\" > /dev/null; refresh \"$FIRST\"; echo",
                shows: [#""error":"invalid_grant""#]
            ),
            DemoStep(
                "the access token too.",
                "curl -sS \(bearer); introspect \"$ACCESS\"; echo",
                shows: [#""status":401"#, #"{"active":false}"#]
            ),
            DemoStep(
                "A sign-out of the app: the tokens are revoked.",
                "LAST=$(redeem -d code=\"$(code)\" | field refresh_token); curl -sS -o /dev/null -w '%{http_code} ' "
                    + "-d client_id=\(DemoSettings.nativeClient) -d token=\"$LAST\" \(origin)/oauth/revoke; "
                    + "refresh \"$LAST\"; echo",
                shows: ["200 ", #""error":"invalid_grant""#]
            ),
            DemoStep(
                "DPoP: an app with a key asks for a nonce first,",
                "KEY=$(mktemp -d)/key.pem; prove() { '\(program)' dpop-proof --key \"$KEY\" \"$@\"; }; "
                    + "NONCE=$(redeem -D - -o /dev/null -d code=none "
                    + "-H \"DPoP: $(prove --method POST --url \(origin)/oauth/token)\" "
                    + #"| tr -d '\r' | sed -n 's/^[Dd][Pp]o[Pp]-[Nn]once: //p'); echo "nonce $NONCE""#,
                shows: ["nonce "]
            ),
            DemoStep(
                "and gets tokens that are bound to its key.",
                "BOUND=$(redeem -d code=\"$(code)\" "
                    + "-H \"DPoP: $(prove --method POST --url \(origin)/oauth/token --nonce=\"$NONCE\")\"); "
                    + "echo \"$BOUND\"",
                shows: [#""token_type":"DPoP""#, #""access_token":"spa_"#]
            ),
            DemoStep(
                "Each request needs a new proof;",
                "ACCESS=$(echo \"$BOUND\" | field access_token); "
                    + "PROOF=$(echo \"$ACCESS\" | prove --url \(origin)/orders/1 --token-file - --nonce=\"$NONCE\"); "
                    + "call() { curl -sS -H \"Authorization: DPoP $ACCESS\" -H \"DPoP: $PROOF\" \(origin)/orders/1; }; call",
                shows: ["GET /orders/1", "X-Auth-Subject: \(user.id)"],
                lacks: ["DPoP:", "Authorization:"]
            ),
            DemoStep(
                "a used one is refused, and so is the token without its key.",
                "call; curl -sS \(bearer)",
                shows: [#""reason":"proof.replayed""#, #""reason":"credential.bound_to_key""#]
            ),
        ]
    }
}
