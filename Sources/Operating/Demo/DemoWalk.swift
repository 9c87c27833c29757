/// One command of the walk, with the expected output.
struct DemoStep: Sendable {
    var title: String
    /// One line of POSIX shell. It may use variables and functions of earlier steps.
    var command: String
    /// Texts that the output contains.
    var shows: [String]
    /// Texts that the output does not contain.
    var lacks: [String]
    /// True if the step is also part of the short walk.
    var isShort = false
    /// True if the step needs tokens that are bound to the client's address.
    var needsBinding = false

    init(_ title: String, _ command: String, shows: [String], lacks: [String] = []) {
        self.title = title
        self.command = command
        self.shows = shows
        self.lacks = lacks
    }

    /// A copy of this step, as part of the short walk.
    var short: DemoStep {
        var step = self
        step.isShort = true
        return step
    }

    /// A copy of this step that needs tokens bound to the client's address.
    var whereBound: DemoStep {
        var step = self
        step.needsBinding = true
        return step
    }
}

/// The commands of the demo. They are printed for people to paste, and a test runs them.
package struct DemoWalk: Sendable {
    let steps: [DemoStep]

    /// - Parameters:
    ///   - origin: The demo's public URL, e.g. `http://localhost:8080`.
    ///   - host: The host in `origin`, without a port.
    ///   - program: The path of this program.
    ///   - isWhole: True for all steps, false for the short walk.
    ///   - isBound: True if tokens are bound to the client's address.
    package init(origin: String, host: String, program: String, user: DemoUser, isWhole: Bool, isBound: Bool) {
        let status = "-o /dev/null -w '%{http_code} %{redirect_url}\\n'"
        let landing = "-o /dev/null -w '%{http_code} %{url_effective}\\n'"
        let page = "-H 'Accept: text/html'"
        let login = "\(origin)/.sallyport/login?return_to=/hello"
        let beginning = [
            DemoStep(
                "Open the app without a session: a browser is redirected to the login page.",
                "curl -sS \(status) \(page) \(origin)/hello",
                shows: ["303 \(login)"]
            ).short,
            DemoStep(
                "An API client gets 401 and a reason instead.",
                "curl -sS \(origin)/hello",
                shows: [#""status":401,"reason":"credential.missing""#]
            ),
            DemoStep(
                "Sign in as a browser does: post the form, keep the cookie.",
                "JAR=$(mktemp); curl -sS -c \"$JAR\" \(status) -H 'Origin: \(origin)' "
                    + "-d identifier=\(user.identifier) -d password=\(user.password) -d return_to=/hello "
                    + "\(origin)/.sallyport/login",
                shows: ["303 \(origin)/hello"]
            ).short,
            DemoStep(
                "The app gets the user in plain headers, and never sees the session cookie.",
                "curl -sS -b \"$JAR\" \(origin)/hello",
                shows: [
                    "GET /hello", "X-Auth-Subject: \(user.id)", "X-Auth-Email: \(user.identifier)",
                    "X-Auth-Groups: \(user.groups.joined(separator: ","))", "X-Auth-Origin: browser",
                ],
                lacks: ["Cookie:"]
            ).short,
            DemoStep(
                "Sign in as a native app does, at Kratos's paths: first a flow,",
                "FLOW=$(curl -sS \(origin)/self-service/login/api "
                    + #"| sed -n 's/.*"action":"\([^"]*\)".*/\1/p'); echo "$FLOW""#,
                shows: ["\(origin)/self-service/login?flow="]
            ).short,
            DemoStep(
                "then the password, which gives a session token.",
                "SESSION_TOKEN=$(curl -sS -H 'Content-Type: application/json' "
                    + "-d '{\"method\":\"password\",\"identifier\":\"\(user.identifier)\","
                    + "\"password\":\"\(user.password)\"}' \"$FLOW\" "
                    + #"| sed -n 's/.*"session_token":"\([^"]*\)".*/\1/p'); echo "$SESSION_TOKEN""#,
                shows: ["sps_"]
            ).short,
            DemoStep(
                "Ask whose session it is.",
                "curl -sS -H \"X-Session-Token: $SESSION_TOKEN\" \(origin)/sessions/whoami; echo",
                shows: [#""active":true"#, user.identifier]
            ),
            DemoStep(
                "Send it as a bearer token: the app gets the same headers, and never sees the token.",
                "curl -sS -H \"Authorization: Bearer $SESSION_TOKEN\" \(origin)/api/orders",
                shows: ["X-Auth-Subject: \(user.id)", "X-Auth-Origin: native"],
                lacks: ["Authorization:", "sps_"]
            ),
            DemoStep(
                "Mint a session-transfer token: it is valid for 60 seconds, once, and only from this address.",
                "mint() { curl -sS -d grant_type=urn:ietf:params:oauth:grant-type:token-exchange "
                    + "-d client_id=\(DemoSettings.nativeClient) -d subject_token=\"$SESSION_TOKEN\" "
                    + "-d subject_token_type=urn:sallyport:params:oauth:token-type:session_token "
                    + "-d requested_token_type=urn:auth0:params:oauth:token-type:session_transfer_token "
                    + "-d audience=urn:\(host):session_transfer \(origin)/oauth/token; }; mint; echo",
                shows: [#""access_token":"spt_"#, #""expires_in":60"#, #""token_type":"N_A""#]
            ).short,
            DemoStep(
                "Open the app with a new one in the query: the browser is signed in, and the token is removed from the URL.",
                #"transfer() { mint | sed -n 's/.*"access_token":"\([^"]*\)".*/\1/p'; }; "#
                    + "TOKEN=$(transfer); WEB=$(mktemp); curl -sS -c \"$WEB\" \(status) "
                    + "\"\(origin)/hello?a=1&session_transfer_token=$TOKEN\"",
                shows: ["303 \(origin)/hello?a=1"],
                lacks: ["session_transfer_token"]
            ).short,
            DemoStep(
                "It now has its own web session, made by the transfer.",
                "curl -sS -b \"$WEB\" '\(origin)/hello?a=1'",
                shows: ["GET /hello?a=1", "X-Auth-Subject: \(user.id)", "X-Auth-Origin: transfer"],
                lacks: ["Cookie:"]
            ).short,
            DemoStep(
                "The same by cookie, as an app sets it in its WebView before it loads the page.",
                "VIEW=$(mktemp); printf '\(host)\\tFALSE\\t/\\tFALSE\\t0\\tauth0_session_transfer_token\\t%s\\n' "
                    + "\"$(transfer)\" > \"$VIEW\"; curl -sS -L -b \"$VIEW\" -c \"$VIEW\" \(origin)/hello",
                shows: ["X-Auth-Subject: \(user.id)", "X-Auth-Origin: transfer"],
                lacks: ["Cookie:", "spt_"]
            ),
            DemoStep(
                "Replay: the first token leads to the login page when it is used again.",
                "curl -sS -L \(landing) \(page) \"\(origin)/hello?session_transfer_token=$TOKEN\"",
                shows: ["200 \(login)"]
            ).short,
            DemoStep(
                "Theft: a new token from another address leads to the login page as well,",
                "STOLEN=$(transfer); curl -4 -sS -L --interface 127.0.0.2 \(landing) \(page) "
                    + "\"\(origin)/hello?session_transfer_token=$STOLEN\"",
                shows: ["200 \(login)"]
            ).whereBound,
            DemoStep(
                "and the attempt burns it, so that it fails from the right address too.",
                "curl -sS -L \(landing) \(page) \"\(origin)/hello?session_transfer_token=$STOLEN\"",
                shows: ["200 \(login)"]
            ).whereBound,
            DemoStep(
                "A client's identity headers never reach the app, in any spelling; the real ones do,",
                "curl -sS -b \"$JAR\" -H 'X-Auth-Subject: root' -H 'x_auth_email: root' \(origin)/hello",
                shows: ["X-Auth-Subject: \(user.id)"],
                lacks: ["root"]
            ).short,
            DemoStep(
                "and on public pages there are none.",
                "curl -sS -H 'X-Auth-Subject: root' -H 'X-Forwarded-User: root' \(origin)/public/",
                shows: ["GET /public/"],
                lacks: ["root", "X-Auth-"]
            ),
        ]
        let end = [
            DemoStep(
                "Sign the browser out, with its cookie kept aside.",
                "OLD=$(mktemp); cp \"$JAR\" \"$OLD\"; curl -sS -b \"$JAR\" -c \"$JAR\" \(status) "
                    + "-H 'Origin: \(origin)' -d return_to=/public/ \(origin)/.sallyport/logout",
                shows: ["303 \(origin)/public/"]
            ),
            DemoStep(
                "The old cookie is no longer accepted.",
                "curl -sS -b \"$OLD\" \(origin)/hello",
                shows: [#""status":401"#]
            ),
            DemoStep(
                "Sign the native app out,",
                "curl -sS -X DELETE -o /dev/null -w '%{http_code}\\n' -H 'Content-Type: application/json' "
                    + "-d \"{\\\"session_token\\\":\\\"$SESSION_TOKEN\\\"}\" \(origin)/self-service/logout/api",
                shows: ["204"]
            ).short,
            DemoStep(
                "and the web session that came from it has ended, too.",
                "curl -sS -b \"$WEB\" \(origin)/hello",
                shows: [#""status":401"#]
            ).short,
        ]
        let all =
            beginning + Self.tokenSteps(origin: origin, program: program, user: user)
            + Self.exchangeSteps(origin: origin, user: user) + end
        self.steps = all.filter { (isWhole || $0.isShort) && (isBound || !$0.needsBinding) }
    }

    /// The first and last line of the printed walk.
    static let start = "# --- the walk ---"
    static let end = "# --- end of the walk ---"

    /// The walk as comments and commands, to paste line by line or as a whole.
    package var text: String {
        var lines = [Self.start]
        for (index, step) in self.steps.enumerated() {
            lines.append("")
            lines.append("# \(index + 1). \(step.title)")
            lines.append(step.command)
            lines += step.shows.map { "#    shows: \($0)" }
            lines += step.lacks.map { "#    lacks: \($0)" }
        }
        return (lines + ["", Self.end]).joined(separator: "\n")
    }
}
