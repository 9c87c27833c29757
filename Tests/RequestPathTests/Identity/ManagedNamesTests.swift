import RequestPath
import Settings
import Testing
import Vocabulary

/// Advisories about identity and forwarding fields that clients send (T11).
struct ManagedNamesTests {
    private func isManaged(_ name: String, _ profile: IdentityProfile = profile()) -> Bool {
        profile.managed.contains(name)
    }

    @Test(
        "CVE-2025-64484, T11: identity fields are managed in every spelling",
        arguments: [
            "X-Auth-Subject", "x-auth-subject", "X_Auth_Email", "x-auth_EMAIL", "X-AUTH_Subject", "X-Auth.Email",
            "x.auth.groups",
            "X-Auth-Anything", "Remote-User", "REMOTE_USER", "X-Kratos-Authenticated-Identity-Id",
            "X-Auth-Request-User",
            "X-Sallyport-Internal", "X-Auth-Assertion",
        ]
    )
    func identity(name: String) {
        for preset in IdentitySettings.Preset.allCases {
            #expect(self.isManaged(name, profile { $0.preset = preset }))
        }
    }

    @Test(
        "CVE-2025-64484, T11: no spelling of an identity field passes the parser, with or without the rule for underscores",
        arguments: [
            "X_Auth_Email: evil", "x-auth_EMAIL: evil", "X-Auth-Subject: root", "x_auth_subject: root",
            "REMOTE_USER: root",
            "Remote-Groups: admin", "X-Forwarded_User: root",
        ]
    )
    func parser(line: String) {
        for drops in [true, false] {
            #expect(kept([line, "X-Kept: 1"], profile(), dropsUnderscore: drops) == ["X-Kept: 1"])
        }
    }

    @Test(
        "CVE-2026-39858, CVE-2026-35051, CVE-2026-54764: forwarding fields are dropped in every spelling",
        arguments: [
            "X-Forwarded-For", "X_Forwarded_Proto", "x-forwarded_HOST", "X-Forwarded-Port", "X-Forwarded-Prefix",
            "X-Forwarded-Server", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Client-Cert", "Forwarded",
            "X-Real-IP",
            "X_Real_Ip", "X-Original-URL", "X-Rewrite-URL", "X-Original-Host", "CF-Connecting-IP", "True-Client-IP",
            "Client-Cert", "Client_Cert_Chain",
            "X-Client-IP", "auth0-forwarded-for", "Proxy", "X-Forwarded", "X-Script-Name", "x_script_name",
            "SCRIPT_NAME",
            "Path-Info", "X-Scheme", "X-Url-Scheme", "Front-End-Https", "X-Https", "HTTPS", "X-ARR-SSL",
            "X-ARR-ClientCert",
            "X-Forwarded-Script-Name", "X-WSGI-Anything", "WL-Proxy-SSL", "CloudFront-Forwarded-Proto", "CF-Visitor",
            "X-Proxied-Https", "Proxy-Ssl-Id", "X-SSL-Client-Verify", "Ssl_Client_Cert", "X-Client-Verify",
            "X-Client-DN",
            "X-Appengine-User-Ip", "Fly-Client-IP", "X-Azure-ClientIP", "X-Originating-IP", "X-VHM-Root",
            "X-Sendfile-Type",
            "X-Accel-Mapping",
        ]
    )
    func forwarding(name: String) {
        #expect(self.isManaged(name))
        #expect(kept(["\(name): evil", "X-Kept: 1"], profile()) == ["X-Kept: 1"])
    }

    @Test("CVE-2026-40575, CVE-2026-33495: a direct client's X-Forwarded-Uri and -Proto never reach the app")
    func forwardedURI() {
        #expect(kept(["X-Forwarded-Uri: /public", "X-Forwarded-Proto: https"], profile()) == [])
    }

    @Test(
        "CVE-2026-54763, CVE-2026-33433: all spellings of a configured name are one name",
        arguments: [
            "x-app-user", "X_APP_USER", "X-App-User", "x_app-USER",
        ]
    )
    func configured(spelling: String) {
        let profile = profile { $0.fields = [IdentitySettings.Field(name: spelling, path: "subject")] }
        for sent in ["X-App-User", "x_app_user", "X-APP_USER", "X.App.User"] {
            #expect(self.isManaged(sent, profile))
        }
        #expect(kept(["X-App-User: evil", "x_app_user: evil", "X-App-Users: 1"], profile) == ["X-App-Users: 1"])
        // The default namespace stays protected, whatever names are configured.
        #expect(self.isManaged("X-Auth-Subject", profile))
    }

    /// RFC 9110 5.6.2: the bytes of a token that are neither letters nor digits. lighttpd's CGI and FastCGI write each of
    /// them as `_`.
    static let punctuation = Array("!#$%&'*+-.^_`|~").map(String.init)

    @Test("CVE-2026-52845: names that a CGI server folds into one count as the same name")
    func folding() {
        #expect(ManagedNames.normalized("X-Auth_User.Name") == "x-auth-user-name")
        #expect(self.isManaged("X+Auth!Subject"))
    }

    @Test("Every byte of a token is a letter, a digit, or a spelling of -")
    func everyTokenByte() {
        var count = 0
        for byte in UInt8.min...UInt8.max {
            let isAlphanumeric = Unicode.Scalar(byte).properties.isAlphabetic || (0x30...0x39).contains(byte)
            let folded = ByteClass.normalizedToken[Int(byte)]
            if byte < 0x80, isAlphanumeric {
                #expect(folded == (byte &- 0x41 < 26 ? byte | 0x20 : byte))
            } else if Self.punctuation.contains(String(Unicode.Scalar(byte))) {
                #expect(folded == UInt8(ascii: "-"), "\(Unicode.Scalar(byte))")
            } else {
                #expect(folded == 0, "\(byte) is no token byte")
            }
            if folded != 0 { count += 1 }
        }
        #expect(count == 77)
    }

