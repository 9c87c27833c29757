import Cryptography
import EndpointBench
import Endpoints
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Browser sign-in")
struct BrowserSignInTests {
    private let login = "/.sallyport/login"

    @Test("The page cannot be framed, and has only the style and the script that the policy allows")
    func page() async throws {
        let gateway = try Gateway()
        let page = try await gateway.send("GET", "\(self.login)?return_to=/reports?year=2026")
        #expect(page.status == 200)
        #expect(page.value("content-type") == "text/html; charset=utf-8")
        #expect(page.value("x-frame-options") == "DENY")
        #expect(page.value("cache-control") == "no-store")
        let policy = try #require(page.value("content-security-policy"))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(policy.contains("default-src 'none'"))
        for (element, directive) in [("style", "style-src"), ("script", "script-src")] {
            let parts = page.text.split(separator: "<\(element)>")
            #expect(parts.count == 2)
            let content = try #require(parts.last?.split(separator: "</\(element)>").first)
            let digest = SHA256.digest(Array(content.utf8)).base64URL
            let source = digest.replacing("-", with: "+").replacing("_", with: "/")
            #expect(policy.contains("\(directive) 'sha256-\(source)='"))
        }
        let text = page.text.lowercased()
        #expect(!text.contains(" onclick") && !text.contains(" onsubmit") && !text.contains("javascript:"))
        #expect(!text.contains("style="))
        #expect(page.text.contains(#"name="return_to" value="/reports?year=2026""#))
        #expect(page.text.contains("app.example.com"))
        // Empty until the script, if there is one, finds that the key is on.
        #expect(page.text.contains(#" role="status" data-on="Caps Lock is on."></div>"#))
        #expect(page.values("set-cookie").isEmpty)
    }

    @Test("The page tells a user who must sign in again, and the new session replaces the old one")
    func again() async throws {
        let gateway = try Gateway()
        let old = try await gateway.signInBrowser()
        let page = try await gateway.send(
            "GET",
            "\(self.login)?return_to=/vault&prompt=login",
            fields: [("cookie", "__Host-sallyport=\(old)")]
        )
        #expect(page.status == 200 && page.text.contains("asks you to sign in again"))
        #expect(page.text.contains(#"name="return_to" value="/vault""#) && page.text.contains(#"type="password""#))
        let answer = try await gateway.post(self.login, "return_to=/vault&\(Gateway.credentials)", cookies: [old])
        #expect(answer.value("location") == "/vault")
        #expect(try await gateway.session(old).status == 401)
        for other in ["prompt=none", "prompt=login&prompt=login", "other=login"] {
            let page = try await gateway.send("GET", "\(self.login)?\(other)")
            #expect(page.status == 200 && !page.text.contains("sign in again"))
        }
    }

    @Test(
        "The page says once why the browser comes there",
        arguments: [
            ("1", "could not be signed in automatically"), ("idle", "you have not used this site for a while"),
            ("expired", "your last sign-in was too long ago"), ("ended", "Your session has ended."),
        ]
    )
    func notice(value: String, sentence: String) async throws {
        let gateway = try Gateway()
        let page = try await gateway.send("GET", self.login, fields: [("cookie", "__Host-sallyport-notice=\(value)")])
        #expect(page.text.contains(sentence) && page.text.contains(#"role="status""#))
        #expect(page.value("set-cookie")?.hasPrefix("__Host-sallyport-notice=;") == true)
        let other = try await gateway.send("GET", self.login, fields: [("cookie", "__Host-sallyport-notice=x")])
        #expect(other.status == 200 && !other.text.contains(#"id="notice""#))
    }

    @Test("Whoever is signed in may go on, unless more is demanded, or sign in with another account")
    func current() async throws {
        let gateway = try Gateway()
        let cookies = Gateway.cookies([try await gateway.signInBrowser()])
        let page = try await gateway.send("GET", "\(self.login)?return_to=/reports", fields: cookies)
        #expect(page.text.contains(#"You are signed in as <strong dir="auto">alice@example.com</strong>."#))
        #expect(page.text.contains(#"<a class="way" href="/reports">Continue</a>"#))
        #expect(page.text.contains(#"type="password""#))
        for query in ["prompt=login", "aal=aal2", "max_age=60"] {
            let page = try await gateway.send("GET", "\(self.login)?return_to=/reports&\(query)", fields: cookies)
            #expect(page.status == 200 && !page.text.contains("alice@example.com"), "\(query)")
        }
        #expect(try await !gateway.send("GET", self.login).text.contains("Continue"))
        gateway.store.fail(with: .unavailable)
        #expect(try await !gateway.send("GET", self.login, fields: cookies).text.contains("Continue"))
    }

