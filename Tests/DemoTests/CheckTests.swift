import Foundation
import GatewayBench
import TestSupport
import Testing

/// `check` from an operator's point of view.
@Suite struct CheckTests {
    private static func check(_ yaml: String, _ arguments: [String] = []) throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-check-\(UUID()).yaml")
        try Data(yaml.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try Servers.run(Gateway.binary.path, ["check", "--config", file.path] + arguments)
    }

    private static let valid = """
        public_url: https://app.example.com
        upstream: http://127.0.0.1:3000
        provider:
          static:
            users:
              - identifier: ada
                password_hash: "scrypt:1024:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        """

    @Test func printsTheEffectiveValuesOfValidSettings() throws {
        let result = try Self.check(Self.valid)
        #expect(result.status == 0 && result.output.hasPrefix("valid\n"), "\(result.output)")
        let parts = [
            "routes of https://app.example.com", "/**", "/.sallyport/login", "session.idle: 30m",
        ]
        for text in parts {
            #expect(result.output.contains(text), "\(text): \(result.output)")
        }
        #expect(!result.output.contains("scrypt:1024"), "a hash is a secret")
    }

    @Test("The paths that the gateway takes from the app are listed, with what takes them and how to give them back")
    func takenPaths() throws {
        func told(_ more: String) throws -> String { try Self.check("\(Self.valid)\n\(more)\n").output }
        let few = try told("")
        #expect(!few.contains("\n  /authorize\n") && !few.contains("\n  /sessions\n"), "\(few)")
        #expect(
            few.contains("the app has /authorize, /oauth/**, /userinfo and /v2/logout, because there are no clients")
        )
        #expect(few.contains("/sessions/** and /self-service/**, because there are no native apps"))
        let all = try told("clients: [{client_id: app}]")
        for path in ["/authorize", "/oauth/token", "/userinfo", "/sessions/{id}", "/.well-known/jwks.json"] {
            #expect(all.contains("\n  \(path)\n"), "\(path): \(all)")
        }
        #expect(
            all.contains(
                "are taken because of clients; to give them back to the app, set endpoints: true on a separate host"
            )
        )
        let native = try told("exchange: {return_to: [\"com.example.app:/back\"]}")
        #expect(native.contains("\n  /sessions/{id}\n") && !native.contains("\n  /authorize\n"), "\(native)")
        #expect(native.contains("the app has /authorize") && native.contains("taken because of exchange"))
    }

    @Test("A route whose paths the gateway answers itself is warned of, with the way to give them back")
    func deadRoutes() throws {
        func told(_ route: String, _ more: String = "clients: [{client_id: app}]") throws -> String {
            let settings = "\(Self.valid)\nroutes: [{path: /**}, {path: \(route)}]\n\(more)\n"
            let result = try Self.check(settings, ["--quiet"])
            #expect(result.status == 0, "\(result.output)")
            return result.output
        }
        for path in ["/oauth/token", "/userinfo", "/authorize", "/sessions/whoami", "/sessions/a", "\"/sessions/*\""] {
            let text = try told(
                path,
                "clients: [{client_id: app}]\nexchange: {return_to: [\"com.example.app:/back\"]}"
            )
            let name = path.replacing("\"", with: "")
            #expect(
                text.contains(
                    "app.example.com\(name): no request gets here, because the gateway answers \(name) itself"
                ),
                "\(text)"
            )
            #expect(text.contains("taken because of"), "\(text)")
            #expect(
                text.contains(
                    "to give them back to the app, set endpoints: true on a separate host without routes"
                )
            )
        }
        let named = try told("/.well-known/assetlinks.json", "well_known: true")
        #expect(named.contains("itself: remove the route, or well_known: true"), "\(named)")
        // A part of these paths is the app's.
        for path in ["/oauth/**", "/sessions/**", "/userinfo/", "/userinfo/a", "\"/*\"", "/.sallyport2", "/token"] {
            #expect(try !told(path).contains("no request gets here"), "\(path)")
        }
        #expect(try !told("/oauth/token", "").contains("no request gets here"))
    }

    @Test("How a client's users are followed is listed, and users whom nobody can be asked about are warned of")
    func followedUsers() throws {
        let text = try Self.check("\(Self.valid)\nclients: [{client_id: app}]\n").output
        #expect(text.contains("\nhow clients' users are followed:\n  app: by the static file\n"), "\(text)")
        let kit = "native_social_login: {google: {enabled: true}}"
        let social = "native_social: {google: {audiences: [web]}}"
        let warned = try Self.check("\(Self.valid)\nclients: [{client_id: app, \(kit)}]\n\(social)\n", ["--quiet"])
        #expect(warned.status == 0 && warned.output.contains("set confirm_within"), "\(warned.output)")
    }

    @Test func namesLineAndCorrectionOfEveryProblem() throws {
        let result = try Self.check(Self.valid + "\nsesion:\n  idle: 5 minutes\nlisten: nowhere\n")
        #expect(result.status == 1 && result.output.hasPrefix("invalid: "), "\(result.output)")
        #expect(result.output.contains(".yaml:8:1:") && result.output.contains("session"), "\(result.output)")
        #expect(result.output.contains(".yaml:10:"), "\(result.output)")
    }

    @Test func warnsOfHTTPSCallbacksThatNoAppCanTake() throws {
        func told(_ more: String) throws -> String {
            let client = "client_id: app, app_type: native, callbacks: [\"https://app.example.com/in\"]"
            let result = try Self.check("\(Self.valid)\nclients: [{\(client)}]\n\(more)", ["--quiet"])
            #expect(result.status == 0, "\(result.output)")
            return result.output
        }
        let open = "{path: /**}, {path: /.well-known/assetlinks.json, auth: public}"
        #expect(try told("").contains("apple-app-site-association and /.well-known/assetlinks.json need a session"))
        #expect(try told("routes: [\(open)]").contains("apple-app-site-association needs a session"))
        #expect(try !told("routes: [{path: /**}, {path: /.well-known/**, auth: public}]").contains("callback"))
        #expect(try !told("well_known: true").contains("needs a session"))
        let named = try Self.check(Self.valid + "\nwell_known: true\n").output
        #expect(named.contains("/.well-known/apple-app-site-association"), "\(named)")
    }

    @Test func warnsOfSpellingsThatReallyPass() throws {
        func warnings(_ more: String) throws -> String {
            let result = try Self.check(Self.valid + "\n" + more, ["--quiet"])
            #expect(result.status == 0, "\(result.output)")
            return result.output
        }
        let open = "routes: [{path: /**, auth: public}, {path: /secret.php}"
        #expect(try !warnings(open + "]").contains("/secret.php"))
        let below = try warnings(open + ", {path: /secret.php/**, auth: public}]")
        #expect(
            below.contains("may take /secret.php/x for this path, but route app.example.com/secret.php/**"),
            "\(below)"
        )
        #expect(
            try warnings(open + "]\ncase_sensitive: true").contains("/SECRET.PHP comes to route app.example.com/**")
        )
    }

    @Test func refusesPathsThatDifferInCaseAlone() throws {
        let routes = "routes: [{path: /Admin/**}, {path: /admin/**, auth: public}]"
        let result = try Self.check(Self.valid + "\n" + routes)
        #expect(result.status == 1 && result.output.contains("case_sensitive: true"), "\(result.output)")
        #expect(try Self.check(Self.valid + "\n" + routes + "\ncase_sensitive: true").status == 0)
    }

    @Test func printsRoutesWithTheirRequirementsFirstAndOnRequestOnlyWhatIsChanged() throws {
        let more = """

            routes: [{path: /**}, {path: /admin/**, require: {aal: aal2, groups_any: [staff, ops], max_age: 900s}}]
            session: {idle: 30m, absolute: 8h}
            """
        let all = try Self.check(Self.valid + more)
        let require = "auth required  require {aal: aal2, groups_any: [staff, ops], max_age: 15m}  -> "
        #expect(all.output.contains(require), "\(all.output)")
        let routes = try #require(all.output.range(of: "routes of"))
        #expect(routes.upperBound < (try #require(all.output.range(of: "\nsettings:"))).lowerBound)
        let changed = try Self.check(Self.valid + more, ["--changed"])
        #expect(changed.status == 0 && changed.output.contains("  session.absolute: 8h  # /"), "\(changed.output)")
        #expect(changed.output.contains("  upstream: http://127.0.0.1:3000  # /"))
        for text in ["session.idle", "timeouts.idle", "# default"] {
            #expect(!changed.output.contains(text), "\(text): \(changed.output)")
        }
    }

    @Test func printsWhatIsUsedInPlaceOfWords() throws {
        let more = "\nroutes: [{path: /**}, {path: /api/**, upstream: api}]\nupstreams: {api: {url: https://10.0.0.7}}"
        let plain = Self.valid.replacing("https://app.example.com", with: "http://localhost:8080")
        let output = try Self.check(plain + more).output
        for line in [
            "session.cookie: sallyport  # default", "routes[0].upstream: http://127.0.0.1:3000  # default",
            "routes[0].audience: http://localhost:8080  # default", "routes[0].name: localhost:8080/**  # default",
            "upstreams.api.server_name: 10.0.0.7  # default",
        ] {
            #expect(output.contains("  \(line)\n"), "\(line): \(output)")
        }
        #expect(output.contains(/event_loops: [1-9][0-9]*  # default\n/), "\(output)")
        let secure = try Self.check(Self.valid + more).output
        #expect(secure.contains("  session.cookie: __Host-sallyport  # default\n"), "\(secure)")
    }

    @Test func saysNothingMoreWhenQuiet() throws {
        let result = try Self.check(Self.valid, ["--quiet"])
        #expect(result.status == 0 && !result.output.contains("session.idle"), "\(result.output)")
    }

    /// The guides' first settings files start as they are written.
    @Test func acceptsTheSettingsOfTheGuides() throws {
        let users = try Documents.block("yaml", beginning: "- identifier:")
        let settings = try #require(try Documents.guide("Production").blocks("yaml").first)
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-guide-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let hash = "scrypt:16384:8:5:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        let files = [
            ("users.yaml", users.replacing("scrypt:16384:8:5:...", with: hash)),
            ("sallyport.yaml", settings),
            ("secret", String(repeating: "s", count: 64)),
        ]
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        let pair = [("--certificate-file", "fullchain.pem"), ("--key-file", "privkey.pem")]
        let made = try Servers.run(
            Gateway.binary.path,
            ["certificate", "--self-signed", "--name", "app.example.com"]
                + pair.flatMap { [$0, folder.appending(path: $1).path] }
        )
        #expect(made.status == 0, "\(made.output)")
        let file = folder.appending(path: "sallyport.yaml").path
        let flag = "--insecure-static-users"
        let command = "`sallyport run --config sallyport.yaml \(flag)`"
        #expect(try Documents.guides().contains { $0.text.contains(command) })
        let withFile = try Servers.run(Gateway.binary.path, ["check", "--config", file, flag])
        #expect(withFile.status == 0, "\(withFile.output)")
        #expect(!withFile.output.contains("trusted_proxies is empty"), "\(withFile.output)")
        // Behind a proxy that has TLS, and that is not named.
        let own = ["listen:", "tls:", "  certificate_file:", "  key_file:"]
        let unnamed = String(settings).split(separator: "\n").filter { line in !own.contains { line.hasPrefix($0) } }
        try Data((unnamed.joined(separator: "\n") + "\n").utf8).write(to: folder.appending(path: "unnamed.yaml"))
        let unnamedFile = folder.appending(path: "unnamed.yaml").path
        for command in ["check", "run"] {
            let refused = try Servers.run(Gateway.binary.path, [command, "--config", unnamedFile])
            #expect(refused.status == 1 && refused.output.contains("enforce_device_binding"), "\(refused.output)")
            #expect(refused.output.contains("--insecure-unnamed-proxy"), "\(refused.output)")
        }
        let accepting = ["check", "--quiet", "--config", unnamedFile, "--insecure-unnamed-proxy"]
        let accepted = try Servers.run(Gateway.binary.path, accepting)
        #expect(accepted.status == 0 && accepted.output.contains("every client appears to have the proxy's address"))
        let withVariables = try Servers.run(
            Gateway.binary.path,
            ["check"],
            environment: [
                "SALLYPORT_PUBLIC_URL": "https://app.example.com", "SALLYPORT_UPSTREAM": "http://127.0.0.1:3000",
                "SALLYPORT_USERS_FILE": folder.appending(path: "users.yaml").path,
                "SALLYPORT_SECRET_FILE": folder.appending(path: "secret").path,
            ]
        )
        #expect(withVariables.status == 0, "\(withVariables.output)")
        #expect(withVariables.output.contains("trusted_proxies is empty"), "\(withVariables.output)")
    }

    /// The guides' settings of providers start as they are written.
    @Test func acceptsTheProvidersOfTheGuides() throws {
        let providers = try Documents.blocks("yaml", beginning: "provider:")
        #expect(providers.count >= 6)
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("a secret of the client".utf8).write(to: folder.appending(path: "client-secret"))
        let file = folder.appending(path: "sallyport.yaml")
        for provider in providers {
            let own = "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\n"
            try Data((own + provider).utf8).write(to: file)
            let result = try Servers.run(Gateway.binary.path, ["check", "--quiet", "--config", file.path])
            #expect(result.status == 0, "\(provider)\n\(result.output)")
        }
        let several = try Documents.block("yaml", beginning: "providers:", with: "reports.example.com")
        try Data(several.utf8).write(to: file)
        let chosen = try Servers.run(Gateway.binary.path, ["check", "--config", file.path])
        #expect(chosen.status == 0, "\(chosen.output)")
        #expect(chosen.output.contains("routes of https://reports.example.com, for the users of staff:"))
        let url = "https://reports.example.com/"
        let explained = try Servers.run(Gateway.binary.path, ["explain", "--config", file.path, "--url", url])
        #expect(explained.status == 0 && explained.output.contains("provider\n  staff\n"), "\(explained.output)")
        let commands = try Documents.block("sh", beginning: "SALLYPORT_", with: "SALLYPORT_OIDC_URL=")
        let variables = try #require(commands.firstMatch(of: /((SALLYPORT_[A-Z_]+=.* \\\n){5})/))
        let pairs = variables.1.split(separator: "\n").map { line in
            let parts = line.split(separator: "=", maxSplits: 1)
            return (String(parts[0]), String(parts[1].prefix { $0 != " " }))
        }
        var environment = Dictionary(uniqueKeysWithValues: pairs)
        #expect(environment["SALLYPORT_OIDC_URL"] != nil)
        environment["SALLYPORT_OIDC_CLIENT_SECRET_FILE"] = folder.appending(path: "client-secret").path
        let result = try Servers.run(Gateway.binary.path, ["check", "--quiet"], environment: environment)
        #expect(result.status == 0, "\(result.output)")
    }

    /// The guide's pages are accepted as they are written, and the text that it shows is the gateway's.
    @Test func acceptsThePagesOfTheGuide() throws {
        let guide = try Documents.guide("Pages")
        func block(_ language: String, _ start: String) throws -> String {
            let block = guide.blocks.first { $0.language == language && $0.begins(with: start) }
            return try #require(block, "\(start)").text
        }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let pages = folder.appending(path: "pages")
        try FileManager.default.createDirectory(at: pages, withIntermediateDirectories: true)
        let english = try Servers.run(Gateway.binary.path, ["texts", "--language", "en"]).output
        let line = try block("text", "sign_in.identifier:")
        #expect(english.contains(line))
        let files = [
            ("sallyport.yaml", Self.valid + "\n" + (try block("yaml", "pages:"))),
            ("logo.svg", #"<svg xmlns="http://www.w3.org/2000/svg"/>"#),
            ("icon.svg", #"<svg xmlns="http://www.w3.org/2000/svg"/>"#),
            ("pages/en.yaml", line), ("pages/pt.yaml", english),
            ("pages/page.html", try block("html", "<!DOCTYPE html>")), ("pages/style.css", try block("css", "main")),
        ]
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        let file = folder.appending(path: "sallyport.yaml").path
        let result = try Servers.run(Gateway.binary.path, ["check", "--quiet", "--config", file])
        #expect(result.status == 0, "\(result.output)")
    }

    @Test func checksTheFilesThatAreShipped() throws {
        for name in ["sallyport", "sallyport.hosts", "sallyport.reference"].map({ "Config/\($0).yaml" }) {
            let path = Gateway.root.appending(path: name).path
            let result = try Servers.run(Gateway.binary.path, ["check", "--quiet", "--config", path])
            // The files that they name (users, secrets) may be missing; everything else must be right.
            let problems = result.output.split(separator: "\n").dropFirst().filter { !$0.contains("no such file") }
            #expect(result.status == 0 || problems.allSatisfy { $0.contains("file") }, "\(result.output)")
        }
    }
}