    @Test(
        "Punctuation in place of - does not forge a managed name, wherever it is",
        arguments: punctuation,
        punctuation
    )
    func forgedByPunctuation(first: String, second: String) {
        let names = [
            "X\(first)Auth\(second)Email", "x\(first)auth\(second)groups", "REMOTE\(first)USER",
            "X\(first)Forwarded\(second)For", "X\(first)Real\(second)IP", "X\(first)Kratos\(second)Session\(first)Id",
            "auth0\(first)forwarded\(second)for", "X\(first)My\(second)User",
        ]
        let profile = profile {
            $0.fields = [
                IdentitySettings.Field(name: "X-My-User", path: "subject"),
                IdentitySettings.Field(name: "X-Auth-Email", path: "identity.traits.email"),
            ]
        }
        for name in names {
            #expect(self.isManaged(name, profile), "\(name)")
            for drops in [true, false] {
                #expect(
                    kept(["\(name): evil", "X-Kept: 1"], profile, dropsUnderscore: drops) == ["X-Kept: 1"],
                    "\(name)"
                )
            }
            // Connection cannot remove such a field from the request either.
            #expect(kept(["Connection: \(name)"], profile) == nil, "\(name)")
        }
    }

    @Test(
        "A spelling of a field that the gateway reads does not reach the app",
        arguments: punctuation.filter { $0 != "-" }
    )
    func aliases(mark: String) {
        let lines = [
            "X\(mark)Session\(mark)Token: a", "Content\(mark)Length: 5", "Transfer\(mark)Encoding: chunked",
            "X\(mark)Request\(mark)Id: a", "X\(mark)HTTP\(mark)Method\(mark)Override: DELETE",
            "HTTP2\(mark)Settings: a",
        ]
        #expect(kept(lines + ["X-Kept: 1"], profile()) == ["X-Kept: 1"])
    }

    @Test("A configured name with punctuation is stripped in every spelling", arguments: punctuation)
    func ownPunctuation(mark: String) {
        let profile = profile { $0.fields = [IdentitySettings.Field(name: "X-App\(mark)User", path: "subject")] }
        let sent = Self.punctuation.map { "x-app\($0)user: evil" }
        #expect(kept(sent, profile) == [])
    }

    @Test("Every preset protects the names of all presets, except those that clients send to apps of their own")
    func otherPresets() {
        let profiles = IdentitySettings.Preset.allCases.map { preset in profile { $0.preset = preset } }
        for name in Set(profiles.flatMap(\.fields).map(\.name)) {
            let isOfClients = name == "X-User-Id" || name == "X-User-Email"
            for profile in profiles {
                let isConfigured = profile.fields.contains { $0.name == name }
                #expect(self.isManaged(name, profile) == (isConfigured || !isOfClients), "\(name)")
            }
        }
    }

    @Test("CVE-2026-30851: a client's identity field is removed even if the session has no value for it")
    func noValue() {
        let rendered = lines(profile(), session(traits: [:]))
        #expect((try? rendered.get().contains { $0.hasPrefix("X-Auth-Email") }) == false)
        #expect(kept(["X-Auth-Email: evil@example.com"], profile()) == [])
    }

    @Test("mod_auth_openidc 2026: a preflight is stripped like any other request")
    func preflight() {
        let lines = ["Origin: https://a.example", "Access-Control-Request-Method: GET", "X-Auth-Subject: root"]
        #expect(kept(lines, method: "OPTIONS", profile()) == Array(lines.prefix(2)))
    }

    @Test("CVE-2023-27487: a client's control fields of a proxy or of the gateway are stripped")
    func internalControl() {
        #expect(kept(["x-envoy-original-path: /admin", "X-Sallyport-Trace: 1", "x_sallyport_x: 1"], profile()) == [])
    }

    @Test("An override of the method passes the parser: whether it reaches the app depends on the route")
    func methodOverride() {
        #expect(kept(["X-HTTP-Method-Override: DELETE"], profile()) == ["X-HTTP-Method-Override: DELETE"])
    }

    @Test(
        "Other names pass",
        arguments: [
            "Accept", "X-Requested-With", "X-Auth", "X-Authentic", "Remote", "X-Forward", "Authorization",
            "X-CSRF-Token", "Proxyx",
        ]
    )
    func others(name: String) {
        #expect(!self.isManaged(name))
        #expect(kept(["\(name): v"], profile())?.count == 1)
    }

    @Test("A name longer than any managed name is judged by its prefix")
    func longNames() {
        #expect(self.isManaged("X-Auth-" + String(repeating: "a", count: 200)))
        #expect(!self.isManaged("Y-Auth-" + String(repeating: "a", count: 200)))
        #expect(!self.isManaged(""))
    }
}

extension ManagedNames {
    /// Whether the parser takes the name for a managed one, in any spelling.
    func contains(_ name: String) -> Bool {
        let table = FieldNames(roles: [], managedNames: self.names, managedPrefixes: self.prefixes)
        return Array(Self.normalized(name).utf8).withUnsafeBufferPointer { name in
            name.baseAddress.map { table.role($0, name.count) == .managed } ?? false
        }
    }
}