    @Test("Fields whose content is wrong are marked as such, and only these")
    func invalid() async throws {
        let gateway = try Gateway()
        let wrong = try await gateway.post(self.login, "identifier=alice&password=wrong")
        #expect(wrong.text.matches(of: /<input id="(identifier|password)"[^>]* aria-invalid="true"/).count == 2)
        #expect(try await !gateway.send("GET", self.login).text.contains(#" aria-invalid="#))
    }

    @Test("The right password gives a new session and a redirect to the page that the user wanted")
    func signIn() async throws {
        let gateway = try Gateway()
        let answer = try await gateway.post(self.login, "return_to=%2Freports%3Fyear%3D2026&\(Gateway.credentials)")
        #expect(answer.status == 303)
        #expect(answer.value("location") == "/reports?year=2026")
        #expect(answer.value("referrer-policy") == "no-referrer")
        #expect(answer.value("cache-control") == "no-store")
        let cookies = answer.values("set-cookie")
        for cookie in cookies {
            for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"] {
                #expect(cookie.contains("; \(attribute)"))
            }
        }
        #expect(cookies.count == 2 && cookies.last?.hasPrefix("__Host-sallyport-account=") == true)
        let session = try await gateway.session(try #require(answer.cookie))
        #expect(session.status == 200)
        #expect(session.document?["identity"]?["traits"]?["email"] == "alice@example.com")
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["s"])
    }

    @Test("The cookie of a session that is to last has the session's lifetime, if the operator or the user says so")
    func persistence() async throws {
        let form = "return_to=/&\(Gateway.credentials)"
        for (persistence, wish, lasts) in [
            (SessionSettings.Persistence.never, "&stay_signed_in=1", false), (.always, "", true), (.ask, "", false),
            (.ask, "&stay_signed_in=1", true),
        ] {
            let gateway = try Gateway(persistence: persistence)
            let page = try await gateway.send("GET", self.login)
            #expect(page.text.contains(#"name="stay_signed_in""#) == (persistence == .ask))
            let answer = try await gateway.post(self.login, form + wish)
            let cookie = try #require(answer.values("set-cookie").first)
            #expect(cookie.contains("; Max-Age=43200;") == lasts, "\(persistence) \(wish): \(cookie)")
            #expect(cookie.contains("Max-Age") == lasts)
        }
    }

    @Test("On a host for frames of other sites every cookie is partitioned, when it is set and when it is cleared")
    func partitioned() async throws {
        let gateway = try Gateway(cookieReach: .partitioned)
        let answer = try await gateway.post(self.login, "return_to=/&\(Gateway.credentials)")
        let cookies = answer.values("set-cookie")
        #expect(cookies.count == 2)
        #expect(cookies.allSatisfy { $0.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=None; Partitioned") })
        let token = try #require(answer.cookie)
        let cleared = try await gateway.post("/.sallyport/logout", "", cookies: [token])
        #expect(cleared.value("set-cookie")?.contains("; SameSite=None; Partitioned; Max-Age=0") == true)
        let foreign = [(name: "origin", value: "https://evil.example"), (name: "sec-fetch-site", value: "cross-site")]
        let posted = try await gateway.post("/.sallyport/logout", "", cookies: [token], fields: foreign)
        #expect(posted.status == 403, "the cookie came along, and yet nothing was done")
    }

    @Test("A failed sign-in shows the form again and does not tell whether the user exists")
    func refusal() async throws {
        let gateway = try Gateway()
        let known = try await gateway.post(self.login, "identifier=alice%40x&password=wrong&return_to=/a")
        let unknown = try await gateway.post(self.login, "identifier=mallo%40x&password=wrong&return_to=/a")
        let wrong = try await gateway.post(self.login, "identifier=alice%40example.com&password=wrong&return_to=/a")
        #expect(known.status == 422)
        #expect(unknown.text.replacing("mallo", with: "alice") == known.text)
        #expect(wrong.text.replacing("alice@example.com", with: "alice@x") == known.text)
        #expect(wrong.status == known.status)
        #expect(known.text.contains(#"role="alert""#))
        #expect(known.text.contains(#"value="/a""#))
        #expect(!known.text.contains("wrong"))
        #expect(known.values("set-cookie").isEmpty)
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["f", "f", "f"])
        #expect(gateway.store.sessionCount == 0)
    }

    @Test("What the user typed cannot become markup")
    func escaping() async throws {
        let gateway = try Gateway()
        let attack = "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E"
        let answer = try await gateway.post(self.login, "identifier=\(attack)&password=x&return_to=/%22%3E%3Cb%3E")
        #expect(!answer.text.contains("<script>alert"))
        #expect(answer.text.contains("&quot;&gt;&lt;script&gt;"))
        #expect(answer.text.contains(#"name="return_to" value="/&quot;&gt;&lt;b&gt;""#))
    }

    @Test("An incomplete or malformed form is shown again")
    func incomplete() async throws {
        let gateway = try Gateway()
        for form in ["identifier=x", "password=x", ""] {
            #expect(try await gateway.post(self.login, form).status == 422)
        }
        let malformed = try await gateway.post(self.login, "identifier=a&identifier=b&password=c")
        #expect(malformed.status == 400)
        #expect(gateway.audit.records.isEmpty)
    }

    /// T8: an attacker's cookie in the jar must not become the victim's session.
    @Test("A planted session never becomes the user's and is always ended")
    func fixation() async throws {
        let gateway = try Gateway()
        let planted = try await gateway.signInBrowser()
        let invented = String(planted.prefix(58)) + (planted.hasSuffix("A") ? "B" : "A")
        for cookie in [planted, invented, "attacker"] {
            let answer = try await gateway.post(self.login, Gateway.credentials, cookies: [cookie])
            let token = try #require(answer.cookie)
            #expect(token != cookie)
            #expect(try await gateway.session(token).status == 200)
            #expect(try await gateway.session(cookie).status == 401)
        }
    }

    /// CVE-2026-34454.
    @Test("A new sign-in ends the browser's old session and records that in the audit stream; a failed one does not")
    func rotation() async throws {
        let gateway = try Gateway()
        let old = try await gateway.signInBrowser()
        let oldID = gateway.audit.records.last?.sessionID
        let failed = try await gateway.post(
            self.login,
            "identifier=alice%40example.com&password=wrong",
            cookies: [old]
        )
        #expect(failed.status == 422)
        #expect(try await gateway.session(old).status == 200)
        let new = try #require(try await gateway.post(self.login, Gateway.credentials, cookies: [old]).cookie)
        #expect(try await gateway.session(old).status == 401)
        #expect(try await gateway.session(new).status == 200)
        #expect(gateway.audit.records.last?.endedSessionID == oldID)
        #expect(gateway.audit.records.last?.sessionID != oldID)
    }

    /// Login CSRF.
    @Test(
        "A form posted from another site does not sign in",
        arguments: [
            [("origin", "https://evil.example")], [("origin", "null")], [], [("sec-fetch-site", "cross-site")],
            [("sec-fetch-site", "same-site"), ("origin", "https://sub.example.com")],
            [("sec-fetch-site", "none")], [("origin", "https://app.example.com.evil.example")],
            // The client's own claim about the host does not count.
            [("origin", "https://evil.example"), ("x-forwarded-host", "evil.example")],
        ] as [[(String, String)]]
    )
    func loginCSRF(fields: [(String, String)]) async throws {
        let gateway = try Gateway()
        let answer = try await gateway.post(
            self.login,
            Gateway.credentials,
            fields: fields.map { (name: $0.0, value: $0.1) }
        )
        #expect(answer.status == 403)
        #expect(answer.reason == .requestCrossSite)
        #expect(answer.values("set-cookie").isEmpty)
        #expect(!answer.text.contains("alice"))
        #expect(gateway.store.sessionCount == 0)
        let event = try #require(gateway.audit.records.last?.auditEvent)
        #expect(event.kind == .sessionDenied && event.code == .warning && event.reason == .requestCrossSite)
        #expect(event.account != nil && event.subject == nil)
    }

    /// The whole corpus of such paths is tested in `ReturnToTests`.
    @Test(
        "An unsafe return_to becomes / on the page and after the post",
        arguments: [
            "//evil.example", "/\\evil.example", "https://evil.example", "/%09/evil.example", "javascript:alert(1)",
            "https://app.example.com@evil.example", "/.//evil.example", "/x\r\nSet-Cookie:a=b", "/.sallyport/login",
            "/.sallyport/logout?return_to=/", "",
        ]
    )
    func openRedirect(target: String) async throws {
        let gateway = try Gateway()
        let page = try await gateway.send("GET", "\(self.login)?return_to=\(target)")
        #expect(page.text.contains(#"name="return_to" value="/""#))
        let answer = try await gateway.post(
            self.login,
            "return_to=\(PercentCoding.encoded(target))&\(Gateway.credentials)"
        )
        #expect(answer.status == 303)
        #expect(answer.value("location") == "/")
        let signOut = try await gateway.post("/.sallyport/logout", "return_to=\(PercentCoding.encoded(target))")
        #expect(signOut.value("location") == "/")
    }

    @Test("A transfer token is removed from return_to, on sign-in and on sign-out")
    func tokenInReturnTo() async throws {
        let gateway = try Gateway()
        for target in [
            "/x?a=1&session_transfer_token=spt_x", "/x?session%5Ftransfer_token=spt_x&a=1",
            "/x?a=1&next=%2Fy%3Fsession_transfer_token%3Dspt_x",
        ] {
            let encoded = PercentCoding.encoded(target)
            for path in [self.login, "/.sallyport/logout"] {
                let credentials = path == self.login ? "&\(Gateway.credentials)" : ""
                let answer = try await gateway.post(path, "return_to=\(encoded)\(credentials)")
                #expect(answer.status == 303 && answer.value("location") == "/x?a=1", "\(path) \(target)")
            }
        }
    }

    @Test("A repeated return_to is ignored")
    func repeatedReturnTo() async throws {
        let page = try await Gateway().send("GET", "\(self.login)?return_to=/a&return_to=/b")
        #expect(page.text.contains(#"name="return_to" value="/""#))
    }

    @Test("Throttling and outages show the form with a Retry-After and leave the cookie alone")
    func later() async throws {
        let gateway = try Gateway()
        let old = try await gateway.signInBrowser()
        gateway.store.fail(with: .unavailable)
        let outage = try await gateway.post(self.login, Gateway.credentials, cookies: [old])
        #expect(outage.isOutage)
        #expect(outage.reason == .storeUnavailable)
        gateway.store.fail(with: nil)
        #expect(try await gateway.session(old).status == 200)
        for _ in 0..<10 {
            _ = try await gateway.post(self.login, "identifier=alice%40example.com&password=wrong")
        }
        let throttled = try await gateway.post(self.login, Gateway.credentials)
        #expect(throttled.status == 429)
        #expect(throttled.value("retry-after") == "10")
        #expect(throttled.cookie == nil)
    }

    @Test("If every event must be recorded and cannot be, a sign-in fails, but a sign-out succeeds")
    func unrecorded() async throws {
        let gateway = try Gateway()
        let token = try await gateway.signInBrowser()
        gateway.audit.fill()
        let answer = try await gateway.post(self.login, Gateway.credentials)
        #expect(answer.isOutage)
        #expect(answer.reason == .gatewayOverloaded)
        #expect(try await gateway.session(token).status == 200)
        #expect(try await gateway.post("/.sallyport/logout", "", cookies: [token]).status == 303)
        #expect(try await gateway.session(token).status == 401)
    }

    @Test("A failed sign-in records a name for the account that was tried, and never what was typed")
    func failedAccount() async throws {
        let gateway = try Gateway()
        func failed(_ identifier: String) async throws -> AuditRecord {
            _ = try await gateway.post(self.login, "identifier=\(identifier)&password=wrong")
            return try #require(gateway.audit.records.last)
        }
        let first = try await failed("alice%40example.com")
        let account = try #require(first.account)
        #expect(first.auditEvent?.account == account)
        #expect(account.wholeMatch(of: /[A-Za-z0-9_-]{22}/) != nil)
        #expect(try await failed("ALICE%40Example.com").account == account, "in any spelling")
        let unknown = try await failed("hunter2")
        #expect(unknown.account != nil && unknown.account != account)
        // A successful sign-in records the same name with the subject, so that failed ones can be matched to the user.
        _ = try await gateway.signInBrowser()
        #expect(gateway.audit.records.last?.subject == "9f1c")
        #expect(gateway.audit.records.last?.account == account)
        for _ in 0...10 { _ = try await failed("alice%40example.com") }
        #expect(gateway.audit.records.last?.reason == .signInThrottled)
        #expect(gateway.audit.records.last?.account == account)
        // Text that cannot be an identifier gets no name.
        #expect(try await failed(String(repeating: "x", count: 300)).account == nil)
        for record in gateway.audit.records {
            for text in ["alice", "ALICE", "hunter2", "xxx"] {
                #expect(!"\(record)\(record.auditEvents)".contains(text))
            }
        }
        // Another deployment uses another name for the same account.
        let other = try Gateway(successor: Secret("the secret that followed, of thirty-two bytes too"))
        _ = try await other.post(self.login, "identifier=alice%40example.com&password=wrong")
        #expect(other.audit.records.last?.account != account)
    }

    @Test("The audit event has the session's public id and the client's host and address")
    func auditEvent() async throws {
        let gateway = try Gateway()
        let old = try await gateway.signInBrowser()
        _ = try await gateway.post(self.login, Gateway.credentials, cookies: [old])
        let event = try #require(gateway.audit.records.last?.auditEvent)
        #expect(event.kind == .sessionCreated)
        #expect(event.code == .signedIn)
        #expect(event.subject == "9f1c")
        #expect(event.session?.hasPrefix("ses_") == true)
        #expect(event.host == "app.example.com")
        #expect(event.address == "192.0.2.1")
        #expect(event.details.map(\.0) == ["kind", "expires_at", "idle_seconds", "ended_session"])
    }
}
