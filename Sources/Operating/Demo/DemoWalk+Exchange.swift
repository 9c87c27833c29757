/// The steps of a native app that signs its user in through the browser without OAuth.
extension DemoWalk {
    /// Returns the steps. They use the shell functions `token`, `field` and `transfer` of earlier steps.
    static func exchangeSteps(origin: String, user: DemoUser) -> [DemoStep] {
        let status = "-o /dev/null -w '%{http_code}\\n'"
        return [
            DemoStep(
                "Another app sends its user through the browser, without OAuth: it begins a flow and keeps its code,",
                "BEGUN=$(curl -sS '\(origin)/self-service/login/api?return_session_token_exchange_code=true"
                    + "&return_to=\(DemoSettings.appReturn)'); "
                    + "ID=$(echo \"$BEGUN\" | field id); KEPT=$(echo \"$BEGUN\" | field session_token_exchange_code); "
                    + "echo \"$KEPT\"",
                shows: ["spi_"]
            ),
            DemoStep(
                "and asks for the page that the browser opens.",
                "curl -sS -H 'Content-Type: application/json' -d '{\"method\":\"oidc\",\"provider\":\"static\"}' "
                    + "\"\(origin)/self-service/login?flow=$ID\" | field redirect_browser_to",
                shows: ["\(origin)/.sallyport/app?flow="]
            ),
            DemoStep(
                "The user signs in there, and the browser goes back to the app with a second code.",
                // Reads `Location` itself, because curl's `redirect_url` would rewrite a URL with a private scheme.
                "BACK=$(curl -sS -o /dev/null -D - -H 'Origin: \(origin)' -d flow=\"$ID\" "
                    + "-d identifier=\(user.identifier) -d password=\(user.password) \(origin)/.sallyport/app "
                    + "| tr -d '\\r' | sed -n 's/^[Ll]ocation: //p'); echo \"$BACK\"",
                shows: ["\(DemoSettings.appReturn)?code=spx_"]
            ),
            DemoStep(
                "Both codes give a session token, once;",
                "both() { curl -sS -G -d init_code=\"$KEPT\" -d return_to_code=\"${BACK#*code=}\" \"$@\" "
                    + "\(origin)/sessions/token-exchange; }; PHONE=$(both | field session_token); echo \"$PHONE\"",
                shows: ["sps_"]
            ),
            DemoStep(
                "anybody else who has seen both gets nothing.",
                "both --interface 127.0.0.2; echo",
                shows: [#""code":404"#, #"no session yet for this"#],
                lacks: ["session_token"]
            ),
            DemoStep(
                "The app calls its API with an access token, and gets a new one whenever it expires.",
                "api() { token -d grant_type=urn:ietf:params:oauth:grant-type:token-exchange -d subject_token=\"$PHONE\" "
                    + "-d subject_token_type=urn:sallyport:params:oauth:token-type:session_token "
                    + "-d audience=https://api.example.com -d scope=orders:read | field access_token; }; "
                    + "for N in 1 2; do ACCESS=$(api); curl -sS -H \"Authorization: Bearer $ACCESS\" \(origin)/orders/$N; done",
                shows: ["GET /orders/1", "GET /orders/2", "X-Auth-Subject: \(user.id)", "X-Auth-Origin: native"]
            ),
            DemoStep(
                "It hands off to the web, by query and by cookie,",
                "QUERY=$(mktemp); COOKIE=$(mktemp); curl -sS -o /dev/null -c \"$QUERY\" "
                    + "\"\(origin)/hello?session_transfer_token=$(SESSION_TOKEN=$PHONE transfer)\"; "
                    + "curl -sS -o /dev/null -c \"$COOKIE\" -b \"session_transfer_token=$(SESSION_TOKEN=$PHONE transfer)\" "
                    + "\(origin)/hello; for WEB_JAR in \"$QUERY\" \"$COOKIE\"; do curl -sS -b \"$WEB_JAR\" \(origin)/hello; done",
                shows: ["GET /hello", "X-Auth-Subject: \(user.id)", "X-Auth-Origin: transfer"],
                lacks: ["status"]
            ),
            DemoStep(
                "and with the app's sign-out",
                "curl -sS -X DELETE \(status) -H 'Content-Type: application/json' "
                    + "-d \"{\\\"session_token\\\":\\\"$PHONE\\\"}\" \(origin)/self-service/logout/api",
                shows: ["204"]
            ),
            DemoStep(
                "all of it has ended: the session token, the access token, and both web sessions.",
                "curl -sS \(status) -H \"X-Session-Token: $PHONE\" \(origin)/hello; "
                    + "curl -sS \(status) -H \"Authorization: Bearer $ACCESS\" \(origin)/orders/1; "
                    + "for WEB_JAR in \"$QUERY\" \"$COOKIE\"; do curl -sS \(status) -b \"$WEB_JAR\" \(origin)/hello; done",
                shows: ["401"],
                lacks: ["200", "303"]
            ),
        ]
    }
}
